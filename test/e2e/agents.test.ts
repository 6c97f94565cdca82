/** Agents that ask agents (001's ask ledger), and the work that hosts find again (001's discovery). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContinuationRecord, Trigger } from '../../src/index.ts';
import { agentReply, approve, reply } from '../support/builders.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  gate,
  PAUSES,
  pause,
  refusalOf,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';

let stack: Stack;
let actors: Actors;
const announced: ContinuationRecord[] = [];
beforeAll(async () => {
  stack = await startStack();
  actors = createActors();
  const announce = async (record: ContinuationRecord) => void announced.push(record);
  await stack.startWorker({ harness: actors.harness, delivery: { ...actors.delivery, announce } });
});
afterAll(() => stack?.close());

const says = (performative: 'agreed' | 'refuse' | 'failure' | 'inform', content?: string): Trigger => ({
  ...(agentReply() as Extract<Trigger, { type: 'agent_reply' }>),
  performative,
  ...(content && { content }),
});
const asker = () => created(stack.client, pause('agent_reply'));

describe.concurrent('a question to another agent', () => {
  test('agreed does not resolve it, and costs nothing', async () => {
    const { id } = await asker();
    const refused = refusalOf(await stack.client.resume({ continuationId: id, trigger: says('agreed') }));
    expect(refused).toMatchObject({ code: 'wrong_trigger', status: 'pending' });
    expect(await stack.client.get({ continuationId: id })).toMatchObject({
      bounds: { resumeAttempts: 0 },
      answers: [],
    });
    taken(await stack.client.resume({ continuationId: id, trigger: says('inform', 'yes') }, { until: 'finished' }));
  });

  test.for(['refuse', 'failure'] as const)('%s is an answer: the turn goes on and is told', async (performative) => {
    const { id } = await asker();
    taken(await stack.client.resume({ continuationId: id, trigger: says(performative) }, { until: 'finished' }));
    expect((await agreedEnd(stack, id)).record.answers).toMatchObject([{ decision: performative }]);
    expect(actors.turns(id)[0]?.trigger).toMatchObject({ performative });
  });

  test('a second reply, a late one and one to another question are told so', async () => {
    const { id } = await asker();
    const other: Trigger = { ...says('inform'), replyWith: 'another' } as Trigger;
    expect(refusalOf(await stack.client.resume({ continuationId: id, trigger: other })).code).toBe('wrong_correlation');
    const peer = stack.client.as({ subject: 'peer' });
    taken(await peer.resume({ continuationId: id, trigger: says('inform') }, { until: 'finished' }));
    const second = await stack.client.as({ subject: 'other' }).resume({ continuationId: id, trigger: says('inform') });
    expect(refusalOf(second)).toMatchObject({ code: 'already_terminal', winner: { subject: 'peer' } });
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('is brought to the other agent only when its answer can be taken, however fast it comes', async () => {
    const { id } = await created(stack.client, pause('user_reply'));
    actors.plays(id, ({ resumedTurnId }) => (resumedTurnId.endsWith(':1') ? PAUSES.agent_reply : DONE));
    const answeredAtOnce = (async () => {
      for await (const record of stack.client.watch({ continuationId: id, signal: AbortSignal.timeout(20_000) }))
        if (record.status === 'pending' && record.waitFor.type === 'agent_reply')
          return stack.client.resume({
            continuationId: id,
            suspensionId: record.suspension.id,
            trigger: says('inform'),
          });
      throw new Error('was not asked');
    })();
    taken(await stack.client.resume({ continuationId: id, trigger: reply() }));
    taken(await answeredAtOnce);
    expect((await agreedEnd(stack, id)).record.answers.map(({ type }) => type)).toEqual(['user_reply', 'agent_reply']);
  });
});

describe.concurrent('two continuations', () => {
  test('converse: the follow-up of the one that was asked is the answer to the one that asks', async () => {
    const { id } = await asker();
    const asked = await created(
      stack.client,
      pause('approval_resolution', { delivery: { replyTo: { continuationId: id, replyWith: 'rw_1' } } }),
    );
    const done = { ...DONE, assistantMessage: { text: '12 in stock' } };
    actors.plays(asked.id, () => done);
    const approved = { continuationId: asked.id, trigger: approve() };
    expect(taken(await stack.client.resume(approved, { until: 'finished' }))).toMatchObject({
      delivery: { status: 'delivered' },
    });
    const { record } = await agreedEnd(stack, id);
    expect(record.answers).toMatchObject([{ type: 'agent_reply', subject: asked.id, verified: true, channel: 'bus' }]);
    expect(actors.turns(id)[0]?.trigger).toMatchObject({ performative: 'inform', content: '12 in stock' });
    // It goes to nobody else.
    expect(actors.deliveries(asked.id)).toEqual([]);
  });

  test('a follow-up for a question that was answered meanwhile is told as not delivered', async () => {
    const { id } = await asker();
    taken(await stack.client.resume({ continuationId: id, trigger: says('inform') }, { until: 'finished' }));
    const target = { replyTo: { continuationId: id, replyWith: 'rw_1' } };
    const asked = await created(stack.client, pause('user_reply', { delivery: target }));
    taken(await stack.client.resume({ continuationId: asked.id, trigger: reply() }, { until: 'finished' }));
    expect((await agreedEnd(stack, asked.id)).record).toMatchObject({
      status: 'completed',
      delivery: { status: 'delivery_failed', error: expect.stringContaining('has ended') },
    });
  });

  test('of different scopes do not reach each other', async () => {
    const { id } = await asker();
    const target = { replyTo: { continuationId: id, replyWith: 'rw_1' } };
    const other = stack.client.as({ scope: 'app=other' });
    const asked = await created(other, pause('user_reply', { delivery: target }));
    taken(await other.resume({ continuationId: asked.id, trigger: reply() }, { until: 'finished' }));
    expect(await other.get({ continuationId: asked.id })).toMatchObject({ delivery: { status: 'delivery_failed' } });
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ status: 'pending' });
  });
});

describe('work that is found again (001)', () => {
  test('open work of one reason, running included, page by page; what is added meanwhile moves nothing', async () => {
    const scope = 'app=discovery';
    const client = stack.client.as({ scope });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await created(client, pause('agent_reply'))).id);
    await created(client, pause('user_reply'));
    const running = gate();
    actors.plays(ids[1] as string, async () => {
      await running.opened;
      return DONE;
    });
    taken(await client.resume({ continuationId: ids[1] as string, trigger: says('inform') }));
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await client.list({ waitFor: 'agent_reply', status: 'open', limit: 2, ...(after && { after }) });
      found.push(...page.records.map((one) => one.id));
      after = page.next;
      if (found.length === 2) ids.push((await created(client, pause('agent_reply'))).id);
    } while (after);
    expect(found).toEqual(ids);
    running.open();
    await becomes(client, ids[1] as string);
    const left = await client.list({ waitFor: 'agent_reply', status: 'open' });
    expect(left.records.map((one) => one.id)).toEqual(ids.filter((id) => id !== ids[1]));
  });

  test('admissions: of exactly this scope, the latest named, a later pause never for an earlier one', async () => {
    const scope = 'app=admissions/team=a';
    const client = stack.client.as({ scope });
    const { id, suspension } = await created(client);
    actors.plays(id, ({ resumedTurnId }) => (resumedTurnId.endsWith(':1') ? PAUSES.user_reply : DONE));
    taken(await client.resume({ continuationId: id, trigger: reply('a') }, { until: 'finished' }));
    const again = await becomes(client, id, (record) => record.status === 'pending');
    expect(await client.admissions(id)).toMatchObject({ admissions: [{ suspensionId: suspension.id }] });
    taken(
      await client.resume(
        { continuationId: id, suspensionId: again.suspension.id, trigger: reply('b') },
        { until: 'finished' },
      ),
    );
    const all = await client.admissions(id);
    expect(all?.admissions.map((one) => one.suspensionId)).toEqual([suspension.id, again.suspension.id]);
    expect(all?.latest).toMatchObject({ suspensionId: again.suspension.id, answer: { type: 'user_reply' } });
    const first = await client.admissions(id, { limit: 1 });
    expect(first?.admissions).toHaveLength(1);
    expect((await client.admissions(id, { after: first?.next ?? 0 }))?.admissions).toEqual(all?.admissions.slice(1));
    expect(await stack.client.as({ scope: 'app=admissions' }).admissions(id)).toBeNull();
  });
});
