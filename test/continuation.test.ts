import { describe, expect, test } from 'vitest';
import { MAX_EXTENSIONS, next, step } from '../src/continuation.ts';
import type { Answered, ContinuationEvent } from '../src/events.ts';
import { DEFAULT_BOUNDS } from '../src/first-record.ts';
import { DEFAULT_TTL, isTerminal, resolution, winnerOf } from '../src/record.ts';
import { ContinuationRecord, type RefusalCode, type TerminalReason, type WaitCondition } from '../src/schema.ts';
import * as b from './support/builders.ts';
import { answered, first, HOUR, later, MINUTE, NOON, ok, play, refused, verdict } from './support/builders.ts';

describe('every event meets every state with one documented outcome', () => {
  const ends = b.ends();
  const states = {
    'pending reply': first(),
    'pending approval': first({ waitFor: b.APPROVAL }),
    'pending agent': first({ waitFor: b.AGENT }),
    'pending timed wake': first({ waitFor: b.TIMED_WAKE }),
    resuming: b.resuming(),
    uncertain: b.uncertain(),
    delivering: b.delivering(),
    ...ends,
  };
  /** Answers and timers are taken while pending, a turn's events while it runs, a delivery's while it is delivered. */
  const late = later(30 * HOUR);
  const inTheEnd = {
    completed: 'already_terminal',
    cancelled: 'already_terminal',
    superseded: 'already_terminal',
    failed: 'already_terminal',
  };
  const ended = { ...inTheEnd, expired: 'already_terminal' };
  const notPending = { resuming: 'already_resumed', uncertain: 'already_resumed', delivering: 'already_resumed' };
  const notRunning = {
    'pending reply': 'already_resumed',
    'pending approval': 'already_resumed',
    'pending agent': 'already_resumed',
    'pending timed wake': 'already_resumed',
  };
  const table: Record<string, [ContinuationEvent, Record<keyof typeof states, string>]> = {
    'a reply': [
      answered(b.reply(), { messageId: 'm_9' }),
      {
        ...notPending,
        ...inTheEnd,
        expired: 'expired',
        'pending reply': 'resuming',
        'pending approval': 'wrong_trigger',
        'pending agent': 'wrong_trigger',
        'pending timed wake': 'wrong_trigger',
      },
    ],
    'an approval': [
      answered(b.approve(), { messageId: 'm_9' }),
      {
        ...notPending,
        ...inTheEnd,
        expired: 'expired',
        'pending reply': 'wrong_trigger',
        'pending approval': 'resuming',
        'pending agent': 'wrong_trigger',
        'pending timed wake': 'wrong_trigger',
      },
    ],
    'a denial': [
      answered(b.deny(), { messageId: 'm_9' }),
      {
        ...notPending,
        ...inTheEnd,
        expired: 'expired',
        'pending reply': 'wrong_trigger',
        'pending approval': 'cancelled',
        'pending agent': 'wrong_trigger',
        'pending timed wake': 'wrong_trigger',
      },
    ],
    'an agent reply': [
      answered(b.agentReply(), { messageId: 'm_9' }),
      {
        ...notPending,
        ...inTheEnd,
        expired: 'expired',
        'pending reply': 'wrong_trigger',
        'pending approval': 'wrong_trigger',
        'pending agent': 'resuming',
        'pending timed wake': 'wrong_trigger',
      },
    ],
    'a wake from outside': [
      answered(b.wake(), { messageId: 'm_9' }),
      {
        ...notPending,
        ...inTheEnd,
        expired: 'expired',
        'pending reply': 'wrong_trigger',
        'pending approval': 'wrong_trigger',
        'pending agent': 'wrong_trigger',
        'pending timed wake': 'resuming',
      },
    ],
    'the wake timer': [
      b.timer('woke', late),
      {
        ...notPending,
        ...ended,
        'pending reply': 'wrong_trigger',
        'pending approval': 'wrong_trigger',
        'pending agent': 'wrong_trigger',
        'pending timed wake': 'resuming',
      },
    ],
    'the no-answer timer': [
      b.timer('noAnswer', late),
      {
        ...notPending,
        ...ended,
        'pending reply': 'wrong_trigger',
        'pending approval': 'wrong_trigger',
        'pending agent': 'resuming',
        'pending timed wake': 'wrong_trigger',
      },
    ],
    'the expiry timer': [
      b.timer('expired', late),
      {
        ...notPending,
        ...ended,
        'pending reply': 'expired',
        'pending approval': 'expired',
        'pending agent': 'wrong_trigger',
        'pending timed wake': 'wrong_trigger',
      },
    ],
    'a stop': [
      b.stopped('cancelled_by_user'),
      {
        'pending reply': 'cancelled',
        'pending approval': 'cancelled',
        'pending agent': 'cancelled',
        'pending timed wake': 'cancelled',
        resuming: 'already_resumed',
        uncertain: 'already_resumed',
        delivering: 'unchanged',
        completed: 'unchanged',
        cancelled: 'unchanged',
        expired: 'unchanged',
        superseded: 'unchanged',
        failed: 'unchanged',
      },
    ],
    'a later deadline': [
      b.extended(later(40 * HOUR)),
      {
        ...notPending,
        ...ended,
        'pending reply': 'pending',
        'pending approval': 'pending',
        'pending agent': 'pending',
        'pending timed wake': 'pending',
      },
    ],
    'the end of an attempt': [
      b.attemptEnded(),
      { ...notRunning, ...ended, resuming: 'resuming', uncertain: 'already_resumed', delivering: 'already_resumed' },
    ],
    'a finished turn': [
      b.settled('completed'),
      { ...notRunning, ...ended, resuming: 'resuming', uncertain: 'already_resumed', delivering: 'already_resumed' },
    ],
    'a turn that asks again': [
      b.asksAgain(b.APPROVAL),
      { ...notRunning, ...ended, resuming: 'pending', uncertain: 'already_resumed', delivering: 'already_resumed' },
    ],
    'a failed turn': [
      b.turnFailed(),
      { ...notRunning, ...ended, resuming: 'failed', uncertain: 'already_resumed', delivering: 'already_resumed' },
    ],
    'a lost turn': [
      b.turnUncertain(),
      { ...notRunning, ...ended, resuming: 'resuming', uncertain: 'already_resumed', delivering: 'already_resumed' },
    ],
    'a closed turn': [
      b.turnClosed('cancelled_by_user'),
      { ...notRunning, ...ended, resuming: 'cancelled', uncertain: 'cancelled', delivering: 'already_resumed' },
    ],
    'a delivered follow-up': [
      b.delivered(),
      { ...notRunning, ...ended, resuming: 'already_resumed', uncertain: 'already_resumed', delivering: 'completed' },
    ],
    'a lost delivery': [
      b.deliveryUncertain(),
      { ...notRunning, ...ended, resuming: 'already_resumed', uncertain: 'already_resumed', delivering: 'completed' },
    ],
  };
  for (const [name, [event, outcomes]] of Object.entries(table)) {
    for (const [state, record] of Object.entries(states)) {
      const outcome = outcomes[state as keyof typeof states];
      test(`${name} meets ${state}: ${outcome}`, () =>
        expect(verdict(b.deepFreeze(record), b.deepFreeze(event))).toBe(outcome));
    }
  }

  test('every record of the table parses', () => {
    for (const record of Object.values(states)) expect(ContinuationRecord.parse(record)).toEqual(record);
  });
});

