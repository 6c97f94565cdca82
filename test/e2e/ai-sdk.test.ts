/**
 * Agents of the AI SDK on the whole stack, on the engine and with a loop of their own: they ask, go on with what people decided, and
 * a worker that is killed in the middle leaves one refund.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AiSdkHarness, stateKinds } from '../../src/ai-sdk/index.ts';
import type { ContinuationClient, ContinuationRecord, CreateContinuationInput, WaitType } from '../../src/index.ts';
import { AI_SDK_AGENTS, REFUND } from '../support/ai-sdk-agent.ts';
import { createMortalWorkers, type MortalWorkers } from '../support/mortal-workers.ts';
import { agreedEnd, becomes, type Stack, startStack, taken } from '../support/stack.ts';

let stack: Stack;
let mortals: MortalWorkers;
beforeAll(async () => {
  stack = await startStack({ stateKinds });
  mortals = await createMortalWorkers(stack);
});
afterAll(async () => {
  await stack?.close();
  mortals?.close();
});

const linesOf = (ledger: string) => readFileSync(ledger, 'utf8').split('\n').filter(Boolean);
function bedOf(agent: keyof typeof AI_SDK_AGENTS) {
  const taskQueue = `ai-sdk-${randomUUID()}`;
  const ledger = mortals.newLedger(taskQueue);
  const client = stack.newClient({ taskQueue, heartbeatTimeoutMs: 3_000 });
  const harness = AI_SDK_AGENTS[agent](ledger);
  return {
    agent,
    taskQueue,
    ledger,
    client,
    harness,
    work: () => stack.startWorker({ harness, taskQueue, stateKinds }),
  };
}

async function asked(
  client: ContinuationClient,
  harness: AiSdkHarness,
  bounds: CreateContinuationInput['bounds'] = {},
): Promise<ContinuationRecord> {
  const turnId = `turn-${randomUUID()}`;
  const harnessResult = await harness.runFirstTurn({ turnId, prompt: 'Refund order 1042.' });
  const { record } = taken(
    await client.create({
      assistantId: 'shop',
      originTurnId: turnId,
      harnessResult,
      bounds: { onDenied: 'tell_model', ...bounds },
    }),
  );
  expect(record.suspension.pending).toMatchObject([{ name: 'refund', arguments: REFUND }]);
  return record;
}

const decide = (
  client: ContinuationClient,
  { id, suspension, waitFor }: ContinuationRecord,
  decided: { decision: 'approved' | 'denied'; arguments?: string; reason?: string },
) => {
  if (waitFor.type !== 'approval_resolution') throw new Error(waitFor.type);
  const trigger = { type: waitFor.type, approvalId: waitFor.approvalId, ...decided };
  return client.resume({ continuationId: id, suspensionId: suspension.id, trigger });
};
const ship = (client: ContinuationClient, { id, suspension, waitFor }: ContinuationRecord) => {
  if (waitFor.type !== 'external_result') throw new Error(waitFor.type);
  const trigger = { type: waitFor.type, operationId: waitFor.operationId, payload: 'parcel 7' };
  return client.resume({ continuationId: id, suspensionId: suspension.id, trigger });
};
const asksAgain = (client: ContinuationClient, { id }: ContinuationRecord, type: WaitType, answers: number) =>
  becomes(
    client,
    id,
    (record) => record.status === 'pending' && record.waitFor.type === type && record.answers.length === answers,
    60_000,
  );
const saidOf = async (client: ContinuationClient, { id }: ContinuationRecord): Promise<unknown> => {
  const { result } = (await client.get({ continuationId: id, include: ['result'] })) ?? {};
  return JSON.parse(result?.assistantMessage?.text ?? '');
};

describe.each(['engine', 'whole'] as const)('%s', (agent) => {
  /** Which write tells the end of the refund: the engine writes before it that a run starts. */
  const endOfRefund = agent === 'engine' ? 2 : 1;

  test('approved with an edit, a result from outside, denied: the model hears of each, one refund is made', async () => {
    const { client, harness, ledger, work } = bedOf(agent);
    await work();
    const record = await asked(client, harness);
    taken(await decide(client, record, { decision: 'approved', arguments: '{"order":"1042","amount":20}' }));
    const outside = await asksAgain(client, record, 'external_result', 1);
    expect(outside.suspension.pending).toMatchObject([{ name: 'ship', arguments: '{"order":"1042"}' }]);
    taken(await ship(client, outside));
    const again = await asksAgain(client, record, 'approval_resolution', 2);
    taken(await decide(client, again, { decision: 'denied', reason: 'one is enough' }));
    expect(await becomes(client, record.id)).toMatchObject({ status: 'completed' });
    const note = 'A person changed the arguments of this call; it ran with {"order":"1042","amount":20}';
    expect(await saidOf(client, record)).toEqual([
      { type: 'text', value: `${note}\n{"refunded":20}` },
      { type: 'text', value: 'parcel 7' },
      { type: 'execution-denied', reason: 'one is enough' },
    ]);
    expect(linesOf(ledger)).toEqual([expect.stringMatching(/^refund \{"order":"1042","amount":20\} /)]);
    await agreedEnd(stack, record.id);
  });

  test('nobody decides in time: the model hears that, and no refund is made', async () => {
    const { client, harness, ledger, work } = bedOf(agent);
    await work();
    const expiresAt = new Date(Date.now() + 1_000);
    const record = await asked(client, harness, { expiresAt, onExpiry: 'resume' });
    const outside = await asksAgain(client, record, 'external_result', 1);
    taken(await ship(client, outside));
    taken(await decide(client, await asksAgain(client, record, 'approval_resolution', 2), { decision: 'denied' }));
    expect(await becomes(client, record.id)).toMatchObject({ status: 'completed' });
    expect(await saidOf(client, record)).toMatchObject([{ type: 'error-text', value: 'no answer in time' }, {}, {}]);
    expect(linesOf(ledger)).toEqual([]);
  });

  test('a worker killed right after the refund was recorded: another goes on, with one refund', async () => {
    const { client, harness, ledger, taskQueue, work } = bedOf(agent);
    const victim = await mortals.start({ agent, taskQueue, ledger, dieAt: endOfRefund, committed: true });
    const record = await asked(client, harness);
    taken(await decide(client, record, { decision: 'approved' }));
    expect(await victim.ended).toBe('SIGKILL');
    expect(linesOf(ledger)).toHaveLength(1);
    await work();
    taken(await ship(client, await asksAgain(client, record, 'external_result', 1)));
    taken(await decide(client, await asksAgain(client, record, 'approval_resolution', 2), { decision: 'denied' }));
    expect(await becomes(client, record.id, undefined, 60_000)).toMatchObject({ status: 'completed' });
    expect(await saidOf(client, record)).toMatchObject([{ type: 'json', value: { refunded: 49.9 } }, {}, {}]);
    expect(linesOf(ledger)).toHaveLength(1);
  }, 180_000);

  test('killed between the refund and its record: an operator is asked, and nothing is refunded twice', async () => {
    const { client, harness, ledger, taskQueue, work } = bedOf(agent);
    const victim = await mortals.start({ agent, taskQueue, ledger, dieAt: endOfRefund, committed: false });
    const record = await asked(client, harness);
    taken(await decide(client, record, { decision: 'approved' }));
    expect(await victim.ended).toBe('SIGKILL');
    await work();
    const uncertain = await becomes(client, record.id, ({ resume }) => resume?.uncertain !== undefined, 60_000);
    expect(uncertain.resume?.uncertain?.message).toMatch(/refund|tool:call-/);
    expect(linesOf(ledger)).toHaveLength(1);
  }, 180_000);
});
