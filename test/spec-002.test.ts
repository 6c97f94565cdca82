/**
 * The tests of source 002, in its own groups, as far as they concern the rules: what is created from a harness result and
 * what an answer, a stop, a deadline and a delivery make of it. Where our outcome differs, the title says so.
 */
import { describe, expect, test } from 'vitest';
import { next, step } from '../src/continuation.ts';
import { type FirstRecordInput, firstRecord } from '../src/first-record.ts';
import type { JsonObject } from '../src/json.ts';
import { isTerminal } from '../src/record.ts';
import {
  ContinuationRecord,
  CreateInput,
  type HarnessResultInput,
  type Refusal,
  type ResumableResult,
  type TerminalRecord,
} from '../src/schema.ts';
import { describePause } from '../src/suspend.ts';
import * as b from './support/builders.ts';
import { answered, HOUR, later, MINUTE, NOON, ok, play, refused, verdict } from './support/builders.ts';

type Bounds = FirstRecordInput['bounds'];

/** What `create` makes of a harness result. */
function create(
  harnessResult: HarnessResultInput,
  more: { bounds?: Bounds; metadata?: JsonObject } = {},
): ContinuationRecord | Refusal {
  const input = CreateInput.parse({
    assistantId: 'support',
    originTurnId: 'turn_1',
    harnessResult,
    metadata: more.metadata,
  });
  const result = input.harnessResult as ResumableResult;
  const pause = describePause(result, { turnId: input.originTurnId, at: NOON, metadata: more.metadata });
  if ('ok' in pause) return pause.refusal;
  const first = firstRecord(
    {
      identity: { id: b.CONTINUATION, scope: 'app=default', assistantId: 'support', idempotencyKey: 'turn_1' },
      originTurnId: input.originTurnId,
      outcome: result.outcome,
      delivery: { status: 'pending_delivery' },
      bounds: more.bounds ?? {},
      asked: pause.asked,
    },
    NOON,
  );
  return first.ok ? first.record : refused(first);
}
const created = (...given: Parameters<typeof create>) => ContinuationRecord.parse(create(...given));

const clarification = (): HarnessResultInput => ({
  outcome: 'needs_clarification',
  turnId: 'turn_1',
  stopReason: 'clarification_required',
  assistantMessage: { text: 'Which one?' },
  continuation: { state: { stopReason: 'clarification_required', question: 'Which one?', transcript: [] } },
});
const approval = (state: JsonObject = { approvalId: 'appr_1' }): HarnessResultInput => ({
  outcome: 'awaiting_approval',
  continuation: { state },
});
const deferred = (state: JsonObject = { operationId: 'op_1' }): HarnessResultInput => ({
  outcome: 'deferred',
  continuation: { state },
});
const wakeUp = () => created(deferred({ wakeAt: later(2 * HOUR) }));
const wakeUpId = (record: ContinuationRecord) =>
  record.waitFor.type === 'scheduled_wake' ? record.waitFor.wakeUpId : '';
const done = (turn = 1) => {
  const turnId = `${b.CONTINUATION}:resume:${turn}`;
  return [b.settled('completed', { turnId }), b.delivered('delivered', { deliveryId: turnId })];
};

describe('create', () => {
  test('a clarification waits for a reply of the user', () => {
    expect(created(clarification())).toMatchObject({
      status: 'pending',
      waitFor: { type: 'user_reply' },
      origin: { turnId: 'turn_1', outcome: 'needs_clarification', stopReason: 'clarification_required' },
      suspension: { question: 'Which one?' },
    });
  });

  test('an approval waits for the decision of its approval id', () => {
    expect(created(approval()).waitFor).toEqual({ type: 'approval_resolution', approvalId: 'appr_1' });
  });

  test('the approval that a harness really returns is taken: the id of its request is the approval id', () => {
    const request = { id: 'call_7', name: 'refund', arguments: '{}' };
    expect(created(approval({ stopReason: 'approval_required', request, transcript: [] })).waitFor).toMatchObject({
      approvalId: 'call_7',
    });
  });

  test('a deferred turn waits for the result of its operation, in its state or in metadata', () => {
    expect(created(deferred()).waitFor).toEqual({ type: 'external_result', operationId: 'op_1' });
    expect(created(deferred({ iteration: 6 }), { metadata: { operationId: 'op_2' } }).waitFor).toMatchObject({
      operationId: 'op_2',
    });
  });

  test('a scheduled wake has an id of its own, and its timer is what happens next', () => {
    const record = created(deferred({}), { metadata: { scheduledWake: true } });
    expect(record.waitFor).toEqual({ type: 'scheduled_wake', wakeUpId: expect.stringMatching(/^wake_/) });
    expect(next(wakeUp())).toEqual({ do: 'wait', at: later(2 * HOUR), then: 'woke' });
  });

  test('an approval without an approval id is refused; an empty one counts as missing', () => {
    for (const state of [{}, { approvalId: '' }])
      expect(create(approval(state))).toMatchObject({ code: 'invalid_input' });
  });

  test('a deferred turn that names nothing to wait for is refused', () => {
    expect(create(deferred({}))).toMatchObject({ code: 'invalid_input' });
  });

  test('a clarification expires after one hour, an approval after 24, to the millisecond', () => {
    expect(created(clarification()).bounds.expiresAt).toBe(later(HOUR));
    expect(created(approval()).bounds.expiresAt).toBe(later(24 * HOUR));
  });
});