describe('an answer is checked in the documented order', () => {
  /** A continuation that asks for the second time, and the answer it waits for. */
  const record = b.repended(b.APPROVAL);
  const good = answered(b.approve(), {
    messageId: 'm_2',
    suspensionId: 'sus_2',
    suspensionDigest: record.suspension.digest,
    at: later(5 * MINUTE),
  });
  type Case = { record: ContinuationRecord; event: Answered };
  const withMessage = ({ record, event }: Case, message: Partial<Answered['message']>): Case => ({
    record,
    event: { ...event, message: { ...event.message, ...message } },
  });
  /** In the order of design §4. Each fault is one thing that is wrong. */
  const faults: Array<[RefusalCode, (c: Case) => Case]> = [
    [
      'message_conflict',
      (c) => ({
        ...c,
        event: { ...c.event, answer: { ...c.event.answer, messageId: 'm_1', contentDigest: b.ref('other').digest } },
      }),
    ],
    ['already_terminal', (c) => ({ ...c, record: play(c.record, b.stopped('cancelled_by_user')) })],
    [
      'already_resumed',
      (c) => ({
        ...c,
        record: {
          ...play(record, { ...good, answer: { ...good.answer, messageId: 'm_3' } }),
          bounds: c.record.bounds,
        } as ContinuationRecord,
      }),
    ],
    [
      'suspension_required',
      (c) => {
        const { suspensionId, ...message } = c.event.message;
        return { ...c, event: { ...c.event, message } };
      },
    ],
    ['stale_suspension', (c) => withMessage(c, { suspensionId: 'sus_1' })],
    ['digest_mismatch', (c) => withMessage(c, { suspensionDigest: b.ref('what was shown before').digest })],
    [
      'expired',
      (c) => ({
        ...c,
        event: {
          ...c.event,
          at: later(2 * 24 * HOUR),
          answer: { ...c.event.answer, receivedAt: later(2 * 24 * HOUR) },
        },
      }),
    ],
    ['wrong_trigger', (c) => withMessage(c, { trigger: b.reply() })],
    ['wrong_correlation', (c) => withMessage(c, { trigger: b.approve('appr_other') })],
    [
      'attempts_exhausted',
      (c) => ({
        ...c,
        record: { ...c.record, bounds: { ...c.record.bounds, resumeAttempts: 3 } } as ContinuationRecord,
      }),
    ],
  ];
  const exclusive = new Set([
    'already_terminal already_resumed',
    'suspension_required stale_suspension',
    'wrong_trigger wrong_correlation',
  ]);

  test('without a fault it is accepted', () => expect(verdict(record, good)).toBe('resuming'));

  for (const [position, [code, fault]] of faults.entries()) {
    test(`alone: ${code}`, () => {
      const { record: now, event } = fault({ record, event: good });
      expect(refused(step(now, event)).code).toBe(code);
    });
    for (const [laterCode, laterFault] of faults.slice(position + 1)) {
      if (exclusive.has(`${code} ${laterCode}`)) continue;
      test(`${code} is told before ${laterCode}`, () => {
        const { record: now, event } = fault(laterFault({ record, event: good }));
        expect(refused(step(now, event)).code).toBe(code);
      });
    }
  }

  test('a repeat of an accepted message is recognised before anything else is looked at', () => {
    const accepted = play(record, good);
    for (const now of [accepted, play(accepted, b.turnFailed({ turnId: b.TURN_2 }))]) {
      expect(b.repeated(step(now, { ...good, at: later(9 * HOUR * 24) }))).toEqual(winnerOf(accepted.answers[1]!));
    }
  });

  test('an expired continuation is told as expired, every other end as already_terminal', () => {
    for (const [status, end] of Object.entries(b.ends())) {
      const refusal = refused(step(end, answered(b.reply(), { messageId: 'm_9' })));
      expect(refusal).toMatchObject({ code: status === 'expired' ? 'expired' : 'already_terminal', status });
    }
  });
});

describe('an answer is accepted once (C1)', () => {
  test('acceptance counts the attempt, names the turn and keeps the answer until it is carried out', () => {
    const answer = answered(b.approve(), {
      messageId: 'm_7',
      subject: 'bob',
      channel: 'http',
      at: later(MINUTE),
      receivedAt: later(1000),
    });
    const record = play(first({ waitFor: b.APPROVAL }), answer);
    expect(record).toMatchObject({
      status: 'resuming',
      revision: 2,
      bounds: { resumeAttempts: 1 },
      lineage: ['turn_0', b.TURN_1],
      resume: { turnId: b.TURN_1, attempt: 1 },
      lastResumedAt: later(MINUTE),
      updatedAt: later(MINUTE),
    });
    expect(record.answers).toEqual([
      {
        messageId: 'm_7',
        contentDigest: answer.answer.contentDigest,
        suspensionId: 'sus_1',
        type: 'approval_resolution',
        decision: 'approved',
        subject: 'bob',
        verified: true,
        channel: 'http',
        receivedAt: later(1000),
        acceptedAt: later(MINUTE),
        input: { trigger: b.approve() },
      },
    ]);
    expect(resolution(record)).toEqual(record.answers[0]);
    expect(resolution(play(record, b.turnFailed()))).toBeUndefined();
    expect(next(record)).toEqual({ do: 'runTurn', turnId: b.TURN_1 });
  });

  test('the decision kept for an agent reply is its performative, for others there is none', () => {
    const of = (waitFor: WaitCondition) => b.resuming({ waitFor }).answers[0]?.decision;
    expect([b.AGENT, b.REPLY, b.RESULT, b.WAKE].map(of)).toEqual(['inform', undefined, undefined, undefined]);
  });

  /** Who won the first suspension, and who won the second one. */
  const one = { suspensionId: 'sus_1', messageId: 'm_1', subject: 'ann', type: 'user_reply' };
  const two = {
    suspensionId: 'sus_2',
    messageId: 'm_2',
    subject: 'bob',
    type: 'approval_resolution',
    decision: 'approved',
    channel: 'http',
  };
  const second = answered(b.approve(), {
    messageId: 'm_2',
    subject: 'bob',
    channel: 'http',
    suspensionId: 'sus_2',
    at: later(3 * MINUTE),
  });
  const again = play(b.repended(b.APPROVAL), second);
  const loser = (suspensionId?: string) =>
    answered(b.reply('no, red'), { messageId: 'm_9', subject: 'eve', ...(suspensionId && { suspensionId }) });

  test.for<[string, ContinuationRecord, string | undefined, RefusalCode, object | undefined]>([
    ['while the turn runs', b.resuming(), 'sus_1', 'already_resumed', one],
    ['while the turn runs, without naming it', b.resuming(), undefined, 'already_resumed', one],
    ['while the follow-up is delivered', b.delivering(), 'sus_1', 'already_resumed', one],
    ['while the outcome is unknown', b.uncertain(), 'sus_1', 'already_resumed', one],
    ['after a re-pend', b.repended(b.APPROVAL), 'sus_1', 'stale_suspension', one],
    ['while the second turn runs, about the first suspension', again, 'sus_1', 'already_resumed', one],
    ['while the second turn runs, about the second suspension', again, 'sus_2', 'already_resumed', two],
    [
      'after the end, about the first suspension',
      play(again, b.turnFailed({ turnId: b.TURN_2 })),
      'sus_1',
      'already_terminal',
      one,
    ],
    [
      'after the end, about the second suspension',
      play(again, b.turnFailed({ turnId: b.TURN_2 })),
      'sus_2',
      'already_terminal',
      two,
    ],
    [
      'after the end, without naming it',
      play(again, b.turnFailed({ turnId: b.TURN_2 })),
      undefined,
      'already_terminal',
      two,
    ],
    ['after it expired, about the answered suspension', b.ends().expired, 'sus_1', 'expired', one],
    ['after it expired, about the suspension that nobody answered', b.ends().expired, 'sus_2', 'expired', undefined],
    ['about a suspension that never was', b.repended(b.APPROVAL), 'sus_77', 'stale_suspension', undefined],
  ])('the loser is told who won the suspension he means: %s', ([, record, suspensionId, code, winner]) => {
    const refusal = refused(step(record, loser(suspensionId)));
    expect(refusal.code).toBe(code);
    if (winner) expect(refusal.winner).toMatchObject(winner);
    else expect(refusal.winner).toBeUndefined();
  });

  test('a winner is told without what was said', () => {
    const winner = refused(step(b.resuming(), loser('sus_1'))).winner!;
    expect(Object.keys(winner).sort()).toEqual([
      'acceptedAt',
      'channel',
      'contentDigest',
      'messageId',
      'receivedAt',
      'subject',
      'suspensionId',
      'type',
      'verified',
    ]);
    expect(JSON.stringify(refused(step(b.resuming(), loser('sus_1'))))).not.toContain('blue');
  });
});

