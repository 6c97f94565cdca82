import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_EXTENSIONS, next, step } from '../src/continuation.ts';
import { digestJson } from '../src/digest.ts';
import type { ContinuationEvent, Step } from '../src/events.ts';
import { isTerminal, winnerOf } from '../src/record.ts';
import {
  type Answer,
  ContinuationRecord,
  DeliveryResult,
  Message,
  RefusalCode,
  TerminalReason,
  type Trigger,
  type WaitCondition,
} from '../src/schema.ts';
import * as b from './support/builders.ts';
import { HOUR, later, MINUTE, NOON } from './support/builders.ts';

/* What can be asked */

const few = (...values: string[]) => fc.constantFrom(...values);
const instant = fc.oneof(
  fc.integer({ min: -2 * HOUR, max: 30 * HOUR }).map((ms) => later(ms)),
  fc.constantFrom(NOON, later(HOUR - 1), later(HOUR), later(HOUR + 1), later(24 * HOUR)),
);
const wait: fc.Arbitrary<WaitCondition> = fc.oneof(
  fc.record(
    { type: fc.constant('user_reply' as const), correlationKey: few('k_1', 'k_2') },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constant('approval_resolution' as const), approvalId: few('appr_1', 'appr_2') }),
  fc.record({ type: fc.constant('external_result' as const), operationId: few('op_1', 'op_2') }),
  fc.record(
    { type: fc.constant('agent_reply' as const), replyWith: few('rw_1', 'rw_2'), responder: fc.constant('a_1') },
    { requiredKeys: ['type', 'replyWith'] },
  ),
  fc.record(
    { type: fc.constant('scheduled_wake' as const), wakeUpId: few('wake_1', 'wake_2'), wakeAt: instant },
    { requiredKeys: ['type', 'wakeUpId'] },
  ),
) as fc.Arbitrary<WaitCondition>;

const deadlineOrNever = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 20 * HOUR }).map((ms) => ({ expiresAt: later(ms) })) },
  { weight: 1, arbitrary: fc.constant({ neverExpires: true as const }) },
);
const terms = fc.record(
  {
    maxResumeAttempts: fc.integer({ min: 1, max: 5 }),
    resumeAttempts: fc.integer({ min: 0, max: 2 }),
    onExpiry: fc.constantFrom('expire' as const, 'resume' as const),
    onDenied: fc.constantFrom('stop' as const, 'tell_model' as const),
    onExhausted: fc.constantFrom('fail' as const, 'hold' as const),
    startWithinMs: fc.integer({ min: 1, max: HOUR }),
    ttl: fc.constantFrom({ user_reply: MINUTE }, { approval_resolution: 10 * MINUTE, scheduled_wake: 1 }),
  },
  { requiredKeys: [] },
);
const delivery = fc.constantFrom<ContinuationRecord['delivery'] & { status: 'pending_delivery' | 'not_applicable' }>(
  { status: 'pending_delivery', target: { surfaceIds: ['chat_1'], suppressIfSessionReengaged: true } },
  { status: 'not_applicable' },
);
const first: fc.Arbitrary<ContinuationRecord> = fc
  .record({ waitFor: wait, bounds: fc.tuple(deadlineOrNever, terms).map(([a, c]) => ({ ...a, ...c })), delivery })
  .map((input) => b.firstStep(input))
  .filter((result): result is Extract<Step, { ok: true }> => result.ok)
  .map(({ record }) => record);

/* What can happen: mostly what fits the record, sometimes anything */

const anyTrigger: fc.Arbitrary<Trigger> = fc.oneof(
  fc.record(
    {
      type: fc.constant('user_reply' as const),
      message: fc.record({ text: fc.string() }),
      correlationKey: few('k_1', 'k_2'),
    },
    { requiredKeys: ['type', 'message'] },
  ) as fc.Arbitrary<Trigger>,
  few('appr_1', 'appr_2', 'appr_3').map(b.approve),
  few('appr_1', 'appr_2').map(b.deny),
  few('op_1', 'op_2', 'op_3').map(b.result),
  few('rw_1', 'rw_2').map(b.agentReply),
  few('wake_1', 'wake_2').map(b.wake),
);
const mostly = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

type Recipe = (record: ContinuationRecord, count: number) => ContinuationEvent;

