/** Several calls in one pause (001): one answer decides every one of them, as they were seen (000, 001 §2.3). */
import { describe, expect, test } from 'vitest';
import { step } from '../src/continuation.ts';
import { digestText } from '../src/digest.ts';
import {
  type AskedCall,
  ContinuationRecord,
  HarnessResult,
  type ResumableResult,
  type Trigger,
} from '../src/schema.ts';
import { describePause } from '../src/suspend.ts';
import * as b from './support/builders.ts';
import { answered, call, first, NOON, ok, refused } from './support/builders.ts';

const approvalOf = (...pending: string[]) =>
  first({ waitFor: b.APPROVAL, pending: pending.map((id) => call(id, `{"of":"${id}"}`)) });
const decide = (...calls: unknown[]): Trigger =>
  ({ type: 'approval_resolution', approvalId: 'appr_1', calls }) as Trigger;
const yes = (callId: string, more = {}) => ({ callId, decision: 'approved', ...more });
const no = (callId: string, more = {}) => ({ callId, decision: 'denied', ...more });
const outcomes = (...calls: unknown[]): Trigger => ({ type: 'external_result', operationId: 'op_1', calls }) as Trigger;

describe('an answer decides every pending call', () => {
  test('in any order, each once; the record keeps them in the order in which they were made', () => {
    const record = ok(step(approvalOf('a', 'b', 'c'), answered(decide(yes('c'), no('a'), yes('b')))));
    expect(record).toMatchObject({ status: 'resuming', bounds: { resumeAttempts: 1 } });
    expect(record.answers[0]).toMatchObject({
      decision: 'mixed',
      calls: [
        { id: 'a', decision: 'denied' },
        { id: 'b', decision: 'approved' },
        { id: 'c', decision: 'approved' },
      ],
    });
    expect(ContinuationRecord.parse(record)).toEqual(record);
  });

  test.for<[string, Trigger, string]>([
    ['missing', decide(yes('a')), 'call b (refund) is not decided'],
    ['extra', decide(yes('a'), yes('b'), yes('x')), 'no call x waits here'],
    ['duplicate', decide(yes('a'), no('a'), yes('b')), 'a call is decided more than once'],
    ['not named at all', b.approve(), '2 calls wait: decide each of them in calls'],
  ])('%s: refused, and nothing is consumed (C2)', ([, trigger, message]) => {
    const record = approvalOf('a', 'b');
    expect(refused(step(record, answered(trigger)))).toMatchObject({ code: 'calls_mismatch', message });
    expect(step(record, answered(decide(yes('a'), yes('b'))))).toMatchObject({ ok: true });
  });

  test('two calls of one tool with equal arguments stay two calls', () => {
    const record = first({ waitFor: b.APPROVAL, pending: [call('a'), call('b')] });
    expect(refused(step(record, answered(decide(yes('a'))))).code).toBe('calls_mismatch');
    expect(ok(step(record, answered(decide(yes('b'), no('a'))))).answers[0]?.calls).toHaveLength(2);
  });

  test('every one denied ends it, unless the model is to be told; one approved among them resumes', () => {
    const denied = answered(decide(no('a'), no('b', { reason: 'too much' })));
    expect(ok(step(approvalOf('a', 'b'), denied))).toMatchObject({
      status: 'cancelled',
      terminalReason: 'approval_denied',
      answers: [{ decision: 'denied' }],
    });
    const told = first({ waitFor: b.APPROVAL, pending: [call('a'), call('b')], bounds: { onDenied: 'tell_model' } });
    expect(ok(step(told, denied))).toMatchObject({ status: 'resuming', answers: [{ decision: 'denied' }] });
  });

  test('results, errors and "run it after all" of calls that somebody else makes', () => {
    const record = first({ waitFor: b.RESULT, pending: [call('a'), call('b'), call('c')] });
    const trigger = outcomes(
      { callId: 'b', error: 'no such parcel' },
      { callId: 'c', execute: true },
      { callId: 'a', result: 1 },
    );
    expect(ok(step(record, answered(trigger))).answers[0]?.calls).toEqual([
      { id: 'a', decision: 'result' },
      { id: 'b', decision: 'error' },
      { id: 'c', decision: 'execute' },
    ]);
    expect(refused(step(record, answered(b.result()))).code).toBe('calls_mismatch');
  });

  test('the simple form decides the one call that waits', () => {
    expect(ok(step(approvalOf('a'), answered(b.approve()))).answers[0]?.calls).toEqual([
      { id: 'a', decision: 'approved' },
    ]);
    const external = first({ waitFor: b.RESULT, pending: [call('a')] });
    expect(ok(step(external, answered(b.result()))).answers[0]?.calls).toEqual([{ id: 'a', decision: 'result' }]);
  });
});

describe('what was seen is what runs', () => {
  test('an answer that names other arguments than the call has is refused', () => {
    const record = approvalOf('a');
    const seen = (argumentsDigest: string) => answered(decide(yes('a', { argumentsDigest })));
    expect(refused(step(record, seen(digestText('{"of":"b"}')))).code).toBe('digest_mismatch');
    expect(step(record, seen(digestText('{"of":"a"}')))).toMatchObject({ ok: true });
  });

  test('an edit has a digest of its own, and the call keeps the one of what was asked', () => {
    const edit = '{"amount": 20.00}';
    const record = approvalOf('a');
    for (const trigger of [decide(yes('a', { arguments: edit })), { ...b.approve(), arguments: edit } as Trigger]) {
      const after = ok(step(record, answered(trigger)));
      expect(after.answers[0]?.calls).toEqual([{ id: 'a', decision: 'approved', editedDigest: digestText(edit) }]);
      expect(after.suspension.pending[0]?.argumentsDigest).toBe(digestText('{"of":"a"}'));
    }
  });

  test('an edit of nothing is refused', () => {
    const trigger = { ...b.approve(), arguments: '{}' } as Trigger;
    expect(refused(step(first({ waitFor: b.APPROVAL }), answered(trigger))).code).toBe('calls_mismatch');
  });
});

