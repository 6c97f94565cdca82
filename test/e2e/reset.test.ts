/**
 * Workflows that are reset from outside, and so are older than their row: effects are not repeated, the row does not go
 * backwards, and whoever answers once more is told who won (C1, C6, C7, C14).
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ContinuationRecord, CreateContinuationInput } from '../../src/index.ts';
import { isTerminal } from '../../src/record.ts';
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
  refusalOf,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';
import { inMs } from '../support/time.ts';

let stack: Stack;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack({ heartbeatTimeoutMs: 2_000 });
  actors = createActors();
  await stack.startWorker(actors);
});
afterAll(() => stack?.close());

/** `ResetReapplyExcludeType` of the server's API. */
const EXCLUDED = { signals: 1, updates: 2 };

/** Resets to before the `nth` completed workflow task, as a person does in the UI. `reapply`: messages after it are given again. */
async function reset(id: string, nth: number, { reapply }: { reapply: boolean }): Promise<string> {
  const handle = stack.handle(id);
  const { runId } = await handle.describe();
  const { events } = await handle.fetchHistory();
  const tasks = events?.filter((event) => event.workflowTaskCompletedEventAttributes) ?? [];
  const task = tasks.at(nth);
  if (!task?.eventId) throw new Error(`only ${tasks.length} tasks`);
  const answer = await stack.temporal.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: id, runId },
    reason: 'to see what happens',
    requestId: randomUUID(),
    workflowTaskFinishEventId: task.eventId,
    resetReapplyExcludeTypes: reapply ? [] : [EXCLUDED.signals, EXCLUDED.updates],
  });
  return answer.runId;
}

/** Paused, and its workflow past its first task, so that there is a task of its own to reset to. */
async function waiting(input?: CreateContinuationInput): Promise<ContinuationRecord> {
  const record = await created(stack.client, input);
  await stack.waits(record.id);
  return record;
}

async function completed(): Promise<{ id: string; kinds: string[] }> {
  const { id } = await waiting();
  taken(
    await stack.client.resume(
      { continuationId: id, messageId: 'first', trigger: reply('first') },
      { until: 'finished' },
    ),
  );
  return { id, ...(await agreedEnd(stack, id)) };
}

/** The reset run has closed and says what the row says; nothing was done again. */
async function asBefore(id: string, kinds: string[]) {
  expect((await agreedEnd(stack, id)).kinds).toEqual(kinds);
  expect(actors.turns(id)).toHaveLength(1);
  expect(actors.deliveries(id)).toHaveLength(1);
}

describe('a continuation that had ended is reset', () => {
  test.for([
    ['before the answer, which is given again', 0],
    ['before the turn, the answer is given again', 1],
    ['after the turn and its follow-up', 2],
  ] as const)('%s: nothing is done twice, and it ends as before', async ([, task]) => {
    const { id, kinds } = await completed();
    const runId = await reset(id, task, { reapply: true });
    expect((await stack.handle(id).describe()).runId).toBe(runId);
    await asBefore(id, kinds);
  });

  test('before the answer, which is not given again: it waits, and any other answer is told who won', async () => {
    const { id, kinds } = await completed();
    await reset(id, 0, { reapply: false });
    await vi.waitFor(async () => expect(await stack.handle(id).query('status')).toMatchObject({ status: 'pending' }));
    const before = await stack.client.get({ continuationId: id });
    const other = refusalOf(
      await stack.client.resume({ continuationId: id, messageId: 'second', trigger: reply('second') }),
    );
    expect(other).toMatchObject({ code: 'already_terminal', winner: { messageId: 'first' } });
    // By hand, past the client: the workflow takes it, and adopts what the row says.
    await stack.handle(id).signal('user_reply', { message: { text: 'third' } });
    await asBefore(id, kinds);
    expect(await stack.client.get({ continuationId: id })).toEqual(before);
  });
});