describe('repeats', () => {
  const accepted = b.resuming();

  test('the same message with the same content gets its first outcome, however often and however late', () => {
    for (const record of [accepted, b.repended(), b.delivering(), ...Object.values(b.ends())]) {
      const outcome = b.repeated(step(record, answered(b.reply(), { at: later(50 * HOUR) })));
      expect(outcome).toMatchObject({ messageId: 'm_1', suspensionId: 'sus_1', acceptedAt: later(MINUTE) });
    }
  });

  test('the same message id with other content is a conflict that names what was accepted under it', () => {
    const refusal = refused(step(accepted, answered(b.reply('the red one'))));
    expect(refusal).toMatchObject({ code: 'message_conflict', winner: { messageId: 'm_1', suspensionId: 'sus_1' } });
  });

  test('the same message id of another person is another message', () => {
    expect(verdict(accepted, answered(b.reply(), { subject: 'bob' }))).toBe('already_resumed');
    expect(verdict(b.repended(b.REPLY), answered(b.reply(), { subject: 'bob', suspensionId: 'sus_2' }))).toBe(
      'resuming',
    );
  });

  test('a refused message is forgotten: it may be sent again, with other content', () => {
    const record = first({ waitFor: b.APPROVAL });
    expect(verdict(record, answered(b.reply()))).toBe('wrong_trigger');
    expect(verdict(record, answered(b.approve()))).toBe('resuming');
  });
});

describe('correlation', () => {
  test.for<[string, WaitCondition, ContinuationEvent]>([
    ['approvalId', b.APPROVAL, answered(b.approve('appr_2'))],
    ['approvalId of a denial', b.APPROVAL, answered(b.deny('appr_2'))],
    ['operationId', b.RESULT, answered(b.result('op_2'))],
    ['replyWith', b.AGENT, answered(b.agentReply('rw_2'))],
    ['wakeUpId', b.WAKE, answered(b.wake('wake_2'))],
    ['wakeUpId of a timed wake', b.TIMED_WAKE, answered(b.wake('wake_2'))],
    [
      'correlationKey',
      { type: 'user_reply', correlationKey: 'thread_1' },
      answered({ ...b.reply(), correlationKey: 'thread_2' } as never),
    ],
    ['an absent correlationKey', { type: 'user_reply', correlationKey: 'thread_1' }, answered(b.reply())],
  ])('another %s is refused and costs no attempt', ([, waitFor, event]) => {
    const record = first({ waitFor });
    expect(verdict(record, event)).toBe('wrong_correlation');
    expect(ok(step(record, answered(b.matching(waitFor)))).bounds.resumeAttempts).toBe(1);
  });

  test('a reply with a correlation key answers a wait that set none', () => {
    expect(verdict(first(), answered({ ...b.reply(), correlationKey: 'thread_2' } as never))).toBe('resuming');
  });
});

describe('denial', () => {
  const denial = answered(b.deny(), { subject: 'bob', at: later(MINUTE) });

  test('by default ends the continuation without a turn or an attempt, and keeps who denied', () => {
    const record = play(first({ waitFor: b.APPROVAL }), denial);
    expect(record).toMatchObject({
      status: 'cancelled',
      terminalReason: 'approval_denied',
      delivery: { status: 'not_applicable' },
      bounds: { resumeAttempts: 0 },
      lineage: ['turn_0'],
      answers: [{ decision: 'denied', subject: 'bob', suspensionId: 'sus_1', acceptedAt: later(MINUTE) }],
    });
    expect(record.resume).toBeUndefined();
    expect(next(record)).toEqual({ do: 'finish' });
  });

  test('is the winner whom a later approval is told', () => {
    const refusal = refused(
      step(play(first({ waitFor: b.APPROVAL }), denial), answered(b.approve(), { messageId: 'm_2' })),
    );
    expect(refusal).toMatchObject({ code: 'already_terminal', winner: { decision: 'denied', subject: 'bob' } });
  });

  test('with onDenied tell_model resumes the turn and uses an attempt', () => {
    const record = play(first({ waitFor: b.APPROVAL, bounds: { onDenied: 'tell_model' } }), denial);
    expect(record).toMatchObject({
      status: 'resuming',
      bounds: { resumeAttempts: 1 },
      answers: [{ decision: 'denied' }],
    });
    expect(next(record)).toEqual({ do: 'runTurn', turnId: b.TURN_1 });
  });

  test('needs the right approvalId, the right suspension and time, as an approval does', () => {
    const record = b.repended(b.APPROVAL);
    expect(verdict(record, answered(b.deny(), { messageId: 'm_2' }))).toBe('suspension_required');
    expect(verdict(record, answered(b.deny(), { messageId: 'm_2', suspensionId: 'sus_2', at: later(30 * HOUR) }))).toBe(
      'expired',
    );
  });

  test('an agent that refuses is an answer, not a denial', () => {
    const refusal = answered({ type: 'agent_reply', replyWith: 'rw_1', performative: 'refuse' });
    expect(play(first({ waitFor: b.AGENT }), refusal)).toMatchObject({
      status: 'resuming',
      answers: [{ decision: 'refuse' }],
    });
  });
});

