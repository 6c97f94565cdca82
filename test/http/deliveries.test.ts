/** Questions and follow-ups on their way to people, on real servers: webhook and outbox. */
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { outboxDelivery, webhookDelivery } from '../../src/index.ts';
import { type AgentService, json, startAgentService } from '../support/agent-service.ts';
import { type Actors, createActors, DONE, type Stack, startStack } from '../support/stack.ts';

const secret = `whsec_${randomBytes(24).toString('base64')}`;
let stack: Stack;
let hook: AgentService;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack({ announce: true });
  hook = await startAgentService();
  actors = createActors();
});
afterAll(async () => {
  await stack?.close();
  await hook?.close();
});

const ask = (text: string) => ({
  outcome: 'needs_clarification' as const,
  assistantMessage: { text },
  continuation: { state: { text } },
});
const reply = (continuationId: string, suspensionId: string) =>
  stack.client.resume(
    { continuationId, suspensionId, trigger: { type: 'user_reply', message: { text: 'this one' } } },
    { until: 'finished' },
  );

test('a webhook brings each question once, a re-pend under its new suspension, and the follow-up after a failed attempt under one id', async () => {
  const worker = await stack.startWorker({
    harness: actors.harness,
    delivery: webhookDelivery({
      url: hook.url,
      secret,
      allowPrivateAddresses: true,
      linkTo: (id) => `https://inbox.test/inbox/${id}`,
    }),
  });
  let followUps = 0;
  hook.replies(({ body }, response) =>
    json(response, body.type === 'continuation.follow_up' && ++followUps === 1 ? 503 : 200, {}),
  );
  const created = await stack.client.create({ assistantId: 'a', originTurnId: 'hooked', harnessResult: ask('Which?') });
  if (!created.ok) throw new Error(created.refusal.message);
  const { id, suspension } = created.record;
  actors.plays(id, ({ resumedTurnId }) => (resumedTurnId.endsWith(':1') ? ask('Really?') : DONE));
  await reply(id, suspension.id);
  const second = (await stack.client.get({ continuationId: id }))?.suspension.id as string;
  await reply(id, second);
  for (const heard of hook.heard) new Webhook(secret).verify(heard.text, heard.headers);
  expect(hook.heard.map(({ body }) => [body.type, body.id, body.link])).toEqual([
    ['continuation.asked', suspension.id, `https://inbox.test/inbox/${id}`],
    ['continuation.asked', second, `https://inbox.test/inbox/${id}`],
    ['continuation.follow_up', `${id}:resume:2`, `https://inbox.test/inbox/${id}`],
    ['continuation.follow_up', `${id}:resume:2`, `https://inbox.test/inbox/${id}`],
  ]);
  expect((await stack.client.get({ continuationId: id }))?.delivery.status).toBe('delivered');
  await worker.stop();
});

test('an outbox keeps each message once until it is acknowledged', async () => {
  const worker = await stack.startWorker({ harness: actors.harness, delivery: outboxDelivery(stack.store) });
  const created = await stack.client.create({ assistantId: 'a', originTurnId: 'boxed', harnessResult: ask('Which?') });
  if (!created.ok) throw new Error(created.refusal.message);
  const { id, scope, suspension } = created.record;
  await reply(id, suspension.id);
  const entries = await stack.store.entries(scope, 10);
  expect(entries.map((one) => [one.id, one.message])).toEqual([
    [suspension.id, expect.objectContaining({ type: 'continuation.asked' })],
    [`${id}:resume:1`, expect.objectContaining({ type: 'continuation.follow_up' })],
  ]);
  expect(await stack.store.entries('app=other', 10)).toEqual([]);
  await stack.store.acknowledge(
    scope,
    entries.map((one) => one.id),
  );
  await stack.store.addEntry({ id: suspension.id, scope, message: { again: true } });
  expect(await stack.store.entries(scope, 10)).toEqual([]);
  await worker.stop();
});
