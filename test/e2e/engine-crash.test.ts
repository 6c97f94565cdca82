/**
 * A worker killed (`kill -9`) at every write to the journal of a turn with an idempotent tool, one that runs once and one outside:
 * each committed effect exists once (C7), an unknown one is asked about and never guessed (C8).
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContinuationClient, ContinuationRecord } from '../../src/index.ts';
import { isTerminal } from '../../src/record.ts';
import { query } from '../support/database.ts';
import { engineAgent, linesOf } from '../support/engine-agent.ts';
import { createMortalWorkers, type MortalWorkers } from '../support/mortal-workers.ts';
import { becomes, type Stack, startStack, taken } from '../support/stack.ts';

let stack: Stack;
let mortals: MortalWorkers;
beforeAll(async () => {
  stack = await startStack();
  mortals = await createMortalWorkers(stack);
});
afterAll(async () => {
  await stack?.close();
  mortals?.close();
});

/** A continuation of the agent that asks its first question. */
async function asked(client: ContinuationClient, agent: ReturnType<typeof engineAgent>): Promise<string> {
  const turnId = `turn-${randomUUID()}`;
  const messages = [{ role: 'user' as const, parts: [{ kind: 'text', value: 'please' }] }];
  const harnessResult = await agent.runFirstTurn({ sessionId: 's1', turnId, messages });
  const { record } = taken(await client.create({ assistantId: 'support', originTurnId: turnId, harnessResult }));
  expect(record).toMatchObject({ waitFor: { type: 'user_reply' }, suspension: { question: 'Which?' } });
  return record.id;
}

const waitsForShipping = (record: ContinuationRecord) =>
  record.waitFor.type === 'external_result' && record.status === 'pending';
const isUncertain = (record: ContinuationRecord) => record.resume?.uncertain !== undefined;
const reply = (client: ContinuationClient, continuationId: string) =>
  client.resume({ continuationId, trigger: { type: 'user_reply', message: { text: 'the blue one' } } });
async function ship(client: ContinuationClient, { id, suspension, waitFor }: ContinuationRecord) {
  if (waitFor.type !== 'external_result') throw new Error(waitFor.type);
  const trigger = { type: 'external_result', operationId: waitFor.operationId, payload: 'shipped' } as const;
  return client.resume({ continuationId: id, suspensionId: suspension.id, trigger });
}

async function play(dieAt: number, committed: boolean) {
  const taskQueue = `engine-${randomUUID()}`;
  const ledger = mortals.newLedger(taskQueue);
  const client = stack.newClient({ taskQueue, heartbeatTimeoutMs: 3_000 });
  const agent = engineAgent(ledger);
  const { ended } = await mortals.start({ taskQueue, ledger, dieAt, committed });
  const id = await asked(client, agent);
  taken(await reply(client, id));
  // The first seven writes are those of the turn that looks and pays.
  if (dieAt > 7) taken(await ship(client, await becomes(client, id, waitsForShipping, 60_000)));
  expect(await ended).toBe('SIGKILL');
  await stack.startWorker({ harness: agent, taskQueue });
  return { id, client, ledger };
}

async function finish({ id, client, ledger }: Awaited<ReturnType<typeof play>>, dieAt: number) {
  if (dieAt <= 7) taken(await ship(client, await becomes(client, id, waitsForShipping, 60_000)));
  expect(await becomes(client, id, isTerminal, 60_000)).toMatchObject({ status: 'completed' });
  expect(await client.get({ continuationId: id, include: ['result'] })).toMatchObject({
    result: { assistantMessage: { text: 'done' } },
  });
  const looks = linesOf(ledger, 'look');
  expect(new Set(looks).size).toBe(1);
  expect(linesOf(ledger, 'ship')).toEqual([]);
  const numbers = await query(
    stack.databaseUrl,
    'select j.sequence::integer as n from continuations.journal j join continuations.turns t using (turn_id) where t.continuation_id = $1 order by n',
    [id],
  );
  expect(new Set(numbers.map(({ n }) => n)).size).toBe(numbers.length);
  return looks;
}

const LAST_WRITE = 12;
const UNKNOWN = [
  [5, true],
  [6, false],
] as const;
const matrix = [
  ...Array.from({ length: LAST_WRITE }, (_, index) => [index + 1, true] as const),
  [4, false] as const,
].filter(([dieAt, committed]) => !UNKNOWN.some(([n, is]) => n === dieAt && is === committed));

describe.concurrent('killed at write', { timeout: 180_000 }, () => {
  test.each(matrix)('%d, committed: %s: the turn goes on, paid once', async (dieAt, committed) => {
    const played = await play(dieAt, committed);
    const looks = await finish(played, dieAt);
    expect(looks).toHaveLength(committed ? 1 : 2);
    expect(linesOf(played.ledger, 'pay')).toHaveLength(1);
  });

  test.each(UNKNOWN)('%d, committed: %s, in the middle of paying: an operator is asked', async (dieAt, committed) => {
    const played = await play(dieAt, committed);
    const { id, client, ledger } = played;
    const uncertain = await becomes(client, id, isUncertain, 60_000);
    expect(uncertain.resume?.uncertain?.message).toMatch(/pay \(call-pay\)/);
    expect(linesOf(ledger, 'pay')).toHaveLength(committed ? 0 : 1);
    const { turnId = '', attempt = 0 } = uncertain.resume ?? {};
    const proof = { ref: 'bank statement', digest: `sha256:${'0'.repeat(64)}` } as const;
    taken(
      await client.reconcile({
        continuationId: id,
        turnId,
        attempt,
        action: 'did_not_happen',
        proof,
        observedAt: new Date().toISOString(),
      }),
    );
    await finish(played, dieAt);
    // Run again on the operator's word alone, with the key of the first time.
    expect(new Set(linesOf(ledger, 'pay')).size).toBe(1);
    expect(linesOf(ledger, 'pay')).toHaveLength(committed ? 1 : 2);
  });
});