describe('resume: clarification', () => {
  test('a reply completes it, with one turn', () => {
    const record = play(created(clarification()), answered(b.reply()), ...done());
    expect(record).toMatchObject({ status: 'completed', terminalReason: 'completed', lineage: ['turn_1', b.TURN_1] });
  });

  test('another kind of trigger is refused, and the reply is still taken', () => {
    const record = created(clarification());
    expect(verdict(record, answered(b.approve()))).toBe('wrong_trigger');
    expect(verdict(record, answered(b.reply()))).toBe('resuming');
  });

  test('an expired one is refused as expired', () => {
    const record = created(clarification());
    expect(verdict(record, answered(b.reply(), { at: later(HOUR) }))).toBe('expired');
    expect(verdict(play(record, b.timer('expired', later(HOUR))), answered(b.reply()))).toBe('expired');
  });

  test('one that has ended is refused as such', () => {
    expect(verdict(play(created(clarification()), b.stopped('cancelled_by_user')), answered(b.reply()))).toBe(
      'already_terminal',
    );
  });

  test('attempts go 1, 2', () => {
    const one = play(created(clarification()), answered(b.reply()));
    const two = play(one, b.asksAgain(b.REPLY), answered(b.reply(), { messageId: 'm_2', suspensionId: 'sus_2' }));
    expect([one, two].map((record) => record.bounds.resumeAttempts)).toEqual([1, 2]);
    expect(two.lineage).toEqual(['turn_1', b.TURN_1, b.TURN_2]);
  });

  test('with two attempts the second turn that asks again fails at once; 002 asked, and refused the third answer', () => {
    const record = play(
      created(clarification(), { bounds: { maxResumeAttempts: 2 } }),
      answered(b.reply()),
      b.asksAgain(b.REPLY),
      answered(b.reply(), { messageId: 'm_2', suspensionId: 'sus_2' }),
      b.asksAgain(b.REPLY, { turnId: b.TURN_2, suspensionId: 'sus_3' }),
    );
    expect(record).toMatchObject({ status: 'failed', terminalReason: 'max_resume_attempts_reached' });
    expect(verdict(record, answered(b.reply(), { messageId: 'm_3', suspensionId: 'sus_3' }))).toBe('already_terminal');
  });
});

describe('resume: approval', () => {
  test('an approval completes it', () => {
    expect(play(created(approval()), answered(b.approve()), ...done()).status).toBe('completed');
  });

  test('a denial ends it as cancelled, approval_denied, without a turn, an attempt or a delivery', () => {
    const record = play(created(approval()), answered(b.deny()));
    expect(record).toMatchObject({
      status: 'cancelled',
      terminalReason: 'approval_denied',
      bounds: { resumeAttempts: 0 },
      lineage: ['turn_1'],
    });
    expect(record.delivery.status).toBe('not_applicable');
  });

  test('another approval id is refused and costs no attempt', () => {
    const record = created(approval());
    expect(verdict(record, answered(b.approve('appr_2')))).toBe('wrong_correlation');
    expect(play(record, answered(b.approve())).bounds.resumeAttempts).toBe(1);
  });

  test('expiry beats an approval that comes later, and a denial', () => {
    for (const trigger of [b.approve(), b.deny()])
      expect(verdict(created(approval()), answered(trigger, { at: later(24 * HOUR) }))).toBe('expired');
  });
});

