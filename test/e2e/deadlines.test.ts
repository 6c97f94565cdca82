/** Deadlines, wakes and start windows: in time is in time, and every instant is kept by the workflow's own timer. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CreateContinuationInput, HarnessResultInput } from '../../src/index.ts';
import { DAY, HOUR, later, reply, wake } from '../support/builders.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  gate,
  pause,
  refusalOf,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';
import { eventually, inMs, reached, skipTime, sleep } from '../support/time.ts';

let stack: Stack;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack();
  actors = createActors();
  await stack.startWorker(actors);
});
afterAll(() => stack?.close());

const expiring = (expiresAt: string, more: Partial<CreateContinuationInput> = {}) =>
  pause('user_reply', { ...more, bounds: { expiresAt, ...more.bounds } });

const timed = (wakeAt: string, expiresAt?: string) =>
  pause('scheduled_wake', {
    harnessResult: { outcome: 'deferred', continuation: { state: { wakeAt } } } satisfies HarnessResultInput,
    ...(expiresAt && { bounds: { expiresAt } }),
  });

describe('an answer and the deadline at the same moment', () => {
  test('one of the two happens, and record, receipts and the harness agree, a hundred times', async () => {
    const ends = { completed: 0, expired: 0 };
    // How long before the deadline the answer is sent: moves towards the moment at which neither is sure to be first.
    let aheadMs = 5;
    const once = async () => {
      const expiresAt = inMs(1000);
      const { id } = await created(stack.client, expiring(expiresAt));
      await reached(later(-aheadMs, expiresAt));
      const answered = await stack.client.resume({ continuationId: id, trigger: reply() });
      const { record, kinds } = await agreedEnd(stack, id);
      ends[record.status as keyof typeof ends] += 1;
      aheadMs += record.status === 'completed' ? -3 : 3;
      if (record.status === 'completed') {
        expect(taken(answered).outcome).toBe('accepted');
        expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
        expect(actors.turns(id)).toHaveLength(1);
        expect(record.answers[0]?.receivedAt && record.answers[0].receivedAt < expiresAt).toBe(true);
      } else {
        expect(refusalOf(answered).code).toBe('expired');
        expect(record).toMatchObject({ answers: [], delivery: { status: 'suppressed_expired' } });
        expect(kinds).toEqual(['created', 'expired']);
        expect(actors.turns(id)).toHaveLength(0);
      }
    };
    for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 10 }, once));
    expect(ends.completed + ends.expired).toBe(100);
    expect(Math.min(ends.completed, ends.expired)).toBeGreaterThan(3);
  });
});

describe.concurrent('while no worker runs', () => {
  function lonely() {
    const taskQueue = `lonely-${randomUUID()}`;
    const client = stack.newClient({ taskQueue, answerTimeoutMs: 200 });
    return { client, start: () => stack.startWorker({ ...actors, taskQueue }) };
  }

  test('an answer that is given in time is taken by the worker that comes after the deadline', async () => {
    const { client, start } = lonely();
    const expiresAt = inMs(2500);
    const { id } = await created(client, expiring(expiresAt));
    expect(taken(await client.resume({ continuationId: id, trigger: reply() })).outcome).toBe('stored');
    await reached(later(500, expiresAt));
    await start();
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', answers: [{ type: 'user_reply', subject: 'anonymous' }] });
    const [answer] = record.answers;
    expect(answer && answer.receivedAt < expiresAt && answer.acceptedAt > expiresAt).toBe(true);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('so it is when the workflow had been waiting before, though its timer has fired meanwhile', async () => {
    const { client, start } = lonely();
    const first = await start();
    const expiresAt = inMs(8000);
    const { id } = await created(client, expiring(expiresAt));
    await stack.waits(id);
    await first.stop();
    expect(taken(await client.resume({ continuationId: id, trigger: reply() })).outcome).toBe('stored');
    await reached(later(500, expiresAt));
    await start();
    expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed' });
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('an answer that is given after the deadline has expired', async () => {
    const { client, start } = lonely();
    const expiresAt = inMs(700);
    const { id } = await created(client, expiring(expiresAt));
    await reached(expiresAt);
    expect(taken(await client.resume({ continuationId: id, trigger: reply() })).outcome).toBe('stored');
    await start();
    expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'expired', answers: [] });
    expect(actors.turns(id)).toHaveLength(0);
    const [refused] = (await stack.handle(id).result()).refusedSignals;
    expect(refused).toMatchObject({ signal: 'user_reply', refusal: { code: 'expired' } });
  });
});

describe.concurrent('at the deadline', () => {
  test('thirty days later, what nobody answered has expired, and is not told as denied', async () => {
    const expiresAt = inMs(30 * DAY);
    const { id } = await created(stack.client, pause('approval_resolution', { bounds: { expiresAt } }));
    await stack.waits(id);
    await skipTime(stack, id);
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'expired',
      terminalReason: 'expired_ttl',
      delivery: { status: 'suppressed_expired' },
      bounds: { resumeAttempts: 0 },
    });
    expect(record.updatedAt >= expiresAt).toBe(true);
    expect(kinds).toEqual(['created', 'expired']);
    const late = await stack.client.resume({ continuationId: id, trigger: reply() });
    expect(refusalOf(late)).toMatchObject({ code: 'expired', status: 'expired' });
    expect(actors.deliveries(id)).toHaveLength(0);
  });

  test('with onExpiry resume the turn runs with "no answer in time"', async () => {
    const expiresAt = inMs(30 * DAY);
    const { id } = await created(stack.client, expiring(expiresAt, { bounds: { onExpiry: 'resume' } }));
    await stack.waits(id);
    await skipTime(stack, id);
    const { record, kinds } = await agreedEnd(stack, id);
    expect(actors.turns(id).map((turn) => turn.trigger)).toEqual([{ type: 'no_answer', firedAt: expiresAt }]);
    expect(record).toMatchObject({
      status: 'completed',
      bounds: { resumeAttempts: 1 },
      answers: [{ type: 'no_answer', subject: 'system', channel: 'timer' }],
    });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
  });

  test('another agent that does not reply resumes the turn by default', async () => {
    const { id } = await created(stack.client, pause('agent_reply'));
    await stack.waits(id);
    await skipTime(stack, id);
    await agreedEnd(stack, id);
    expect(actors.turns(id).map((turn) => turn.trigger.type)).toEqual(['no_answer']);
  });

  test('what never expires has no timer, is counted, and can still be answered', async () => {
    const { id, bounds } = await created(stack.client, pause('user_reply', { bounds: { neverExpires: true } }));
    expect(bounds).not.toHaveProperty('expiresAt');
    await stack.waits(id);
    const { events } = await stack.handle(id).fetchHistory();
    expect(events?.filter((event) => event.timerStartedEventAttributes)).toEqual([]);
    expect((await stack.store.censusAcrossScopes()).neverExpires).toBeGreaterThan(0);
    await stack.client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
    expect((await agreedEnd(stack, id)).record.status).toBe('completed');
  });
});

describe.concurrent('extend', () => {
  test('moves the deadline, and it expires at the new one', async () => {
    const first = inMs(1500);
    const second = later(2000, first);
    const { id } = await created(stack.client, expiring(first));
    const extended = taken(await stack.client.extend({ continuationId: id, expiresAt: second }));
    expect(extended).toMatchObject({ outcome: 'done', record: { bounds: { expiresAt: second, extensions: 1 } } });
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ bounds: { expiresAt: second } });
    await reached(later(700, first));
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ status: 'pending' });
    const { record } = await agreedEnd(stack, id);
    expect(record.status).toBe('expired');
    expect(record.updatedAt >= second).toBe(true);
  });

  test('an answer between the old and the new deadline is in time', async () => {
    const first = inMs(1000);
    const { id } = await created(stack.client, expiring(first));
    await stack.client.extend({ continuationId: id, expiresAt: later(HOUR, first) });
    await reached(later(200, first));
    expect(taken(await stack.client.resume({ continuationId: id, trigger: reply() })).outcome).toBe('accepted');
    await agreedEnd(stack, id);
  });

  test('is refused when it would come earlier, more than twenty times, when answered, and at the end', async () => {
    const { id, bounds } = await created(stack.client);
    const { expiresAt = '' } = bounds;
    const extend = (ms: number) => stack.client.extend({ continuationId: id, expiresAt: later(ms, expiresAt) });
    await stack.waits(id);
    const length = await stack.historyLength(id);
    for (const ms of [-1, 0]) {
      expect(refusalOf(await extend(ms))).toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining('only moves later'),
      });
    }
    expect(await stack.historyLength(id)).toBe(length);
    for (let time = 1; time <= 20; time++) taken(await extend(time));
    expect(refusalOf(await extend(21)).message).toContain('at most 20 times');
    const running = gate();
    actors.plays(id, async () => {
      await running.opened;
      return DONE;
    });
    await stack.client.resume({ continuationId: id, trigger: reply() });
    expect(refusalOf(await extend(22))).toMatchObject({ code: 'already_resumed', winner: { type: 'user_reply' } });
    running.open();
    await agreedEnd(stack, id);
    expect(refusalOf(await extend(23))).toMatchObject({ code: 'already_terminal', status: 'completed' });
  });

  test('past the client, as the Temporal UI makes it, is seen by the next read', async () => {
    const { id } = await created(stack.client);
    const expiresAt = inMs(3 * HOUR);
    await stack.temporal.workflow.getHandle(id).executeUpdate('extend', { args: [{ expiresAt }] });
    await eventually(async () => {
      const record = await stack.client.get({ continuationId: id });
      expect(record?.bounds).toMatchObject({ expiresAt, extensions: 1 });
    });
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });

  test('is refused for what never expires', async () => {
    const { id } = await created(stack.client, pause('user_reply', { bounds: { neverExpires: true } }));
    const refused = await stack.client.extend({ continuationId: id, expiresAt: inMs(HOUR) });
    expect(refusalOf(refused).message).toBe('this continuation never expires');
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });
});

describe.concurrent('a wake', () => {
  test('at its time resumes the turn; the deadline is another instant', async () => {
    const wakeAt = inMs(1500);
    const { id, waitFor, bounds } = await created(stack.client, timed(wakeAt));
    expect(waitFor).toMatchObject({ type: 'scheduled_wake', wakeAt });
    expect(bounds.expiresAt).toBe(later(HOUR, wakeAt));
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'completed',
      answers: [{ type: 'scheduled_wake', subject: 'system', channel: 'timer', receivedAt: wakeAt }],
    });
    expect(record.lastResumedAt && record.lastResumedAt >= wakeAt).toBe(true);
    const [turn] = actors.turns(id);
    expect(turn?.trigger).toMatchObject({ type: 'scheduled_wake', firedAt: wakeAt });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
  });

  test('whose time has passed comes at once', async () => {
    const { id } = await created(stack.client, timed('2026-01-01T00:00:00Z'));
    expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed' });
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('and a deadline before it are refused together', async () => {
    const wakeAt = inMs(HOUR);
    const refused = await stack.client.create(timed(wakeAt, wakeAt));
    expect(refusalOf(refused)).toMatchObject({ code: 'invalid_input', path: 'bounds.expiresAt' });
  });

  test('in thirty days comes by the durable timer, once', async () => {
    const wakeAt = inMs(30 * DAY);
    const { id } = await created(stack.client, timed(wakeAt, later(1000, wakeAt)));
    await stack.waits(id);
    await skipTime(stack, id);
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
    expect(record.lastResumedAt && record.lastResumedAt >= wakeAt).toBe(true);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('from outside needs its id; then the turn runs once, not again at the time', async () => {
    const wakeAt = inMs(3000);
    const { id, waitFor } = await created(stack.client, timed(wakeAt));
    const { wakeUpId } = waitFor as { wakeUpId: string };
    const wrong = await stack.client.resume({ continuationId: id, trigger: wake('wake_0') });
    expect(refusalOf(wrong).code).toBe('wrong_correlation');
    const right = await stack.client.resume({ continuationId: id, trigger: wake(wakeUpId) }, { until: 'finished' });
    expect(taken(right)).toMatchObject({ answer: { type: 'scheduled_wake', subject: 'anonymous' } });
    await reached(later(300, wakeAt));
    expect((await agreedEnd(stack, id)).record.bounds.resumeAttempts).toBe(1);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('without a time only comes from outside, and expires', async () => {
    const { id } = await created(stack.client, pause('scheduled_wake'));
    await stack.waits(id);
    await skipTime(stack, id);
    expect((await agreedEnd(stack, id)).record.status).toBe('expired');
  });
});

describe.concurrent('a start window', () => {
  const consenting = (startWithinMs: number) => pause('user_reply', { bounds: { startWithinMs } });

  test('expires an accepted answer whose turn did not start in it; a worker that comes later runs nothing', async () => {
    const turnTaskQueue = `turns-${randomUUID()}`;
    const client = stack.newClient({ turnTaskQueue });
    const { id } = await created(client, consenting(1000));
    const answered = taken(await client.resume({ continuationId: id, trigger: reply() }));
    expect(answered.outcome).toBe('accepted');
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'expired',
      terminalReason: 'expired_ttl',
      delivery: { status: 'suppressed_expired' },
      answers: [{ type: 'user_reply' }],
    });
    expect(kinds).toEqual(['created', 'admitted', 'expired']);
    await stack.startWorker({ ...actors, taskQueue: turnTaskQueue, turnsOnly: true });
    await sleep(500);
    expect(actors.turns(id)).toHaveLength(0);
    // The answer was accepted, and that stands: the same message gets its outcome, another one who won.
    expect(taken(await client.resume({ continuationId: id, trigger: reply() })).outcome).toBe('accepted');
    const late = refusalOf(await client.resume({ continuationId: id, trigger: reply('red') }));
    expect(late).toMatchObject({ code: 'expired', winner: { type: 'user_reply' } });
  });

  test('does not cut a turn that started in it', async () => {
    const { id } = await created(stack.client, consenting(300));
    actors.plays(id, async ({ signal }) => {
      await sleep(1200);
      if (signal.aborted) throw new Error('was cut');
      return DONE;
    });
    await stack.client.resume({ continuationId: id, trigger: reply() });
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record.status).toBe('completed');
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
  });

  test('does not outrun a stop', async () => {
    const client = stack.newClient({ turnTaskQueue: `turns-${randomUUID()}` });
    const { id } = await created(client, consenting(60_000));
    await client.resume({ continuationId: id, trigger: reply() });
    await client.stop({ continuationId: id, reason: 'cancelled_by_user' });
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record.terminalReason).toBe('cancelled_by_user');
    expect(kinds).toEqual(['created', 'admitted', 'stopped']);
  });

  test('opens anew for each answer', async () => {
    const { id } = await created(stack.client, consenting(30_000));
    actors.plays(id, ({ resumedTurnId }) =>
      resumedTurnId.endsWith(':1') ? { outcome: 'needs_clarification', continuation: { state: {} } } : DONE,
    );
    await stack.client.resume({ continuationId: id, trigger: reply() }, { until: 'settled' });
    const again = await becomes(stack.client, id, (record) => record.status === 'pending');
    const answer = { continuationId: id, suspensionId: again.suspension.id, trigger: reply() };
    taken(await stack.client.resume(answer, { until: 'finished' }));
    expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 2 } });
  });
});
