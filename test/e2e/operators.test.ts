/** Unknown outcomes: shown with what is known, and decided by an operator on proof, once (C8; 001 `ResumeClosure`). */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { digestText } from '../../src/digest.ts';
import {
  type ContinuationRecord,
  createStore,
  OutcomeUnknown,
  type ReconcileContinuationInput,
  TransientError,
} from '../../src/index.ts';
import { reply } from '../support/builders.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  PAUSES,
  pause,
  raced,
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
  const delivery = {
    ...actors.delivery,
    announce: async (record: ContinuationRecord) => void announced.push(record),
  };
  await stack.startWorker({ harness: actors.harness, delivery });
});
afterAll(() => stack?.close());

const isUncertain = (record: ContinuationRecord) => record.resume?.uncertain !== undefined;

/** A continuation whose turn has an unknown outcome; with more executions, each does what its script says. */
async function inQuestion(bounds: ContinuationRecord['bounds'] | object = {}): Promise<string> {
  const { id } = await created(stack.client, pause('user_reply', { bounds }));
  actors.plays(id, ({ attempt }) => {
    if (attempt === 1) throw new OutcomeUnknown('the bank did not answer');
    return DONE;
  });
  taken(await stack.client.resume({ continuationId: id, trigger: reply() }));
  await becomes(stack.client, id, isUncertain);
  return id;
}
const decision = (id: string, more: Partial<ReconcileContinuationInput>): ReconcileContinuationInput => ({
  continuationId: id,
  turnId: `${id}:resume:1`,
  attempt: 1,
  action: 'did_not_happen',
  proof: { ref: 'ledger/2026-12-03', digest: digestText('statement') },
  observedAt: '2026-12-03T10:00:00Z',
  ...more,
});
const operator = () => stack.client.as({ subject: 'olga', verified: true, channel: 'cli' });

describe.concurrent('an unknown outcome', () => {
  test('is announced once to operators, listed, and counted; nothing decides it but them', async () => {
    const id = await inQuestion();
    await vi.waitFor(
      () => expect(announced.filter((one) => one.id === id && isUncertain(one))).toHaveLength(1),
      10_000,
    );
    expect((await stack.store.censusAcrossScopes()).uncertain).toBeGreaterThan(0);
    const { records } = await stack.client.list({ status: 'uncertain', limit: 256 });
    expect(records.map((one) => one.id)).toContain(id);
    const [execution] = (await stack.client.get({ continuationId: id, include: ['executions'] }))?.executions ?? [];
    expect(execution).toMatchObject({
      turnId: `${id}:resume:1`,
      attempt: 1,
      state: 'uncertain',
      worker: expect.any(String),
    });
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });

  test('happened: its result counts as if the turn had returned it, and is delivered', async () => {
    const id = await inQuestion();
    const decided = taken(await operator().reconcile(decision(id, { action: 'happened', result: DONE })));
    expect(JSON.parse(decided.receipt.body)).toMatchObject({
      action: 'happened',
      actor: 'olga',
      verified: true,
      channel: 'cli',
      proof: { ref: 'ledger/2026-12-03' },
      observedAt: '2026-12-03T10:00:00.000Z',
    });
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'delivered' } });
    expect(record.resume).toMatchObject({ outcome: 'completed', reconciled: { action: 'happened', actor: 'olga' } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'uncertain', 'reconciled', 'settled', 'delivered']);
    expect(actors.turns(id)).toHaveLength(1);
    expect(actors.deliveries(id)).toMatchObject([{ harnessResult: DONE }]);
  });

  test('happened, and it asks again: the new question waits', async () => {
    const id = await inQuestion();
    const result = PAUSES.approval_resolution;
    taken(await operator().reconcile(decision(id, { action: 'happened', result })));
    const record = await becomes(stack.client, id, (one) => one.status === 'pending');
    expect(record).toMatchObject({ waitFor: { type: 'approval_resolution', approvalId: 'appr_1' } });
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
    expect((await agreedEnd(stack, id)).kinds).toEqual([
      'created',
      'admitted',
      'started',
      'uncertain',
      'reconciled',
      'settled',
      'opened',
      'stopped',
    ]);
  });

  test('did not happen: the turn runs again with the same answer, nobody is asked again', async () => {
    const id = await inQuestion();
    taken(await operator().reconcile(decision(id, {})));
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 }, resume: { attempt: 2 } });
    expect(kinds).toEqual([
      'created',
      'admitted',
      'started',
      'uncertain',
      'reconciled',
      'started',
      'settled',
      'delivered',
    ]);
    expect(actors.turns(id).map((turn) => turn.attempt)).toEqual([1, 2]);
  });

  test('closed as incomplete: it failed, and nothing is run or delivered', async () => {
    const id = await inQuestion();
    taken(await operator().reconcile(decision(id, { action: 'close_incomplete', issuer: 'bank' })));
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      resume: { error: { code: 'closed_incomplete' }, reconciled: { issuer: 'bank' } },
      delivery: { status: 'not_applicable' },
    });
    expect(actors.turns(id)).toHaveLength(1);
    expect(actors.deliveries(id)).toEqual([]);
  });

  test('the same decision again gets the first receipt, also when its proof has expired; another one conflicts', async () => {
    const id = await inQuestion();
    const soon = new Date(Date.now() + 1500).toISOString();
    const first = decision(id, { action: 'close_incomplete', expiresAt: soon });
    const { receipt } = taken(await operator().reconcile(first));
    await agreedEnd(stack, id);
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(Date.parse(soon)), 5_000);
    expect(taken(await operator().reconcile(first)).receipt).toEqual(receipt);
    expect(refusalOf(await operator().reconcile({ ...first, action: 'did_not_happen' }))).toMatchObject({
      code: 'message_conflict',
      message: expect.stringContaining('close_incomplete by olga'),
    });
  });

  test('is not decided without the permission, on expired proof, for another execution, or when nothing is in question', async () => {
    const id = await inQuestion();
    const answerer = stack.client.as({ permissions: ['answer', 'approve', 'read'] });
    expect(refusalOf(await answerer.reconcile(decision(id, {}))).code).toBe('not_authorized');
    const expired = decision(id, { expiresAt: '2026-01-01T00:00:00Z' });
    expect(refusalOf(await operator().reconcile(expired))).toMatchObject({ code: 'invalid_input', path: 'expiresAt' });
    expect(refusalOf(await operator().reconcile(decision(id, { attempt: 2 }))).code).toBe('already_resumed');
    expect(refusalOf(await operator().reconcile(decision(id, { action: 'happened' }))).code).toBe('invalid_input');
    const outside = stack.client.as({ scope: 'app=other' });
    expect(refusalOf(await outside.reconcile(decision(id, {}))).code).toBe('not_found');
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ status: 'resuming' });
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
    expect(refusalOf(await operator().reconcile(decision(id, {}))).code).toBe('already_resumed');
    const { id: waiting } = await created(stack.client);
    expect(refusalOf(await operator().reconcile(decision(waiting, {}))).code).toBe('already_resumed');
  });

  test('a result that is none, named past the client, decides nothing, and a stop is still heard', async () => {
    const id = await inQuestion();
    const { record } = (await stack.store.getAcrossScopes(id)) ?? {};
    const { continuationId: _, ...request } = decision(id, { action: 'happened' });
    const resultRef = record?.suspension.state;
    const args: [unknown] = [{ ...request, resultRef }];
    expect(await stack.handle(id).executeUpdate<unknown, [unknown]>('reconcile', { args })).toMatchObject({
      record: { status: 'resuming' },
    });
    taken(await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    expect((await agreedEnd(stack, id)).kinds).not.toContain('reconciled');
  });

  test('retries used up, with onExhausted hold: an operator lets it run again with the answer that was kept', async () => {
    const { id } = await created(
      stack.client,
      pause('user_reply', { bounds: { onExhausted: 'hold', resumeBudgetMs: 1 } }),
    );
    actors.plays(id, ({ attempt }) => {
      if (attempt === 1) throw new TransientError('busy');
      return DONE;
    });
    taken(await stack.client.resume({ continuationId: id, trigger: reply() }));
    expect(await becomes(stack.client, id, isUncertain)).toMatchObject({
      resume: { uncertain: { cause: 'exhausted' } },
    });
    taken(await operator().reconcile(decision(id, {})));
    expect((await agreedEnd(stack, id)).record.status).toBe('completed');
  });
});

