import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../src/digest.ts';
import type { ContinuationEvent } from '../src/events.ts';
import { decisionReceipts, receipt } from '../src/receipts.ts';
import type { ContinuationRecord } from '../src/schema.ts';
import * as b from './support/builders.ts';
import { answered, first, HOUR, later, MINUTE, NOON, play } from './support/builders.ts';

const body = (record: ContinuationRecord, kind: Parameters<typeof receipt>[0]) =>
  JSON.parse(receipt(kind, record).body);
const decided = (record: ContinuationRecord) => decisionReceipts(record).map(({ kind, cause }) => `${kind}|${cause}`);

describe('the receipt of', () => {
  test('a create says what was asked, of whom and until when', () => {
    const record = first({ waitFor: b.APPROVAL });
    expect(receipt('created', record)).toEqual({
      kind: 'created',
      cause: 'created',
      at: NOON,
      body: canonicalJson({
        kind: 'created',
        continuationId: b.CONTINUATION,
        at: NOON,
        scope: 'tenant=acme',
        originTurnId: 'turn_0',
        suspensionId: 'sus_1',
        suspensionDigest: record.suspension.digest,
        waitFor: b.APPROVAL,
        expiresAt: later(24 * HOUR),
      }),
    });
  });

  test('an accepted answer says who decided what, when, by which channel, for which suspension and revision', () => {
    const record = play(
      first({ waitFor: b.APPROVAL }),
      answered(b.approve(), { subject: 'bob', channel: 'http', receivedAt: later(1) }),
    );
    expect(receipt('admitted', record).cause).toBe('admitted:sus_1');
    expect(body(record, 'admitted')).toEqual({
      kind: 'admitted',
      continuationId: b.CONTINUATION,
      at: later(MINUTE),
      suspensionDigest: record.suspension.digest,
      revision: 2,
      answer: {
        messageId: 'm_1',
        contentDigest: record.answers[0]?.contentDigest,
        suspensionId: 'sus_1',
        type: 'approval_resolution',
        decision: 'approved',
        subject: 'bob',
        verified: true,
        channel: 'http',
        receivedAt: later(1),
        acceptedAt: later(MINUTE),
      },
    });
  });

  test('an accepted answer does not repeat what was said', () => {
    expect(receipt('admitted', b.resuming()).body).not.toContain('blue');
  });

  test.for<[string, ContinuationRecord, string, string | undefined]>([
    ['a completed turn', b.delivering('completed'), 'completed', undefined],
    ['a failed turn', b.delivering('failed'), 'failed', undefined],
    ['a turn that asks again', b.repended(b.APPROVAL), 'awaiting_approval', undefined],
    ['a turn that threw', play(b.resuming(), b.turnFailed()), 'failed', 'harness_error'],
    [
      'a turn that succeeded at the second attempt',
      play(b.resuming(), b.attemptEnded(), b.settled('completed', { attempt: 2 })),
      'completed',
      undefined,
    ],
  ])('%s says which turn and how it ended', ([, record, outcome, error]) => {
    expect(receipt('settled', record).cause).toBe(`settled:${b.TURN_1}`);
    const facts = body(record, 'settled');
    expect(facts).toMatchObject({ turnId: b.TURN_1, outcome });
    expect(facts.error?.code).toBe(error);
  });

  test('an attempt is one per turn and attempt', () => {
    const [one, two] = [1, 2].map((attempt) =>
      receipt('attempt_ended', play(b.resuming(), b.attemptEnded({ attempt }))),
    );
    expect(one?.cause).toBe(`attempt_ended:${b.TURN_1}:1`);
    expect(two?.cause).toBe(`attempt_ended:${b.TURN_1}:2`);
    expect(JSON.parse(one?.body ?? '')).toMatchObject({ attempt: 1, error: { code: 'transient' } });
  });

  test('an unknown outcome says of which attempt and why', () => {
    expect(receipt('uncertain', b.uncertain()).cause).toBe(`uncertain:${b.TURN_1}:1`);
    expect(body(b.uncertain(), 'uncertain')).toMatchObject({
      turnId: b.TURN_1,
      attempt: 1,
      uncertain: { cause: 'lost' },
    });
  });

  test('a new question is one per suspension', () => {
    expect(receipt('opened', b.repended(b.APPROVAL))).toMatchObject({ cause: 'opened:sus_2' });
    expect(body(b.repended(b.APPROVAL), 'opened')).toMatchObject({ suspensionId: 'sus_2', waitFor: b.APPROVAL });
  });

  test('a follow-up says what became of it', () => {
    const record = play(b.delivering(), b.delivered('delivery_failed', { error: 'no such chat' }));
    expect(receipt('delivered', record).cause).toBe(`delivered:${b.TURN_1}`);
    expect(body(record, 'delivered')).toMatchObject({
      deliveryId: b.TURN_1,
      delivery: { status: 'delivery_failed', error: 'no such chat' },
    });
  });

  test('an expiry says of which suspension, and when it was due', () => {
    expect(body(play(first(), b.timer('expired', later(HOUR))), 'expired')).toMatchObject({
      suspensionId: 'sus_1',
      expiresAt: later(HOUR),
    });
  });

  test('a stop says why, and of which turn', () => {
    expect(body(b.ends().cancelled, 'stopped')).toMatchObject({ reason: 'cancelled_by_user' });
    expect(body(play(b.resuming(), b.turnClosed('cancelled_by_product')), 'stopped')).toMatchObject({
      reason: 'cancelled_by_product',
      turnId: b.TURN_1,
    });
  });
});