const answering: fc.Arbitrary<Recipe> = fc
  .record({
    trigger: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom<'fits' | 'denies'>('fits', 'fits', 'denies') },
      { weight: 2, arbitrary: anyTrigger },
    ),
    suspension: mostly<'current' | 'first' | 'none' | 'unknown'>('current', 'first', 'none', 'unknown'),
    digest: mostly<'none' | 'current' | 'other'>('none', 'current', 'other'),
    id: fc.oneof(fc.constant(undefined), few('m_1', 'm_2')),
    subject: mostly('ann', 'bob'),
    at: instant,
    receivedAt: fc.oneof(fc.constant(undefined), instant),
  })
  .map(({ trigger, suspension, digest, id, subject, at, receivedAt }) => (record, count) => {
    const { waitFor } = record;
    const denies = trigger === 'denies' && waitFor.type === 'approval_resolution';
    const fitting = denies ? b.deny(waitFor.approvalId) : b.matching(waitFor);
    const named = { current: record.suspension.id, first: 'sus_1', none: undefined, unknown: 'sus_unknown' }[
      suspension
    ];
    const seen = { none: undefined, current: record.suspension.digest, other: digestJson('other') }[digest];
    return b.answered(typeof trigger === 'string' ? fitting : trigger, {
      messageId: id ?? `m:${count}`,
      subject,
      at,
      ...(named !== undefined && { suspensionId: named }),
      ...(seen !== undefined && { suspensionDigest: seen }),
      ...(receivedAt !== undefined && { receivedAt }),
    });
  });

const ofTurn = fc.record({
  turn: mostly<'current' | 'other'>('current', 'other'),
  attempt: fc.integer({ min: 1, max: 4 }),
  at: instant,
});
const turnOf = (record: ContinuationRecord, turn: 'current' | 'other') =>
  (turn === 'current' && record.resume?.turnId) || 'turn_other';