describe('in time is in time (C4)', () => {
  const deadline = later(HOUR);
  test.for<[string, string, string, string]>([
    ['one millisecond before the deadline', later(HOUR - 1), later(HOUR - 1), 'resuming'],
    ['at the deadline', deadline, deadline, 'expired'],
    ['after the deadline', later(HOUR + 1), later(HOUR + 1), 'expired'],
    ['given in time and handled long after the deadline', later(HOUR - 1), later(9 * HOUR), 'resuming'],
    ['given at the deadline and handled after it', deadline, later(9 * HOUR), 'expired'],
    [
      'given, by a clock ahead of ours, after the deadline but handled before it',
      later(5 * HOUR),
      later(MINUTE),
      'resuming',
    ],
    ['given, by a clock behind ours, before the question was asked', later(-9 * HOUR), later(MINUTE), 'resuming'],
  ])('an answer %s: %s', ([, receivedAt, at, outcome]) => {
    expect(verdict(first(), answered(b.reply(), { receivedAt, at }))).toBe(outcome);
  });

  test('an answer stamped before the suspension counts from its beginning, so it cannot revive an expired one', () => {
    const record = { ...first(), suspension: { ...first().suspension, createdAt: later(2 * HOUR) } };
    expect(verdict(record, answered(b.reply(), { receivedAt: later(-HOUR), at: later(3 * HOUR) }))).toBe('expired');
  });

  test('a message without a stamp counts when it is handled', () => {
    expect(verdict(first(), answered(b.reply(), { at: later(HOUR) }))).toBe('expired');
    expect(verdict(first(), answered(b.reply(), { at: later(HOUR - 1) }))).toBe('resuming');
  });

  test('a deadline given at create is kept to the millisecond', () => {
    const record = first({ bounds: { expiresAt: later(5 * MINUTE) } });
    expect(verdict(record, answered(b.reply(), { at: later(5 * MINUTE - 1) }))).toBe('resuming');
    expect(verdict(record, answered(b.reply(), { at: later(5 * MINUTE) }))).toBe('expired');
  });

  test('a continuation that never expires takes an answer years later', () => {
    const record = first({ bounds: { neverExpires: true } });
    expect(next(record)).toEqual({ do: 'wait' });
    expect(verdict(record, answered(b.reply(), { at: '2036-01-01T00:00:00.000Z' }))).toBe('resuming');
  });

  test('a refusal for time changes nothing: the deadline event ends it, not the late answer', () => {
    const record = b.deepFreeze(first());
    expect(refused(step(record, answered(b.reply(), { at: deadline }))).status).toBe('pending');
    expect(play(record, b.timer('expired', deadline))).toMatchObject({ status: 'expired', revision: 2 });
  });
});

describe('the first record', () => {
  test.for<[WaitCondition['type'], WaitCondition, number]>([
    ['user_reply', b.REPLY, HOUR],
    ['approval_resolution', b.APPROVAL, 24 * HOUR],
    ['external_result', b.RESULT, HOUR],
    ['agent_reply', b.AGENT, HOUR],
    ['scheduled_wake', b.WAKE, HOUR],
  ])('of %s waits for its default time', ([type, waitFor, ms]) => {
    expect(DEFAULT_TTL[type]).toBe(ms);
    expect(first({ waitFor }).bounds.expiresAt).toBe(later(ms));
  });

  test('has the documented defaults', () => {
    expect(first()).toMatchObject({
      status: 'pending',
      schemaVersion: 1,
      revision: 1,
      createdAt: NOON,
      updatedAt: NOON,
      lineage: ['turn_0'],
      answers: [],
      origin: { turnId: 'turn_0', outcome: 'needs_clarification', createdAt: NOON },
    });
    expect(first().bounds).toEqual({
      expiresAt: later(HOUR),
      maxResumeAttempts: 3,
      resumeAttempts: 0,
      onExpiry: 'expire',
      onDenied: 'stop',
      onExhausted: 'fail',
      resumeBudgetMs: 15 * MINUTE,
      turnTimeoutMs: 10 * MINUTE,
      deliveryBudgetMs: HOUR,
      extensions: 0,
    });
    expect(DEFAULT_BOUNDS.maxResumeAttempts).toBe(3);
  });

  test('resumes at the deadline by default only when it waits for an agent', () => {
    const onExpiry = b.EVERY_WAIT.map((waitFor) => first({ waitFor }).bounds.onExpiry);
    expect(onExpiry).toEqual(['expire', 'expire', 'expire', 'resume', 'expire']);
    expect(first({ waitFor: b.AGENT, bounds: { onExpiry: 'expire' } }).bounds.onExpiry).toBe('expire');
  });

  test('of a timed wake expires one hour after the wake', () => {
    expect(first({ waitFor: b.TIMED_WAKE }).bounds.expiresAt).toBe(later(3 * HOUR));
  });

  test('of a wake in the past expires one hour after the pause, and the wake is due at once', () => {
    const record = first({ waitFor: { type: 'scheduled_wake', wakeUpId: 'wake_1', wakeAt: later(-5 * HOUR) } });
    expect(record.bounds.expiresAt).toBe(later(HOUR));
    expect(verdict(record, b.timer('woke', NOON))).toBe('resuming');
  });

  test('takes each bound that is given, and a member that is undefined as not given', () => {
    const bounds = {
      maxResumeAttempts: 7,
      onDenied: 'tell_model',
      onExhausted: 'hold',
      turnTimeoutMs: 5,
      ttl: { user_reply: 60_000 },
    } as const;
    expect(first({ bounds }).bounds).toMatchObject({ ...bounds, expiresAt: later(MINUTE) });
    const absent = { maxResumeAttempts: undefined, expiresAt: undefined } as never;
    expect(first({ bounds: absent }).bounds).toEqual(first().bounds);
  });

  test('that never expires has no deadline', () => {
    const { bounds } = first({ bounds: { neverExpires: true, ttl: { user_reply: 5 } } });
    expect(bounds).toMatchObject({ neverExpires: true });
    expect(bounds).not.toHaveProperty('expiresAt');
  });

  test.for<[string, b.First, string]>([
    ['a deadline in the past', { bounds: { expiresAt: later(-1) } }, 'bounds.expiresAt'],
    ['a deadline at this very moment', { bounds: { expiresAt: NOON } }, 'bounds.expiresAt'],
    ['no attempt left', { bounds: { maxResumeAttempts: 2, resumeAttempts: 2 } }, 'bounds.resumeAttempts'],
    ['a wake at its deadline', { waitFor: b.TIMED_WAKE, bounds: { expiresAt: later(2 * HOUR) } }, 'bounds.expiresAt'],
    ['a wake after its deadline', { waitFor: b.TIMED_WAKE, bounds: { expiresAt: later(HOUR) } }, 'bounds.expiresAt'],
  ])('with %s is refused, with the path', ([, input, path]) => {
    expect(refused(b.firstStep(input))).toMatchObject({ code: 'invalid_input', path });
  });

  test('with a deadline one millisecond ahead, or one attempt left, is taken', () => {
    expect(first({ bounds: { expiresAt: later(1) } }).bounds.expiresAt).toBe(later(1));
    expect(first({ bounds: { maxResumeAttempts: 2, resumeAttempts: 1 } }).bounds.resumeAttempts).toBe(1);
    expect(first({ waitFor: b.TIMED_WAKE, bounds: { expiresAt: later(2 * HOUR + 1) } }).status).toBe('pending');
  });

  test('keeps that there is nothing to deliver', () => {
    const record = play(first({ delivery: { status: 'not_applicable' } }), answered(b.reply()), b.settled('completed'));
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'not_applicable' } });
  });
});