describe('at once, a hundred times', () => {
  test('two operators who disagree; one wins, and both are told the same', async () => {
    await raced(100, async () => {
      const id = await inQuestion();
      const [ran, closed] = await Promise.all([
        operator().reconcile(decision(id, {})),
        stack.client.as({ subject: 'otto' }).reconcile(decision(id, { action: 'close_incomplete' })),
      ]);
      expect([ran.ok, closed.ok].filter(Boolean)).toHaveLength(1);
      const { record, kinds } = await agreedEnd(stack, id);
      expect(record.status).toBe(ran.ok ? 'completed' : 'failed');
      expect(actors.turns(id)).toHaveLength(ran.ok ? 2 : 1);
      expect(kinds.filter((kind) => kind === 'reconciled')).toHaveLength(1);
    });
  }, 120_000);

  test('a decision against the late end of the lost execution; the decision stands alone', async () => {
    const store = createStore({ url: stack.databaseUrl });
    await raced(100, async () => {
      const id = await inQuestion();
      const turnId = `${id}:resume:1`;
      const row = await store.getAcrossScopes(id);
      if (row?.record.status !== 'resuming') throw new Error('not in question');
      // What the execution that was given up would still write: its end, under its own fence.
      const record = {
        ...row.record,
        revision: row.record.revision + 1,
        resume: { turnId, attempt: 1, outcome: 'completed' as const },
      };
      const receipt = { kind: 'settled', cause: `settled:${turnId}`, at: record.updatedAt, body: '{"late":true}' };
      const [decided, late] = await Promise.all([
        operator().reconcile(decision(id, { action: 'close_incomplete' })),
        store.endTurn({ turnId, fence: 1, state: 'settled', record, spentMs: 0, receipt }),
      ]);
      expect({ decided: decided.ok, late: late.accepted }).toEqual({ decided: true, late: false });
      expect((await agreedEnd(stack, id)).record.status).toBe('failed');
    });
    await store.close();
  }, 120_000);
});