const reason = fc.constantFrom(...TerminalReason.options);
const turning: fc.Arbitrary<Recipe> = fc.oneof(
  {
    weight: 2,
    arbitrary: ofTurn.map(
      ({ turn, ...of }): Recipe =>
        (record) =>
          b.attemptEnded({ ...of, turnId: turnOf(record, turn) }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(ofTurn, fc.constantFrom('completed' as const, 'failed' as const), fc.boolean()).map(
      ([{ turn, ...of }, outcome, deliverable]): Recipe =>
        (record) =>
          b.settled(outcome, { ...of, turnId: turnOf(record, turn), deliverable }),
    ),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(ofTurn, wait).map(
      ([{ turn, ...of }, waitFor]): Recipe =>
        (record, count) =>
          b.asksAgain(waitFor, { ...of, turnId: turnOf(record, turn), suspensionId: `sus:${count}` }),
    ),
  },
  {
    weight: 1,
    arbitrary: ofTurn.map(
      ({ turn, ...of }): Recipe =>
        (record) => {
          const refusal = { code: 'invalid_input', message: 'nothing to wait for' } as const;
          return {
            ...b.asksAgain(b.APPROVAL, { ...of, turnId: turnOf(record, turn) }),
            suspension: { ok: false, refusal },
          } as ContinuationEvent;
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(ofTurn, fc.boolean()).map(
      ([{ turn, ...of }, exhausted]): Recipe =>
        (record) =>
          b.turnFailed({ ...of, turnId: turnOf(record, turn), exhausted }),
    ),
  },
  {
    weight: 1,
    arbitrary: ofTurn.map(
      ({ turn, ...of }): Recipe =>
        (record) =>
          b.turnUncertain({ ...of, turnId: turnOf(record, turn) }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(ofTurn, reason).map(
      ([{ turn, ...of }, why]): Recipe =>
        (record) =>
          b.turnClosed(why, { ...of, turnId: turnOf(record, turn) }),
    ),
  },
);

const timing: fc.Arbitrary<Recipe> = fc
  .tuple(
    fc.constantFrom('woke' as const, 'noAnswer' as const, 'expired' as const),
    fc.oneof(fc.constant('due' as const), instant),
  )
  .map(
    ([type, when]): Recipe =>
      (record) => {
        const due = next(record);
        if (when === 'due' && due.do === 'wait' && due.at && due.then) return b.timer(due.then, due.at);
        return b.timer(type, when === 'due' ? later(HOUR) : when);
      },
  );

const deciding: fc.Arbitrary<Recipe> = fc.oneof(
  fc.tuple(reason, instant, fc.boolean()).map(
    ([why, at, more]): Recipe =>
      () => ({ ...b.stopped(why, at), ...(more && { metadata: { why }, supersededBy: b.OTHER_CONTINUATION }) }),
  ),
  {
    weight: 4,
    arbitrary: fc.tuple(instant, instant).map(
      ([to, at]): Recipe =>
        () =>
          b.extended(to, at),
    ),
  },
);

const delivering: fc.Arbitrary<Recipe> = fc
  .tuple(
    fc.constantFrom(...DeliveryResult.shape.status.options, 'not_applicable' as const, 'lost' as const),
    mostly<'current' | 'other'>('current', 'other'),
    instant,
  )
  .map(
    ([status, turn, at]): Recipe =>
      (record) => {
        const deliveryId = turnOf(record, turn);
        if (status === 'lost') return b.deliveryUncertain({ deliveryId, at });
        return b.delivered(status, { deliveryId, at, attemptedAt: at, error: 'e', metadata: { n: 1 } });
      },
  );

const recipes = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: answering },
    { weight: 6, arbitrary: turning },
    { weight: 1, arbitrary: timing },
    { weight: 1, arbitrary: deciding },
    { weight: 2, arbitrary: delivering },
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
);

interface Moment {
  readonly before: ContinuationRecord;
  readonly event: ContinuationEvent;
  readonly result: Step;
  readonly record: ContinuationRecord;
}

/** A life: every event is met with frozen inputs, so that a rule that changes one throws. */
function live(start: ContinuationRecord, life: readonly Recipe[]): Moment[] {
  let record = b.deepFreeze(start);
  return life.map((recipe, count) => {
    const before = record;
    const event = b.deepFreeze(recipe(before, count));
    const result = step(before, event);
    if (result.ok) record = b.deepFreeze(result.record);
    return { before, event, result, record };
  });
}

function everyLife(
  holds: (moments: Moment[], start: ContinuationRecord) => void,
  parameters: fc.Parameters<[ContinuationRecord, Recipe[]]> = { numRuns: 200 },
): void {
  const lives = fc.property(first, recipes, (start, life) => holds(live(start, life), start));
  fc.assert(lives, parameters);
}

/* What holds in every life */

test('the lives that are tried reach every status, every kind of refusal and several suspensions', () => {
  const seen = new Set<string>();
  everyLife(
    (moments) => {
      for (const { result, record, event } of moments) {
        seen.add(record.status).add(result.ok ? `taken ${event.type}` : (result.refusal?.code ?? 'repeated'));
        if (!result.ok) seen.add(`refused ${event.type}`);
        if (isTerminal(record)) seen.add(record.terminalReason).add(record.delivery.status);
        seen.add(`${record.answers.length} answers`);
      }
    },
    { numRuns: 1500, seed: 1 },
  );
  const types: ContinuationEvent['type'][] = [
    'answered',
    'woke',
    'noAnswer',
    'expired',
    'stopped',
    'extended',
    'attemptEnded',
    'turnSettled',
    'turnFailed',
    'turnUncertain',
    'turnClosed',
    'delivered',
    'deliveryUncertain',
  ];
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'pending',
      'resuming',
      'completed',
      'cancelled',
      'expired',
      'superseded',
      'failed',
      'repeated',
      '0 answers',
      '4 answers',
      ...TerminalReason.options,
      'not_applicable',
      'delivered',
      'suppressed_session_reengaged',
      'suppressed_superseded',
      'suppressed_expired',
      'delivery_failed',
      ...types.map((type) => `taken ${type}`),
      ...types.filter((type) => type !== 'stopped').map((type) => `refused ${type}`),
      'message_conflict',
      'already_terminal',
      'already_resumed',
      'suspension_required',
      'stale_suspension',
      'digest_mismatch',
      'wrong_trigger',
      'wrong_correlation',
    ]),
  );
});

test('step answers every event, and every record it makes parses as it is', () => {
  everyLife((moments, start) => {
    expect(ContinuationRecord.parse(start)).toEqual(start);
    for (const { result, event, before } of moments) {
      expect(next(before).do).toMatch(/^(wait|runTurn|askOperator|deliver|finish)$/);
      if (event.type === 'answered') expect(Message.parse(event.message)).toEqual(event.message);
      if (result.ok) expect(ContinuationRecord.parse(JSON.parse(JSON.stringify(result.record)))).toEqual(result.record);
      else if (result.refusal) expect(RefusalCode.options).toContain(result.refusal.code);
      else expect(result.repeated).toBeDefined();
    }
  });
});

test('a taken event moves the revision by exactly one and the time never back; only a stop may be taken without a change', () => {
  everyLife((moments) => {
    for (const { before, event, result } of moments) {
      if (!result.ok) continue;
      const { record } = result;
      if (record === before) {
        expect(event.type).toBe('stopped');
        continue;
      }
      expect(record.revision).toBe(before.revision + 1);
      expect(record.updatedAt).toBe([event.at, before.updatedAt].sort()[1]);
      expect(record.id).toBe(before.id);
      expect(record.createdAt).toBe(before.createdAt);
      expect(record.lineage.slice(0, before.lineage.length)).toEqual(before.lineage);
    }
  });
});

test('C1: a suspension has one winner, whom every later answer to it is told', () => {
  everyLife((moments) => {
    const winners = new Map<string, Answer>();
    for (const { before, event, result, record } of moments) {
      const added = record.answers.slice(before.answers.length);
      expect(added.length).toBeLessThanOrEqual(1);
      expect(record.answers.slice(0, before.answers.length).map(winnerOf)).toEqual(before.answers.map(winnerOf));
      for (const answer of added) {
        expect(before.status).toBe('pending');
        expect(answer.suspensionId).toBe(before.suspension.id);
        expect(winners.has(answer.suspensionId)).toBe(false);
        winners.set(answer.suspensionId, answer);
      }
      if (event.type !== 'answered' || result.ok || !result.refusal) continue;
      const { code, winner } = result.refusal;
      const named = event.message.suspensionId;
      const won = named === undefined ? undefined : winners.get(named);
      if (code === 'message_conflict') expect(winner?.messageId).toBe(event.answer.messageId);
      else if (won) expect(winner).toEqual(winnerOf(won));
      else if (named !== undefined) expect(winner).toBeUndefined();
    }
  });
});

test('C2: an answer that is refused leaves the question as answerable as it was', () => {
  everyLife((moments) => {
    for (const { before, event, result, record } of moments) {
      if (event.type !== 'answered' || result.ok) continue;
      expect(record).toBe(before);
      if (before.status !== 'pending' || before.bounds.resumeAttempts >= before.bounds.maxResumeAttempts) continue;
      const at = before.bounds.expiresAt === undefined ? NOON : later(-1, before.bounds.expiresAt);
      const right = b.answered(b.matching(before.waitFor), {
        messageId: 'm_right',
        suspensionId: before.suspension.id,
        at,
      });
      expect(step(before, right).ok).toBe(before.suspension.createdAt < (before.bounds.expiresAt ?? '9999'));
    }
  });
});

test('C4: an answer is in time exactly when the moment it was received lies before the deadline', () => {
  everyLife((moments) => {
    for (const { before, event, result } of moments) {
      if (event.type !== 'answered' || before.status !== 'pending') continue;
      const times = [event.answer.receivedAt, event.at].map(Date.parse);
      const counts = Math.max(Math.min(...times), Date.parse(before.suspension.createdAt));
      const inTime = before.bounds.expiresAt === undefined || counts < Date.parse(before.bounds.expiresAt);
      if (result.ok) expect(inTime).toBe(true);
      else if (result.refusal?.code === 'expired') expect(inTime).toBe(false);
      else if (/wrong_trigger|wrong_correlation|attempts_exhausted/.test(result.refusal?.code ?? ''))
        expect(inTime).toBe(true);
    }
  });
});

test('C4: the deadline ends a question only when it has come, and a wake comes no earlier than it was set', () => {
  everyLife((moments) => {
    for (const { before, event, result } of moments) {
      if (!result.ok) continue;
      if (event.type === 'expired' || event.type === 'noAnswer')
        expect(event.at >= (before.bounds.expiresAt ?? '9999')).toBe(true);
      if (event.type === 'woke')
        expect(before.waitFor.type === 'scheduled_wake' && event.at >= (before.waitFor.wakeAt ?? '9999')).toBe(true);
    }
  });
});

test('C9: what is waited for comes from the newest result alone, with a deadline ahead or none for life, and terms that only a re-pend or an extension touches', () => {
  everyLife((moments, start) => {
    for (const { before, event, result, record } of moments) {
      const { expiresAt, resumeAttempts, extensions, ...terms } = record.bounds;
      const { expiresAt: e, resumeAttempts: r, extensions: x, ...givenTerms } = start.bounds;
      expect(terms).toEqual(givenTerms);
      expect(extensions).toBeLessThanOrEqual(MAX_EXTENSIONS);
      expect(record.bounds.neverExpires).toBe(expiresAt === undefined ? true : undefined);
      if (event.type === 'turnSettled' && result.ok && result.record.status === 'pending') {
        if (!event.suspension?.ok) throw new Error('asks again without a question');
        const { waitFor, suspension, continuation } = event.suspension;
        expect(record).toMatchObject({ waitFor, suspension, continuation });
        if (expiresAt !== undefined) expect(expiresAt > event.at).toBe(true);
      } else {
        expect(record).toMatchObject({ waitFor: before.waitFor, suspension: before.suspension });
        if (event.type === 'extended' && result.ok) expect(expiresAt! > before.bounds.expiresAt!).toBe(true);
        else expect(expiresAt).toBe(before.bounds.expiresAt);
      }
    }
  });
});

test('attempts count the answers that were carried out, each with its own turn, and never exceed their limit', () => {
  everyLife((moments, start) => {
    for (const { record } of moments) {
      const { resumeAttempts, maxResumeAttempts } = record.bounds;
      const carriedOut = record.lineage.length - 1;
      const denied =
        record.status === 'cancelled' &&
        record.terminalReason === 'approval_denied' &&
        record.answers.length > carriedOut;
      expect(resumeAttempts - start.bounds.resumeAttempts).toBe(carriedOut);
      expect(record.answers.length).toBe(carriedOut + (denied ? 1 : 0));
      expect(new Set(record.lineage).size).toBe(record.lineage.length);
      expect(resumeAttempts).toBeLessThanOrEqual(maxResumeAttempts);
      if (record.status === 'pending') expect(resumeAttempts).toBeLessThan(maxResumeAttempts);
    }
  });
});

test('C10: what has ended stays as it is', () => {
  everyLife((moments) => {
    for (const { before, result, record } of moments) {
      if (!isTerminal(before)) continue;
      expect(record).toBe(before);
      if (!result.ok && result.refusal)
        expect(result.refusal.code).toMatch(/^(already_terminal|expired|message_conflict)$/);
    }
  });
});

test('C11: what has ended says what became of its follow-up, and what had nothing to deliver never claims that it did', () => {
  everyLife((moments, start) => {
    for (const { record } of moments) {
      if (isTerminal(record)) expect(record.delivery.status).not.toBe('pending_delivery');
      else expect(record.delivery).toEqual(start.delivery);
      if (start.delivery.status === 'not_applicable') expect(record.delivery.status).toBe('not_applicable');
      expect(record.delivery.target).toEqual(start.delivery.target);
    }
  });
});

test('the same life is the same however often it is lived: step has no memory and no clock', () => {
  everyLife((moments) => {
    for (const { before, event, result } of moments) expect(step(before, event)).toEqual(result);
  });
});

test('a digest of the message decides what a repeat is: the same message is repeated for ever, a changed one conflicts', () => {
  everyLife((moments) => {
    const accepted = moments.flatMap(({ event, result }) => (event.type === 'answered' && result.ok ? [event] : []));
    for (const { record } of moments.slice(-1)) {
      for (const event of accepted) {
        expect(b.repeated(step(record, event)).messageId).toBe(event.answer.messageId);
        const changed = { ...event, answer: { ...event.answer, contentDigest: digestJson('changed') } };
        expect(b.refused(step(record, changed)).code).toBe('message_conflict');
      }
    }
  });
});