describe('the deadline', () => {
  test('expires the continuation from the very moment on, with the reason, and suppresses the follow-up', () => {
    const record = first();
    expect(next(record)).toEqual({ do: 'wait', at: later(HOUR), then: 'expired' });
    expect(verdict(record, b.timer('expired', later(HOUR - 1)))).toBe('wrong_trigger');
    expect(play(record, b.timer('expired', later(HOUR)))).toMatchObject({
      status: 'expired',
      terminalReason: 'expired_ttl',
      delivery: { status: 'suppressed_expired' },
      answers: [],
      bounds: { resumeAttempts: 0 },
    });
  });

  test('with onExpiry resume resumes the turn with no_answer and counts one attempt', () => {
    const record = first({ bounds: { onExpiry: 'resume' } });
    expect(next(record)).toEqual({ do: 'wait', at: later(HOUR), then: 'noAnswer' });
    expect(verdict(record, b.timer('expired', later(HOUR)))).toBe('wrong_trigger');
    expect(verdict(record, b.timer('noAnswer', later(HOUR - 1)))).toBe('wrong_trigger');
    const resumed = play(record, b.timer('noAnswer', later(HOUR)));
    expect(resumed).toMatchObject({
      status: 'resuming',
      bounds: { resumeAttempts: 1 },
      answers: [
        { type: 'no_answer', subject: 'system', suspensionId: 'sus_1', input: { trigger: { type: 'no_answer' } } },
      ],
    });
    expect(resumed.answers[0]).not.toHaveProperty('decision');
  });

  test('with onExpiry resume and no attempt left expires', () => {
    const record = first({ bounds: { onExpiry: 'resume' } });
    const spent = { ...record, bounds: { ...record.bounds, resumeAttempts: 3 } };
    expect(next(spent)).toMatchObject({ then: 'expired' });
    expect(verdict(spent, b.timer('noAnswer', later(HOUR)))).toBe('wrong_trigger');
    expect(play(spent, b.timer('expired', later(HOUR))).terminalReason).toBe('expired_ttl');
  });

  test('is never told as a denial, whatever onDenied says', () => {
    for (const onDenied of ['stop', 'tell_model'] as const) {
      const expired = play(first({ waitFor: b.APPROVAL, bounds: { onDenied } }), b.timer('expired', later(24 * HOUR)));
      expect(expired).toMatchObject({ status: 'expired', terminalReason: 'expired_ttl', answers: [] });
      const unanswered = play(
        first({ waitFor: b.APPROVAL, bounds: { onDenied, onExpiry: 'resume' } }),
        b.timer('noAnswer', later(24 * HOUR)),
      );
      expect(unanswered).toMatchObject({ status: 'resuming', answers: [{ type: 'no_answer' }] });
      expect(unanswered.answers[0]).not.toHaveProperty('decision');
    }
  });

  test('a later person is told that nobody answered in time', () => {
    const record = play(first({ bounds: { onExpiry: 'resume' } }), b.timer('noAnswer', later(HOUR)));
    expect(refused(step(record, answered(b.reply(), { at: later(2 * HOUR) })))).toMatchObject({
      code: 'already_resumed',
      winner: { type: 'no_answer', subject: 'system' },
    });
  });

  test('a timer of a suspension that was answered is refused, and nothing is lost', () => {
    expect(verdict(b.resuming(), b.timer('expired', later(HOUR)))).toBe('already_resumed');
    expect(verdict(b.repended(b.REPLY), b.timer('expired', later(HOUR)))).toBe('wrong_trigger');
  });
});

describe('wake', () => {
  test('fires at its own time, not at the deadline, and is not an expiry', () => {
    const record = first({ waitFor: b.TIMED_WAKE });
    expect(next(record)).toEqual({ do: 'wait', at: later(2 * HOUR), then: 'woke' });
    expect(verdict(record, b.timer('woke', later(2 * HOUR - 1)))).toBe('wrong_trigger');
    expect(play(record, b.timer('woke', later(2 * HOUR)))).toMatchObject({
      status: 'resuming',
      bounds: { resumeAttempts: 1 },
      answers: [{ type: 'scheduled_wake', subject: 'system' }],
    });
  });

  test('counts at its wake time: workers that were down past the deadline do not lose it', () => {
    const record = first({ waitFor: b.TIMED_WAKE });
    expect(verdict(record, b.timer('expired', later(9 * HOUR)))).toBe('wrong_trigger');
    expect(verdict(record, b.timer('woke', later(9 * HOUR)))).toBe('resuming');
  });

  test('from outside may come before its time, and after its deadline it is expired', () => {
    expect(verdict(first({ waitFor: b.TIMED_WAKE }), answered(b.wake(), { at: later(MINUTE) }))).toBe('resuming');
    expect(verdict(first({ waitFor: b.WAKE }), answered(b.wake(), { at: later(HOUR) }))).toBe('expired');
  });

  test('without a time waits for a message and expires like any other', () => {
    expect(next(first({ waitFor: b.WAKE }))).toEqual({ do: 'wait', at: later(HOUR), then: 'expired' });
    expect(verdict(first({ waitFor: b.WAKE }), b.timer('woke', later(HOUR)))).toBe('wrong_trigger');
  });

  test('fires although the continuation never expires', () => {
    expect(next(first({ waitFor: b.TIMED_WAKE, bounds: { neverExpires: true } }))).toMatchObject({
      at: later(2 * HOUR),
      then: 'woke',
    });
  });
});