describe('what a workflow decides by itself leaves', () => {
  const denial = answered(b.deny(), { messageId: 'm_2', suspensionId: 'sus_2', at: later(3 * MINUTE) });
  test.for<[string, ContinuationRecord, ContinuationEvent[], string[]]>([
    ['a fresh pause', first(), [], ['created|created']],
    ['an answer', first(), [answered(b.reply())], ['admitted|admitted:sus_1']],
    [
      'no answer in time',
      first({ bounds: { onExpiry: 'resume' } }),
      [b.timer('noAnswer', later(HOUR))],
      ['admitted|admitted:sus_1'],
    ],
    ['a re-pend', b.repended(b.APPROVAL), [], ['opened|opened:sus_2']],
    ['an expiry', first(), [b.timer('expired', later(HOUR))], ['expired|expired']],
    ['a stop', first(), [b.stopped('cancelled_by_user')], ['stopped|stopped']],
    ['a supersede', first(), [b.stopped('superseded_by_newer_turn')], ['stopped|stopped']],
    ['a denial', first({ waitFor: b.APPROVAL }), [answered(b.deny())], ['admitted|admitted:sus_1', 'stopped|stopped']],
    ['a denial after a re-pend', b.repended(b.APPROVAL), [denial], ['admitted|admitted:sus_2', 'stopped|stopped']],
    [
      'a stop as denied, without an answer',
      first({ waitFor: b.APPROVAL }),
      [b.stopped('approval_denied')],
      ['stopped|stopped'],
    ],
    [
      'a stop as denied, after an answer to the question before',
      b.repended(b.APPROVAL),
      [b.stopped('approval_denied')],
      ['stopped|stopped'],
    ],
    [
      'a turn closed as denied',
      b.resuming({ waitFor: b.APPROVAL }),
      [b.turnClosed('approval_denied')],
      ['stopped|stopped'],
    ],
  ])('%s: %j', ([, record, events, receipts]) => {
    expect(decided(play(record, ...events))).toEqual(receipts);
  });
});

test('two writers of one fact write the same bytes, whatever the order of members in what they read', () => {
  const record = play(first({ waitFor: b.APPROVAL }), answered(b.approve()));
  const shuffle = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffle);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, member]) => [key, shuffle(member)]),
    );
  };
  const stored = shuffle(JSON.parse(JSON.stringify(record))) as ContinuationRecord;
  for (const kind of ['admitted', 'settled', 'opened', 'stopped', 'delivered'] as const) {
    expect(receipt(kind, stored)).toEqual(receipt(kind, record));
  }
});