describe('a continuation is reset while its turn runs', () => {
  test('the answer given again: the turn is not run again; its outcome is unknown, because its worker was cut off', async () => {
    const { id } = await waiting();
    // Deaf, so that nothing of it is recorded.
    actors.plays(id, () => new Promise(() => {}));
    taken(await stack.client.resume({ continuationId: id, messageId: 'first', trigger: reply() }));
    const { signal } = await actors.running(id);
    await reset(id, 0, { reapply: true });
    const record = await becomes(stack.client, id, (one) => one.resume?.uncertain !== undefined);
    expect(record).toMatchObject({ status: 'resuming', resume: { attempt: 1, uncertain: { cause: 'lost' } } });
    await vi.waitFor(() => expect(signal.aborted).toBe(true), 20_000);
    expect(actors.turns(id)).toHaveLength(1);
    taken(await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    await agreedEnd(stack, id);
  });

  test('and another answer is given: the row keeps the first, the client says who won, the workflow follows the row', async () => {
    const { id } = await waiting();
    actors.plays(id, () => new Promise(() => {}));
    taken(await stack.client.resume({ continuationId: id, messageId: 'first', trigger: reply('first') }));
    await actors.running(id);
    await reset(id, 0, { reapply: false });
    await vi.waitFor(async () => expect(await stack.handle(id).query('status')).toMatchObject({ status: 'pending' }));
    const other = refusalOf(
      await stack.client.resume({ continuationId: id, messageId: 'second', trigger: reply('second') }),
    );
    expect(other).toMatchObject({ code: 'already_resumed', winner: { messageId: 'first', subject: 'anonymous' } });
    const record = await becomes(stack.client, id, (one) => one.resume?.uncertain !== undefined);
    expect(record).toMatchObject({ answers: [{ messageId: 'first' }], resume: { uncertain: { cause: 'lost' } } });
    await vi.waitFor(async () =>
      expect(await stack.handle(id).query('record')).toMatchObject({ answers: [{ messageId: 'first' }] }),
    );
    expect(actors.turns(id)).toMatchObject([{ trigger: { message: { text: 'first' } } }]);
    taken(await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    expect((await agreedEnd(stack, id)).kinds).toEqual(['created', 'admitted', 'started', 'uncertain', 'stopped']);
  });

  test('its deadline is extended and another answer is given: the row keeps the first all the same', async () => {
    const { id, bounds } = await waiting();
    actors.plays(id, () => new Promise(() => {}));
    taken(await stack.client.resume({ continuationId: id, messageId: 'first', trigger: reply('first') }));
    await actors.running(id);
    await reset(id, 0, { reapply: false });
    await vi.waitFor(async () => expect(await stack.handle(id).query('status')).toMatchObject({ status: 'pending' }));
    // Two more revisions than the row has, past the client.
    for (const hours of [2, 3]) {
      const expiresAt = new Date(Date.parse(bounds.expiresAt ?? '') + hours * 3_600_000).toISOString();
      await stack.handle(id).executeUpdate('extend', { args: [{ expiresAt }] });
    }
    const other = refusalOf(
      await stack.client.resume({ continuationId: id, messageId: 'second', trigger: reply('second') }),
    );
    expect(other).toMatchObject({ code: 'already_resumed', winner: { messageId: 'first', subject: 'anonymous' } });
    const record = await becomes(stack.client, id, (one) => one.resume?.uncertain !== undefined);
    expect(record.answers).toMatchObject([{ messageId: 'first' }]);
    expect(actors.turns(id)).toHaveLength(1);
    taken(await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    expect((await agreedEnd(stack, id)).kinds).toEqual(['created', 'admitted', 'started', 'uncertain', 'stopped']);
  });
});

describe('a continuation that asks again is reset to its first question', () => {
  async function asksAgain(
    bounds: CreateContinuationInput['bounds'] = {},
  ): Promise<{ id: string; suspensionId: string; firstSuspension: string }> {
    const { id, suspension } = await waiting(pause('user_reply', { bounds }));
    actors.plays(id, ({ resumedTurnId }) =>
      resumedTurnId.endsWith(':1')
        ? { ...PAUSES.user_reply, continuation: { state: { question: 'And which size?' } } }
        : DONE,
    );
    taken(await stack.client.resume({ continuationId: id, messageId: 'first', trigger: reply('first') }));
    const record = await becomes(stack.client, id, (one) => one.status === 'pending' && one.answers.length === 1);
    await vi.waitFor(async () =>
      expect(await stack.handle(id).query('record')).toMatchObject({ suspension: { id: record.suspension.id } }),
    );
    await reset(id, 0, { reapply: false });
    await vi.waitFor(async () =>
      expect(await stack.handle(id).query('record')).toMatchObject({ suspension: { id: suspension.id } }),
    );
    return { id, suspensionId: record.suspension.id, firstSuspension: suspension.id };
  }

  test('another answer to the first question is told who won, and the workflow waits for the second again', async () => {
    const { id, suspensionId, firstSuspension } = await asksAgain();
    const before = await stack.client.get({ continuationId: id });
    const other = refusalOf(
      await stack.client.resume({
        continuationId: id,
        suspensionId: firstSuspension,
        messageId: 'second',
        trigger: reply('second'),
      }),
    );
    expect(other).toMatchObject({ code: 'already_resumed', winner: { messageId: 'first' } });
    await vi.waitFor(async () =>
      expect(await stack.handle(id).query('record')).toMatchObject({
        suspension: { id: suspensionId },
        status: 'pending',
      }),
    );
    expect(await stack.client.get({ continuationId: id })).toEqual(before);
    taken(await stack.client.resume({ continuationId: id, suspensionId, messageId: 'size', trigger: reply('large') }));
    await becomes(stack.client, id, isTerminal);
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', answers: [{ messageId: 'first' }, { messageId: 'size' }] });
    expect(kinds).toEqual([
      'created',
      'admitted',
      'started',
      'settled',
      'opened',
      'admitted',
      'started',
      'settled',
      'delivered',
    ]);
    expect(actors.turns(id).map((turn) => turn.resumedTurnId)).toEqual([`${id}:resume:1`, `${id}:resume:2`]);
  });

  test('nobody answers the first question: at its deadline the workflow follows the row, and only then takes the answer to the second', async () => {
    const { id, suspensionId } = await asksAgain({ expiresAt: inMs(10_000) });
    const answer = { continuationId: id, suspensionId, messageId: 'size', trigger: reply('large') };
    // The workflow does not know that question again yet; the row keeps it.
    expect(refusalOf(await stack.client.resume(answer))).toMatchObject({ code: 'stale_suspension' });
    await vi.waitFor(
      async () => expect(await stack.handle(id).query('record')).toMatchObject({ suspension: { id: suspensionId } }),
      { timeout: 40_000, interval: 200 },
    );
    expect(taken(await stack.client.resume(answer, { until: 'finished' }))).toMatchObject({ harnessResult: DONE });
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', answers: [{ messageId: 'first' }, { messageId: 'size' }] });
    expect(actors.turns(id)).toHaveLength(2);
  });
});