describe('asking again', () => {
  const at = later(2 * MINUTE);

  test('opens a fresh pending state of the same continuation: its own wait, suspension, origin and deadline', () => {
    const record = b.repended(b.APPROVAL);
    expect(record).toMatchObject({
      id: b.CONTINUATION,
      status: 'pending',
      waitFor: b.APPROVAL,
      suspension: { id: 'sus_2', createdAt: at },
      continuation: { id: 'turn:sus_2' },
      origin: { turnId: b.TURN_1, outcome: 'awaiting_approval', createdAt: at },
      lineage: ['turn_0', b.TURN_1],
      bounds: { resumeAttempts: 1, expiresAt: later(24 * HOUR, at) },
      delivery: { status: 'pending_delivery' },
      lastResumedAt: later(MINUTE),
    });
    expect(record).not.toHaveProperty('resume');
  });

  test('keeps of earlier answers who won, not what they said', () => {
    const record = b.repended();
    expect(record.answers).toEqual([winnerOf(b.resuming().answers[0]!)]);
    expect(record.answers[0]).not.toHaveProperty('input');
    expect(resolution(record)).toBeUndefined();
  });

  test.for(b.EVERY_WAIT.flatMap((before) => b.EVERY_WAIT.map((now) => [before, now] as const)))(
    'from $0.type to $1.type waits for exactly what the new result says (C9)',
    ([before, now]) => {
      const record = b.repended(now, { waitFor: before });
      expect(record.waitFor).toEqual(now);
      for (const other of b.EVERY_WAIT) {
        const answer = answered(b.matching(other), { messageId: 'm_2', suspensionId: 'sus_2', at: later(3 * MINUTE) });
        expect(verdict(record, answer)).toBe(other.type === now.type ? 'resuming' : 'wrong_trigger');
      }
    },
  );

  test.for<[string, ContinuationEvent]>([
    [
      'a refused one',
      {
        ...b.asksAgain(b.APPROVAL),
        suspension: { ok: false, refusal: { code: 'invalid_input', message: 'an approval needs an approvalId' } },
      } as ContinuationEvent,
    ],
    [
      'none at all',
      {
        type: 'turnSettled',
        turnId: b.TURN_1,
        attempt: 1,
        at,
        startedAt: at,
        result: { outcome: 'awaiting_approval' },
        deliverable: true,
      },
    ],
  ])('a result that asks again with %s for a wait fails; it never waits for just any reply', ([, event]) => {
    expect(play(b.resuming(), event)).toMatchObject({
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      delivery: { status: 'not_applicable' },
      resume: { error: { code: 'invalid_input' } },
      waitFor: b.REPLY,
    });
  });

  test('counts answers over the whole life: the third answer is the last, and nobody is asked a question after it', () => {
    let record: ContinuationRecord = first();
    for (const n of [1, 2, 3]) {
      const turnId = `${b.CONTINUATION}:resume:${n}`;
      record = play(
        record,
        answered(b.reply(), { messageId: `m_${n}`, suspensionId: record.suspension.id, at: later(n * MINUTE) }),
      );
      expect(record).toMatchObject({ status: 'resuming', bounds: { resumeAttempts: n }, resume: { turnId } });
      record = play(record, b.asksAgain(b.REPLY, { turnId, suspensionId: `sus_${n + 1}`, at: later(n * MINUTE) }));
    }
    expect(record).toMatchObject({
      status: 'failed',
      terminalReason: 'max_resume_attempts_reached',
      resume: { error: { code: 'attempts_exhausted' } },
      delivery: { status: 'not_applicable' },
      bounds: { resumeAttempts: 3 },
      lineage: ['turn_0', b.TURN_1, b.TURN_2, `${b.CONTINUATION}:resume:3`],
    });
  });

  test('needs the name of the suspension that is answered', () => {
    const record = b.repended(b.APPROVAL);
    expect(verdict(record, answered(b.approve(), { messageId: 'm_2' }))).toBe('suspension_required');
    expect(verdict(record, answered(b.approve(), { messageId: 'm_2', suspensionId: 'sus_1' }))).toBe(
      'stale_suspension',
    );
    expect(verdict(record, answered(b.approve(), { messageId: 'm_2', suspensionId: 'sus_2' }))).toBe('resuming');
  });

  test('a first suspension may be named or not, with or without its digest', () => {
    const record = first();
    expect(verdict(record, answered(b.reply()))).toBe('resuming');
    expect(
      verdict(record, answered(b.reply(), { suspensionId: 'sus_1', suspensionDigest: record.suspension.digest })),
    ).toBe('resuming');
    expect(verdict(record, answered(b.reply(), { suspensionId: 'sus_2' }))).toBe('stale_suspension');
    expect(verdict(record, answered(b.reply(), { suspensionDigest: b.ref('x').digest }))).toBe('digest_mismatch');
  });

  test('uses the ttl table given at create', () => {
    const record = b.repended(b.APPROVAL, { bounds: { ttl: { approval_resolution: 5 * MINUTE } } });
    expect(record.bounds.expiresAt).toBe(later(5 * MINUTE, at));
  });

  test('does not use the deadline given at create: that was for the first suspension', () => {
    const record = b.repended(b.REPLY, { bounds: { expiresAt: later(90 * 24 * HOUR) } });
    expect(record.bounds.expiresAt).toBe(later(HOUR, at));
  });

  test('counts a timed wake from the wake', () => {
    expect(b.repended(b.TIMED_WAKE).bounds.expiresAt).toBe(later(3 * HOUR));
  });

  test('never expires when its creator said so, for life', () => {
    const { bounds } = b.repended(b.APPROVAL, { bounds: { neverExpires: true, ttl: { approval_resolution: 5 } } });
    expect(bounds.neverExpires).toBe(true);
    expect(bounds).not.toHaveProperty('expiresAt');
  });

  test('carries every other term unchanged', () => {
    const terms = {
      maxResumeAttempts: 9,
      onDenied: 'tell_model',
      onExhausted: 'hold',
      onExpiry: 'resume',
      startWithinMs: 4,
      resumeBudgetMs: 5,
      turnTimeoutMs: 6,
      deliveryBudgetMs: 7,
    } as const;
    expect(b.repended(b.APPROVAL, { bounds: terms }).bounds).toMatchObject(terms);
  });
});

describe('extending', () => {
  test('moves the deadline later, and the timer with it', () => {
    const record = play(first(), b.extended(later(2 * HOUR)));
    expect(record).toMatchObject({
      status: 'pending',
      bounds: { expiresAt: later(2 * HOUR), extensions: 1 },
      revision: 2,
    });
    expect(next(record)).toEqual({ do: 'wait', at: later(2 * HOUR), then: 'expired' });
    expect(verdict(record, b.timer('expired', later(HOUR)))).toBe('wrong_trigger');
    expect(verdict(record, answered(b.reply(), { at: later(90 * MINUTE) }))).toBe('resuming');
  });

  test.for<[string, ContinuationRecord, string, RefusalCode]>([
    ['earlier', first(), later(HOUR - 1), 'invalid_input'],
    ['to where it is', first(), later(HOUR), 'invalid_input'],
    ['of what never expires', first({ bounds: { neverExpires: true } }), later(2 * HOUR), 'invalid_input'],
    ['while the turn runs', b.resuming(), later(2 * HOUR), 'already_resumed'],
    ['after the end', b.ends().cancelled, later(2 * HOUR), 'already_terminal'],
  ])('a deadline %s is refused', ([, record, expiresAt, code]) => {
    expect(verdict(record, b.extended(expiresAt))).toBe(code);
  });

  test('at the deadline is too late', () => {
    expect(verdict(first(), b.extended(later(2 * HOUR), later(HOUR)))).toBe('expired');
    expect(verdict(first(), b.extended(later(2 * HOUR), later(HOUR - 1)))).toBe('pending');
  });

  test('works 20 times in a life, re-pends included, and not once more', () => {
    expect(MAX_EXTENSIONS).toBe(20);
    let record: ContinuationRecord = first();
    for (let n = 1; n <= 10; n++) record = play(record, b.extended(later(HOUR + n)));
    record = play(record, answered(b.reply()), b.asksAgain(b.REPLY));
    expect(record.bounds.extensions).toBe(10);
    for (let n = 1; n <= 10; n++) record = play(record, b.extended(later(9 * HOUR + n)));
    expect(refused(step(record, b.extended(later(20 * HOUR))))).toMatchObject({ code: 'invalid_input' });
    expect(verdict(record, answered(b.reply(), { messageId: 'm_2', suspensionId: 'sus_2', at: later(8 * HOUR) }))).toBe(
      'resuming',
    );
  });

  test('an answered continuation names its winner', () => {
    expect(refused(step(b.resuming(), b.extended(later(2 * HOUR)))).winner).toMatchObject({ messageId: 'm_1' });
  });
});