describe('resume: external result', () => {
  test('the matching result resumes it', () => {
    expect(play(created(deferred()), answered(b.result()), ...done()).status).toBe('completed');
  });

  test('the result of another operation is refused', () => {
    expect(verdict(created(deferred()), answered(b.result('op_2')))).toBe('wrong_correlation');
  });

  test('a harness that throws fails it, resume_runtime_error, and nothing stays to be delivered', () => {
    const record = play(created(deferred()), answered(b.result()), b.turnFailed());
    expect(record).toMatchObject({
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      delivery: { status: 'not_applicable' },
    });
  });

  test('a turn that asks the user makes it a fresh wait for a reply', () => {
    const record = play(created(deferred()), answered(b.result()), b.asksAgain(b.REPLY));
    expect(record).toMatchObject({ status: 'pending', waitFor: { type: 'user_reply' }, origin: { turnId: b.TURN_1 } });
    expect(verdict(record, answered(b.result(), { messageId: 'm_2', suspensionId: 'sus_2' }))).toBe('wrong_trigger');
  });
});

describe('resume: scheduled wake', () => {
  test('a wake at its time resumes it; in 002 it was always expired by then', () => {
    expect(play(wakeUp(), b.timer('woke', later(2 * HOUR)))).toMatchObject({
      status: 'resuming',
      bounds: { resumeAttempts: 1 },
    });
  });

  test('a wake from outside needs its id; in 002 any wake resumed any record', () => {
    const record = wakeUp();
    expect(verdict(record, answered(b.wake('wake_of_another')))).toBe('wrong_correlation');
    expect(verdict(record, answered(b.wake(wakeUpId(record))))).toBe('resuming');
  });

  test('a wake of what waits for something else is refused', () => {
    expect(verdict(created(clarification()), answered(b.wake()))).toBe('wrong_trigger');
  });

  test('a wake from outside after the deadline is expired', () => {
    const record = created(deferred({ scheduledWake: true }));
    expect(verdict(record, answered(b.wake(wakeUpId(record)), { at: later(HOUR) }))).toBe('expired');
  });

  test('a turn that wants to be woken again is scheduled again; in 002 nothing was', () => {
    const again = play(
      wakeUp(),
      b.timer('woke', later(2 * HOUR)),
      b.asksAgain({ type: 'scheduled_wake', wakeUpId: 'wake_2', wakeAt: later(9 * HOUR) }),
    );
    expect(next(again)).toEqual({ do: 'wait', at: later(9 * HOUR), then: 'woke' });
    expect(again.bounds.expiresAt).toBe(later(10 * HOUR));
  });
});

describe('stop', () => {
  test.for<[Parameters<typeof b.stopped>[0], string]>([
    ['cancelled_by_user', 'cancelled'],
    ['cancelled_by_product', 'cancelled'],
    ['superseded_by_newer_turn', 'superseded'],
    ['expired_ttl', 'expired'],
  ])('with %s ends it as %s', ([reason, status]) => {
    expect(play(created(clarification()), b.stopped(reason))).toMatchObject({ status, terminalReason: reason });
  });

  test('twice keeps the reason of the first', () => {
    const record = play(created(clarification()), b.stopped('cancelled_by_user'), b.stopped('expired_ttl'));
    expect(record.terminalReason).toBe('cancelled_by_user');
  });

  test('leaves no wake to come', () => {
    const record = play(wakeUp(), b.stopped('cancelled_by_user'));
    expect(next(record)).toEqual({ do: 'finish' });
    expect(verdict(record, b.timer('woke', later(2 * HOUR)))).toBe('already_terminal');
  });

  test('of a running turn is not overwritten by the end of that turn; in 002 it was', () => {
    const record = play(created(clarification()), answered(b.reply()), b.turnClosed('cancelled_by_user'));
    expect(verdict(record, b.settled('completed'))).toBe('already_terminal');
    expect((record as TerminalRecord).terminalReason).toBe('cancelled_by_user');
  });
});