describe('an answer that is taken (000, interactive)', () => {
  test('ends the continuation with the answer, uses an attempt, and leaves nothing to deliver', () => {
    const record = ok(step(first(), { ...answered(b.reply()), type: 'taken' }));
    expect(record).toMatchObject({
      status: 'completed',
      terminalReason: 'completed',
      bounds: { resumeAttempts: 1 },
      answers: [{ type: 'user_reply', subject: 'ann' }],
      delivery: { status: 'not_applicable' },
    });
    expect(record.resume).toBeUndefined();
    expect(ContinuationRecord.parse(record)).toEqual(record);
  });

  test('meets the same checks: a late one is told who won', () => {
    const taken = ok(step(first(), { ...answered(b.reply()), type: 'taken' }));
    const late = refused(step(taken, { ...answered(b.reply('red'), { messageId: 'm_2' }), type: 'taken' }));
    expect(late).toMatchObject({ code: 'already_terminal', winner: { messageId: 'm_1' } });
    expect(refused(step(first(), { ...answered(b.approve()), type: 'taken' })).code).toBe('wrong_trigger');
  });
});

describe('calls at the pause', () => {
  const stops = (outcome: string, pending: Partial<AskedCall>[], state: unknown = {}) =>
    HarnessResult.parse({ outcome, continuation: { state, pending } }) as ResumableResult;
  const asked = (id: string, more = {}): AskedCall => ({ id, name: `tool_${id}`, arguments: '{ "n": 1.0 }', ...more });
  const pauseOf = (result: ResumableResult) => {
    const pause = describePause(result, { turnId: 'turn_1', at: NOON });
    if ('ok' in pause) throw new Error(JSON.stringify(pause.refusal));
    return pause;
  };
  const refusalOf = (result: ResumableResult) => {
    const pause = describePause(result, { turnId: 'turn_1', at: NOON });
    return 'ok' in pause ? pause.refusal : undefined;
  };

  test('are kept verbatim, in order, and name the wait: one by its id, several by their pause', () => {
    const one = pauseOf(stops('awaiting_approval', [asked('c1')])).asked;
    expect(one.waitFor).toEqual({ type: 'approval_resolution', approvalId: 'c1' });
    expect(one.suspension).toMatchObject({ question: 'tool_c1', pending: [{ id: 'c1', arguments: '{ "n": 1.0 }' }] });
    const { waitFor, suspension } = pauseOf(stops('awaiting_approval', [asked('c2'), asked('c1')])).asked;
    expect(waitFor).toEqual({ type: 'approval_resolution', approvalId: suspension.id });
    expect(suspension.pending.map(({ id }) => id)).toEqual(['c2', 'c1']);
    expect(pauseOf(stops('deferred', [asked('c1'), asked('c2')])).asked.waitFor).toMatchObject({
      type: 'external_result',
    });
    expect(pauseOf(stops('deferred', [asked('c1', { replyWith: 'rw' })])).asked.waitFor).toEqual({
      type: 'agent_reply',
      replyWith: 'rw',
    });
  });

  test('for two reasons are refused with both tools named, before anything is visible (001)', () => {
    const calls = [asked('a', { reason: 'approval_resolution' }), asked('b', { reason: 'external_result' })];
    expect(refusalOf(stops('awaiting_approval', calls))).toMatchObject({
      code: 'invalid_input',
      path: 'harnessResult.continuation.pending',
      message: 'holds calls for two reasons: tool_a (approval_resolution) and tool_b (external_result)',
    });
  });

  test.for<[string, string, Partial<AskedCall>[], string]>([
    ['another reason than the outcome', 'awaiting_approval', [asked('a', { reason: 'user_reply' })], ''],
    [
      'only one of them with a reason',
      'awaiting_approval',
      [asked('a'), asked('b', { reason: 'external_result' })],
      '',
    ],
    ['the same id twice', 'awaiting_approval', [asked('a'), asked('a')], '[1].id'],
    ['two questions to a person', 'needs_clarification', [asked('a'), asked('b')], ''],
    ['two questions to agents', 'deferred', [asked('a', { replyWith: 'x' }), asked('b', { replyWith: 'y' })], ''],
  ])('with %s are refused', ([, outcome, pending, at]) => {
    expect(refusalOf(stops(outcome, pending))).toMatchObject({
      code: 'invalid_input',
      path: `harnessResult.continuation.pending${at}`,
    });
  });

  test('that are long are kept by reference, so that the record stays small (C12)', () => {
    const long = '7'.repeat(4000);
    const pending = Array.from({ length: 32 }, (_, n) => asked(`c${n}`, { arguments: long }));
    const pause = pauseOf(stops('awaiting_approval', pending));
    const kept = pause.asked.suspension.pending;
    expect(kept.filter((one) => typeof one.arguments === 'string')).toHaveLength(4);
    expect(JSON.stringify(pause.asked).length).toBeLessThan(32 * 1024);
    expect(pause.contents.some(({ bytes }) => Buffer.from(bytes).toString() === long)).toBe(true);
  });
});
