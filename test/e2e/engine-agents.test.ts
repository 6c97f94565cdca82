/**
 * Agents three levels deep: an approval at the bottom surfaces at the root, and a worker killed (`kill -9`) between the levels costs
 * nothing: what ran above runs once, the effect exists once (C7), or is asked about (C8).
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stateKinds } from '../../src/engine/index.ts';
import { isTerminal } from '../../src/record.ts';
import { delegatingAgent, linesOf } from '../support/engine-agent.ts';
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

/** Asks at the bottom, is approved, is killed at one write of the turn that pays, and goes on in another worker. */
async function play(dieAt: number, committed: boolean) {
  const taskQueue = `agents-${randomUUID()}`;
  const ledger = mortals.newLedger(taskQueue);
  const client = stack.newClient({ taskQueue, heartbeatTimeoutMs: 3_000, stateKinds });
  const agent = delegatingAgent(ledger);
  const { ended } = await mortals.start({ agent: 'delegating', taskQueue, ledger, dieAt, committed });
  const turnId = `turn-${randomUUID()}`;
  const messages = [{ role: 'user' as const, parts: [{ kind: 'text', value: 'please' }] }];
  const harnessResult = await agent.runFirstTurn({ sessionId: 's1', turnId, messages });
  const { record } = taken(await client.create({ assistantId: 'support', originTurnId: turnId, harnessResult }));
  expect(record).toMatchObject({
    waitFor: { type: 'approval_resolution' },
    suspension: { question: 'Pay?', pending: [{ id: 'call-desk/call-teller/call-pay', name: 'pay' }] },
  });
  const approvalId = record.waitFor.type === 'approval_resolution' ? record.waitFor.approvalId : '';
  const trigger = { type: 'approval_resolution', approvalId, decision: 'approved' } as const;
  taken(await client.resume({ continuationId: record.id, trigger }));
  expect(await ended).toBe('SIGKILL');
  await stack.startWorker({ harness: agent, taskQueue });
  return { id: record.id, client, ledger };
}

async function finish({ id, client, ledger }: Awaited<ReturnType<typeof play>>) {
  expect(await becomes(client, id, isTerminal, 60_000)).toMatchObject({ status: 'completed' });
  const view = await client.get({ continuationId: id, include: ['result', 'executions'] });
  expect(view?.result?.assistantMessage?.text).toBe('root done');
  // Each level did its own part once, before the pause; no model was asked again for what it had said.
  expect(linesOf(ledger, 'note')).toHaveLength(3);
  expect(new Set(linesOf(ledger, 'note')).size).toBe(3);
  for (const level of ['root', 'desk', 'teller']) expect(linesOf(ledger, `model ${level} 0`)).toHaveLength(1);
}

/** The third write starts the effect, the fourth ends it; the eighth and the thirteenth end the run of an agent. */
describe.concurrent('killed at write', { timeout: 180_000 }, () => {
  test.each([
    [3, false],
    [8, true],
    [9, false],
    [13, true],
    [14, true],
  ])('%d, committed: %s: the turn goes on where it was, paid once', async (dieAt, committed) => {
    const played = await play(dieAt, committed);
    await finish(played);
    expect(linesOf(played.ledger, 'pay')).toHaveLength(1);
    expect(linesOf(played.ledger, 'model teller 1')).toHaveLength(1);
  });

  test.each([
    [3, true],
    [4, false],
  ])('%d, committed: %s, while it pays: an operator says what came of it', async (dieAt, committed) => {
    const played = await play(dieAt, committed);
    const { id, client, ledger } = played;
    const { resume } = await becomes(client, id, (record) => record.resume?.uncertain !== undefined, 60_000);
    const paid = linesOf(ledger, 'pay').length;
    expect(paid).toBe(committed ? 0 : 1);
    const [execution] = (await client.get({ continuationId: id, include: ['executions'] }))?.executions ?? [];
    const [effect] = execution?.effects.filter(({ state }) => state === 'started') ?? [];
    expect(effect?.key).toMatch(/^run_\w+\/call-desk\/call-teller:tool:call-pay$/);
    const proof = { ref: 'bank statement', digest: `sha256:${'0'.repeat(64)}` } as const;
    taken(
      await client.reconcile({
        continuationId: id,
        turnId: resume?.turnId ?? '',
        attempt: resume?.attempt ?? 0,
        effect: effect?.key,
        ...(committed ? { action: 'did_not_happen' } : { action: 'happened', value: 'paid' }),
        proof,
        observedAt: new Date().toISOString(),
      }),
    );
    await finish(played);
    expect(linesOf(ledger, 'pay')).toHaveLength(1);
  });
});