describe('delivery', () => {
  const answeredOne = () => play(created(clarification()), answered(b.reply()), b.settled('completed'));

  test('delivered is stored with the end', () => {
    expect(play(answeredOne(), b.delivered())).toMatchObject({
      status: 'completed',
      delivery: { status: 'delivered', deliveredAt: later(4 * MINUTE) },
    });
  });

  test('an adapter that fails makes it delivery_failed; the turn stays completed', () => {
    expect(play(answeredOne(), b.delivered('delivery_failed'))).toMatchObject({
      status: 'completed',
      terminalReason: 'completed',
      delivery: { status: 'delivery_failed' },
    });
  });

  test('an adapter can suppress; in 002 it could not say so', () => {
    expect(play(answeredOne(), b.delivered('suppressed_session_reengaged'))).toMatchObject({
      status: 'completed',
      delivery: { status: 'suppressed_session_reengaged' },
    });
  });

  test('without an adapter there is none to deliver', () => {
    const record = play(created(clarification()), answered(b.reply()), b.settled('completed', { deliverable: false }));
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'not_applicable' } });
  });

  test('expiry suppresses it and nothing is delivered', () => {
    const record = play(created(clarification()), b.timer('expired', later(HOUR)));
    expect(record.delivery.status).toBe('suppressed_expired');
    expect(next(record)).toEqual({ do: 'finish' });
  });

  test('supersession suppresses it', () => {
    expect(play(created(clarification()), b.stopped('superseded_by_newer_turn')).delivery.status).toBe(
      'suppressed_superseded',
    );
  });

  test('no end keeps it pending; in 002 denied, exhausted and failed ones did for ever', () => {
    const record = created(approval(), { bounds: { maxResumeAttempts: 1 } });
    const ends = [
      play(record, answered(b.deny())),
      play(record, answered(b.approve()), b.turnFailed()),
      play(record, answered(b.approve()), b.asksAgain(b.APPROVAL)),
    ];
    for (const end of ends) {
      expect(isTerminal(end)).toBe(true);
      expect(end.delivery.status).toBe('not_applicable');
    }
  });
});

describe('bounds', () => {
  test('default to one hour, three attempts, none used', () => {
    expect(created(clarification()).bounds).toMatchObject({
      expiresAt: later(HOUR),
      maxResumeAttempts: 3,
      resumeAttempts: 0,
    });
  });

  test('are taken when given', () => {
    const bounds = { expiresAt: later(5 * MINUTE), maxResumeAttempts: 9 };
    expect(created(clarification(), { bounds }).bounds).toMatchObject(bounds);
  });

  test('with a deadline that is not in the future are refused', () => {
    expect(create(clarification(), { bounds: { expiresAt: NOON } })).toMatchObject({
      code: 'invalid_input',
      path: 'bounds.expiresAt',
    });
  });

  test('of a re-pend: a fresh deadline by the ttl table of create, attempts kept', () => {
    const record = play(
      created(clarification(), { bounds: { ttl: { user_reply: 7 * HOUR } } }),
      answered(b.reply()),
      b.asksAgain(b.REPLY),
    );
    expect(record.bounds).toMatchObject({ expiresAt: later(7 * HOUR + 2 * MINUTE), resumeAttempts: 1 });
  });
});

describe('edges', () => {
  test('of two answers at once one resumes and the other is told who won', () => {
    const record = created(clarification());
    const [ann, bob] = ['ann', 'bob'].map((subject) =>
      answered(b.reply(`from ${subject}`), { subject, messageId: `m_${subject}` }),
    ) as [ReturnType<typeof answered>, ReturnType<typeof answered>];
    for (const [winner, loser] of [
      [ann, bob],
      [bob, ann],
    ] as const) {
      expect(refused(step(ok(step(record, winner)), loser))).toMatchObject({
        code: 'already_resumed',
        winner: { subject: winner.answer.subject },
      });
    }
  });

  test('a re-pend never becomes a wait for any reply; in 002 an approval could', () => {
    const result = CreateInput.parse({ assistantId: 'a', originTurnId: 't', harnessResult: approval({}) })
      .harnessResult as ResumableResult;
    const pause = describePause(result, { turnId: b.TURN_1, at: later(2 * MINUTE) });
    if (!('ok' in pause)) throw new Error('found something to wait for');
    const settled = { ...b.asksAgain(b.APPROVAL), suspension: pause } as Parameters<typeof step>[1];
    expect(play(created(approval()), answered(b.approve()), settled)).toMatchObject({
      status: 'failed',
      terminalReason: 'resume_runtime_error',
    });
  });
});