describe('stopping', () => {
  const table: Array<[TerminalReason, ContinuationRecord['status'], ContinuationRecord['delivery']['status']]> = [
    ['completed', 'completed', 'not_applicable'],
    ['cancelled_by_user', 'cancelled', 'not_applicable'],
    ['cancelled_by_product', 'cancelled', 'not_applicable'],
    ['approval_denied', 'cancelled', 'not_applicable'],
    ['expired_ttl', 'expired', 'suppressed_expired'],
    ['superseded_by_newer_turn', 'superseded', 'suppressed_superseded'],
    ['session_no_longer_deliverable', 'failed', 'suppressed_session_reengaged'],
    ['delivery_failed', 'failed', 'delivery_failed'],
    ['invalid_resume_trigger', 'failed', 'not_applicable'],
    ['max_resume_attempts_reached', 'failed', 'not_applicable'],
    ['resume_runtime_error', 'failed', 'not_applicable'],
  ];

  test.for(table)('with %s: status %s, delivery %s', ([reason, status, delivery]) => {
    const end = { status, terminalReason: reason, delivery: { status: delivery, target: { surfaceIds: ['chat_1'] } } };
    const waiting = play(first(), b.stopped(reason));
    expect(waiting).toMatchObject({ ...end, revision: 2, updatedAt: later(3 * MINUTE) });
    expect(next(waiting)).toEqual({ do: 'finish' });
    expect(play(b.repended(), b.stopped(reason))).toMatchObject(end);
    expect(play(b.resuming(), b.turnClosed(reason))).toMatchObject({ ...end, resume: { turnId: b.TURN_1 } });
    expect(play(b.uncertain(), b.turnClosed(reason))).toMatchObject({
      ...end,
      resume: { uncertain: { cause: 'lost' } },
    });
    const nothingToDeliver = play(first({ delivery: { status: 'not_applicable' } }), b.stopped(reason));
    expect(nothingToDeliver).toMatchObject({ status, delivery: { status: 'not_applicable' } });
    for (const record of [waiting, nothingToDeliver]) expect(ContinuationRecord.parse(record)).toEqual(record);
  });

  test('is idempotent: the first reason is kept and nothing is written', () => {
    for (const record of Object.values(b.ends())) {
      expect(ok(step(record, { ...b.stopped('delivery_failed'), metadata: { by: 'second' } }))).toBe(record);
    }
  });

  test('merges its metadata into what is there, and names what superseded it', () => {
    const record = first({ metadata: { a: 1, b: { c: 2 } } });
    const stop = {
      ...b.stopped('superseded_by_newer_turn'),
      metadata: { b: 3, d: 4 },
      supersededBy: b.OTHER_CONTINUATION,
    };
    expect(play(record, stop)).toMatchObject({ metadata: { a: 1, b: 3, d: 4 }, supersededBy: b.OTHER_CONTINUATION });
    const close = {
      ...b.turnClosed('superseded_by_newer_turn'),
      metadata: { b: 3 },
      supersededBy: b.OTHER_CONTINUATION,
    };
    expect(play(b.resuming({ metadata: { a: 1 } }), close)).toMatchObject({
      metadata: { a: 1, b: 3 },
      supersededBy: b.OTHER_CONTINUATION,
    });
  });

  test('keeps why it was ended from outside', () => {
    const error = { code: 'workflow_terminated', message: 'terminated by an operator' };
    const end = { status: 'failed', terminalReason: 'resume_runtime_error', error };
    expect(play(first(), { ...b.stopped('resume_runtime_error'), error })).toMatchObject(end);
    expect(play(b.resuming(), { ...b.turnClosed('resume_runtime_error'), error })).toMatchObject(end);
  });

  test('does not cut a turn that runs: the turn has to be closed', () => {
    expect(refused(step(b.resuming(), b.stopped('cancelled_by_user')))).toMatchObject({
      code: 'already_resumed',
      status: 'resuming',
    });
  });

  test.for<[TerminalReason, string | undefined]>([
    ...table.map(([reason]): [TerminalReason, string | undefined] => {
      if (reason === 'superseded_by_newer_turn') return [reason, 'suppressed_superseded'];
      return [reason, reason === 'session_no_longer_deliverable' ? 'suppressed_session_reengaged' : undefined];
    }),
  ])('with %s during delivery: delivery %s; the status that the turn earned stays', ([reason, delivery]) => {
    for (const outcome of ['completed', 'failed'] as const) {
      const record = b.delivering(outcome);
      const now = ok(step(record, b.stopped(reason)));
      if (!delivery) expect(now).toBe(record);
      else
        expect(now).toMatchObject({
          status: outcome,
          terminalReason: outcome === 'completed' ? 'completed' : 'resume_runtime_error',
          delivery: { status: delivery },
        });
    }
  });
});

describe('the turn', () => {
  const error = { code: 'harness_error', message: 'the model is gone' };

  test('that completes or fails is delivered before the continuation ends', () => {
    for (const outcome of ['completed', 'failed'] as const) {
      const record = play(b.resuming(), b.settled(outcome, { attempt: 2 }));
      expect(record).toMatchObject({
        status: 'resuming',
        delivery: { status: 'pending_delivery' },
        resume: { outcome, attempt: 2 },
      });
      expect(next(record)).toEqual({ do: 'deliver', deliveryId: b.TURN_1 });
    }
  });

  test.for<['completed' | 'failed', string]>([
    ['completed', 'completed'],
    ['failed', 'resume_runtime_error'],
  ])('that %s with nothing to deliver or no one to deliver it ends at once as %s', ([outcome, terminalReason]) => {
    const end = { status: outcome, terminalReason, delivery: { status: 'not_applicable' }, resume: { outcome } };
    expect(play(b.resuming({ delivery: { status: 'not_applicable' } }), b.settled(outcome))).toMatchObject(end);
    expect(play(b.resuming(), b.settled(outcome, { deliverable: false }))).toMatchObject(end);
  });

  test('that throws fails the continuation and keeps the cause; there is nothing to deliver', () => {
    const end = {
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      delivery: { status: 'not_applicable' },
      resume: { error },
    };
    expect(play(b.resuming(), b.turnFailed())).toMatchObject(end);
    expect(play(b.resuming(), b.turnFailed({ exhausted: true }))).toMatchObject(end);
    expect(play(b.resuming({ bounds: { onExhausted: 'hold' } }), b.turnFailed())).toMatchObject(end);
  });

  test('whose retries are exhausted is held for an operator when its creator wants that; the answer is kept', () => {
    const record = play(b.resuming({ bounds: { onExhausted: 'hold' } }), b.turnFailed({ exhausted: true, attempt: 4 }));
    expect(record).toMatchObject({
      status: 'resuming',
      resume: { attempt: 4, error, uncertain: { cause: 'exhausted', at: later(2 * MINUTE) } },
    });
    expect(resolution(record)?.input).toEqual({ trigger: b.reply() });
    expect(next(record)).toEqual({ do: 'askOperator', turnId: b.TURN_1 });
  });

  test('is tried again with the same answer and no further attempt count after a transient failure', () => {
    const record = play(b.resuming(), b.attemptEnded({ attempt: 1 }));
    expect(record).toMatchObject({
      status: 'resuming',
      bounds: { resumeAttempts: 1 },
      resume: { attempt: 1, error: { code: 'transient' } },
    });
    expect(resolution(record)?.input).toEqual({ trigger: b.reply() });
    expect(next(record)).toEqual({ do: 'runTurn', turnId: b.TURN_1 });
  });

  test('that succeeds in the end does not carry the error of an attempt before', () => {
    const record = play(
      b.resuming(),
      b.attemptEnded({ attempt: 1 }),
      b.settled('completed', { attempt: 2 }),
      b.delivered(),
    );
    expect(record).toMatchObject({ status: 'completed', resume: { attempt: 2, outcome: 'completed' } });
    expect(record.resume).not.toHaveProperty('error');
  });

  test('with an unknown outcome is neither success nor failure: it waits for an operator (C8)', () => {
    const record = b.uncertain();
    expect(record).toMatchObject({
      status: 'resuming',
      delivery: { status: 'pending_delivery' },
      resume: { uncertain: { cause: 'lost' } },
    });
    expect(next(record)).toEqual({ do: 'askOperator', turnId: b.TURN_1 });
  });

  test('of another id is refused in every way it can end', () => {
    const other = { turnId: b.TURN_2 };
    const events = [
      b.attemptEnded(other),
      b.settled('completed', other),
      b.asksAgain(b.REPLY, other),
      b.turnFailed(other),
      b.turnUncertain(other),
      b.turnClosed('completed', other),
    ];
    for (const event of events) expect(verdict(b.resuming(), event)).toBe('already_resumed');
  });

  test('has to start within the window its creator set, counted from the answer', () => {
    expect(next(b.resuming({ bounds: { startWithinMs: 5 * MINUTE } }))).toEqual({
      do: 'runTurn',
      turnId: b.TURN_1,
      startBy: later(6 * MINUTE),
    });
    const expired = play(
      b.resuming({ bounds: { startWithinMs: 5 * MINUTE } }),
      b.turnClosed('expired_ttl', { at: later(6 * MINUTE) }),
    );
    expect(expired).toMatchObject({
      status: 'expired',
      terminalReason: 'expired_ttl',
      delivery: { status: 'suppressed_expired' },
    });
  });

  test('is not cut by the deadline of its question', () => {
    expect(verdict(b.resuming(), b.settled('completed', { at: later(9 * HOUR) }))).toBe('resuming');
  });
});

describe('delivery', () => {
  test.for<[Parameters<typeof b.delivered>[0], 'completed' | 'failed']>(
    (
      [
        'delivered',
        'suppressed_session_reengaged',
        'suppressed_superseded',
        'suppressed_expired',
        'delivery_failed',
        'not_applicable',
      ] as const
    ).flatMap((status) => [
      [status, 'completed'] as [typeof status, 'completed'],
      [status, 'failed'] as [typeof status, 'failed'],
    ]),
  )('that ends as %s leaves the %s status that the turn earned', ([status, outcome]) => {
    const record = play(b.delivering(outcome), b.delivered(status, { attemptedAt: later(3 * MINUTE) }));
    expect(record).toMatchObject({
      status: outcome,
      terminalReason: outcome === 'completed' ? 'completed' : 'resume_runtime_error',
      delivery: { status, target: { surfaceIds: ['chat_1'] }, lastDeliveryAttemptAt: later(3 * MINUTE) },
    });
    expect(ContinuationRecord.parse(record)).toEqual(record);
  });

  test('is stamped when it was delivered, and only then', () => {
    const at = later(4 * MINUTE);
    expect(play(b.delivering(), b.delivered('delivered', { at })).delivery.deliveredAt).toBe(at);
    expect(play(b.delivering(), b.delivered('delivered', { at, deliveredAt: later(1) })).delivery.deliveredAt).toBe(
      later(1),
    );
    expect(
      play(b.delivering(), b.delivered('delivery_failed', { at, deliveredAt: later(1) })).delivery,
    ).not.toHaveProperty('deliveredAt');
  });

  test('keeps the error and the metadata of the adapter', () => {
    const record = play(
      b.delivering(),
      b.delivered('delivery_failed', { error: 'no such chat', metadata: { chat: 7 } }),
    );
    expect(record.delivery).toMatchObject({ error: 'no such chat', metadata: { chat: 7 } });
  });

  test('with no recorded end is told as failed and uncertain, because it may have arrived (C7)', () => {
    expect(play(b.delivering(), b.deliveryUncertain())).toMatchObject({
      status: 'completed',
      delivery: { status: 'delivery_failed', uncertain: true, error: 'the worker died' },
    });
  });

  test('of another follow-up is refused', () => {
    expect(verdict(b.delivering(), b.delivered('delivered', { deliveryId: b.TURN_2 }))).toBe('already_resumed');
    expect(verdict(b.delivering(), b.deliveryUncertain({ deliveryId: b.TURN_2 }))).toBe('already_resumed');
  });
});

describe('time', () => {
  test('never goes back in a record, whatever clock an event brings', () => {
    const early = later(-HOUR);
    const events = [
      answered(b.reply(), { at: early }),
      b.settled('completed', { at: early }),
      b.delivered('delivered', { at: early }),
    ];
    let record: ContinuationRecord = first();
    for (const event of events) {
      record = play(record, event);
      expect(record.updatedAt).toBe(NOON);
    }
    expect(record).toMatchObject({ status: 'completed', revision: 4 });
    expect(play(first(), b.stopped('cancelled_by_user', early)).updatedAt).toBe(NOON);
  });

  test('a deadline beyond the last year that can be written is that year, so the record still parses', () => {
    const last = '9999-12-31T23:59:59.000Z';
    const record = b.repended({ type: 'scheduled_wake', wakeUpId: 'wake_1', wakeAt: last });
    expect(ContinuationRecord.parse(record)).toEqual(record);
    expect(record.bounds.expiresAt! > last).toBe(true);
    expect(next(record)).toMatchObject({ at: last, then: 'woke' });
  });
});

test('terminal means that nothing more happens', () => {
  for (const record of Object.values(b.ends())) {
    expect(isTerminal(record)).toBe(true);
    expect(next(record)).toEqual({ do: 'finish' });
  }
  for (const record of [first(), b.resuming(), b.uncertain(), b.delivering()]) expect(isTerminal(record)).toBe(false);
});
