import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { parseInput } from '../src/parse.ts';
import {
  Bounds,
  ContinuationId,
  ContinuationRecord,
  CreateInput,
  DeliveryResult,
  ExtendInput,
  HarnessResult,
  Instant,
  MAX_METADATA_BYTES,
  MAX_RESUME_ATTEMPTS,
  Message,
  ResumeInput,
  Scope,
  StopInput,
  WaitCondition,
} from '../src/schema.ts';
import * as b from './support/builders.ts';
import { later, NOON } from './support/builders.ts';

/** The place that a caller is told, when `value` is refused. */
function placeIn(schema: ZodType, value: unknown): string | undefined {
  const parsed = parseInput(schema, value);
  return parsed.ok ? undefined : parsed.refusal.path;
}
function messageOf(schema: ZodType, value: unknown): string {
  const parsed = parseInput(schema, value);
  return parsed.ok ? '' : parsed.refusal.message;
}
/** `value` with the member at `path` set to `member`. */
function change<T>(value: T, path: string, member: unknown): T {
  const copy = structuredClone(value);
  const keys = path.split('.');
  const last = keys.pop()!;
  const holder = keys.reduce<Record<string, unknown>>(
    (at, key) => {
      at[key] ??= {};
      return at[key] as Record<string, unknown>;
    },
    copy as Record<string, unknown>,
  );
  if (member === undefined) delete holder[last];
  else holder[last] = member;
  return copy;
}

describe('an instant', () => {
  test.for<[unknown, string]>([
    ['2026-12-01T12:00:00Z', NOON],
    ['2026-12-01T12:00:00.000Z', NOON],
    ['2026-12-01T13:00:00+01:00', NOON],
    ['2026-12-01T06:30:00-05:30', NOON],
    ['2026-12-01T12:00:00.0009999Z', NOON],
    ['2026-12-01T12:00:00.1Z', '2026-12-01T12:00:00.100Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    [new Date(NOON), NOON],
  ])('%s is kept as %s', ([given, kept]) => expect(Instant.parse(given)).toBe(kept));

  test.for<[string, unknown]>([
    ['words', 'tomorrow'],
    ['nothing', ''],
    ['no offset', '2026-12-01T12:00:00'],
    ['a day', '2026-12-01'],
    ['the 30th of February', '2026-02-30T00:00:00Z'],
    ['the 29th of February of a common year', '2026-02-29T00:00:00Z'],
    ['hour 24', '2026-12-01T24:00:00Z'],
    ['a leap second', '2026-12-31T23:59:60Z'],
    ['a number', 1_764_590_400_000],
    ['NaN', Number.NaN],
    ['a date without a time', new Date(Number.NaN)],
    ['the year 10000', '9999-12-31T23:59:59-01:00'],
    ['a date of the year 275760', new Date(8.64e15)],
    ['a year before the first', '0000-01-01T00:00:00+01:00'],
  ])('%s is refused', ([, given]) => expect(Instant.safeParse(given).success).toBe(false));

  test('keeps its order as text, and what comes out goes in again', () => {
    const date = fc.date({
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(date, date, (one, two) => {
        const [a, c] = [Instant.parse(one), Instant.parse(two)];
        expect(a < c).toBe(one < two);
        expect(Instant.parse(a)).toBe(a);
      }),
    );
  });
});

describe('scopes and ids', () => {
  test.for([
    'app=default',
    'tenant=acme/workspace=w1',
    'a=1/b=2/c=3/d=4/e=5/f=6/g=7/h=8',
    `a=${'x'.repeat(64)}`,
    'a_-9=A.Z~_-',
  ])('%s is a scope', (scope) => expect(Scope.safeParse(scope).success).toBe(true));
  test.for([
    '',
    'app',
    'app=',
    '=x',
    '/app=x',
    'app=x/',
    'a=1//b=2',
    'App=x',
    'a=b c',
    'a=b%',
    'a=ü',
    'a=1\n',
    'a=1/b=2/c=3/d=4/e=5/f=6/g=7/h=8/i=9',
    `a=${'x'.repeat(65)}`,
  ])('%j is no scope', (scope) => expect(Scope.safeParse(scope).success).toBe(false));
  test.for([
    '',
    'cont_',
    'cont_01kbcdefghjkmnpqrstvwxyz01',
    'cont_01KBCDEFGHJKMNPQRSTVWXYZ0I',
    'cont_01KBCDEFGHJKMNPQRSTVWXYZ011',
    '01KBCDEFGHJKMNPQRSTVWXYZ01',
    "cont_01KBCDEFGHJKMNPQRSTVWXYZ0'",
  ])('%j is no continuation id', (id) => expect(ContinuationId.safeParse(id).success).toBe(false));
  test('an id made by us is one', () => expect(ContinuationId.parse(b.CONTINUATION)).toBe(b.CONTINUATION));
});

describe('what is given to create', () => {
  const input = {
    assistantId: 'support',
    originTurnId: 'turn_0',
    harnessResult: { outcome: 'deferred', continuation: { state: { operationId: 'op_1' } } },
  };

  test('is taken as source 002 writes it, and unknown members of the result are left out', () => {
    const full = {
      ...input,
      scope: 'tenant=acme',
      sessionId: 's',
      threadId: 't',
      userId: 'u',
      idempotencyKey: 'k',
      delivery: { surfaceIds: ['chat_1'], fanoutMode: 'attached_surfaces', suppressIfSessionReengaged: true },
      bounds: { expiresAt: '2026-12-01T13:00:00+01:00', maxResumeAttempts: 5, resumeAttempts: 1 },
      metadata: { a: 1 },
    };
    const harnessResult = {
      ...input.harnessResult,
      turnId: 'turn_0',
      stopReason: 'max_iterations_reached',
      assistantMessage: { text: 'one moment', format: 'markdown' },
      traceSummary: { iterationCount: 6 },
      usage: { toolCalls: 2 },
      somethingNew: true,
    };
    const parsed = CreateInput.parse({ ...full, harnessResult });
    expect(parsed.bounds?.expiresAt).toBe(NOON);
    const { somethingNew, ...known } = harnessResult;
    expect(parsed.harnessResult).toEqual(known);
    expect(placeIn(CreateInput, { ...full, delivery: false })).toBeUndefined();
  });

  test.for<[string, unknown, string]>([
    ['an unparsable deadline', 'soon', 'bounds.expiresAt'],
    ['a deadline that is no time', Number.NaN, 'bounds.expiresAt'],
    ['no attempts', 0, 'bounds.maxResumeAttempts'],
    ['a negative number of attempts', -1, 'bounds.maxResumeAttempts'],
    ['half an attempt', 1.5, 'bounds.maxResumeAttempts'],
    ['NaN attempts', Number.NaN, 'bounds.maxResumeAttempts'],
    ['endless attempts', Number.POSITIVE_INFINITY, 'bounds.maxResumeAttempts'],
    ['more attempts than a record can hold', MAX_RESUME_ATTEMPTS + 1, 'bounds.maxResumeAttempts'],
    ['attempts as text', '3', 'bounds.maxResumeAttempts'],
    ['NaN attempts used', Number.NaN, 'bounds.resumeAttempts'],
    ['negative attempts used', -1, 'bounds.resumeAttempts'],
    ['a turn without time', 0, 'bounds.turnTimeoutMs'],
    ['a wait without time', 0, 'bounds.ttl.user_reply'],
    ['a time for a wait that does not exist', 1, 'bounds.ttl'],
    ['an unknown choice', 'maybe', 'bounds.onDenied'],
    ['never expires, said by halves', false, 'bounds.neverExpires'],
    ['an empty assistant', '', 'assistantId'],
    ['an empty turn', '', 'originTurnId'],
    ['an empty session', '', 'sessionId'],
    ['an empty key', '', 'idempotencyKey'],
    ['an id of 129 characters', 'x'.repeat(129), 'originTurnId'],
    ['an id with U+0000', 'a\u0000', 'userId'],
    ['an id with a lone surrogate', '\ud800', 'threadId'],
    ['a scope that is none', 'acme', 'scope'],
    ['metadata that is no object', 'a', 'metadata'],
    ['metadata that is a list', [], 'metadata'],
    ['a date in metadata', new Date(0), 'metadata.at'],
    ['NaN in metadata', Number.NaN, 'metadata.deep.n'],
    ['a bigint in metadata', 1n, 'metadata.n'],
    ['U+0000 in metadata', 'a\u0000', 'metadata.text'],
    ['a lone surrogate in metadata', '\udc00', 'metadata.text'],
    ['NaN in the state', Number.NaN, 'harnessResult.continuation.state.n'],
    ['a map in the state', new Map(), 'harnessResult.continuation.state.m'],
    ['no continuation', undefined, 'harnessResult.continuation'],
    ['an unknown outcome', 'refusal', 'harnessResult.outcome'],
    ['a message with U+0000', 'a\u0000', 'harnessResult.assistantMessage.text'],
    ['an unknown fan-out', 'everywhere', 'delivery.fanoutMode'],
    ['an unknown member', 1, 'expiresAt'],
  ])('%s is refused, with the path', ([what, member, path]) => {
    const broken = change<unknown>(input, path === 'bounds.ttl' ? 'bounds.ttl.fax' : path, member);
    if (what === 'an unknown member') expect(messageOf(CreateInput, broken)).toContain('expiresAt');
    else expect(placeIn(CreateInput, broken)).toBe(path);
  });

  test.for<[string, unknown, string]>([
    ['missing', undefined, ''],
    ['text that is not Unicode', { text: '\ud800', mediaType: 'text/plain' }, '.text'],
    ['text without a media type', { text: 'a', mediaType: '' }, '.mediaType'],
    ['text with a media type that is no text', { text: 'a', mediaType: 7 }, '.mediaType'],
    ['text with a media type that cannot be stored', { text: 'a', mediaType: 'a\u0000' }, '.mediaType'],
    [
      'bytes with a media type that is too long',
      { bytes: new Uint8Array(1), mediaType: 'x'.repeat(256) },
      '.mediaType',
    ],
    ['bytes without a media type', { bytes: new Uint8Array(1) }, '.bytes'],
  ])('state that is %s is refused, with the path', ([, state, path]) => {
    const broken = { ...input, harnessResult: { outcome: 'deferred', continuation: { state } } };
    expect(placeIn(CreateInput, broken)).toBe(`harnessResult.continuation.state${path}`);
  });

  test('a deadline and never at once is refused', () => {
    expect(placeIn(CreateInput, { ...input, bounds: { expiresAt: NOON, neverExpires: true } })).toBe(
      'bounds.expiresAt',
    );
  });

  test('a path leads into lists', () => {
    expect(placeIn(CreateInput, change<unknown>(input, 'metadata.list', [1, { x: 'a\u0000' }]))).toBe(
      'metadata.list[1].x',
    );
    expect(placeIn(CreateInput, change<unknown>(input, 'harnessResult.continuation.state', [[undefined]]))).toBe(
      'harnessResult.continuation.state[0][0]',
    );
  });

  test('a value that contains itself is refused, not followed for ever', () => {
    const self: { self?: unknown } = {};
    self.self = self;
    expect(messageOf(CreateInput, { ...input, metadata: self })).toContain('contains itself');
    expect(
      messageOf(CreateInput, { ...input, harnessResult: { outcome: 'deferred', continuation: { state: self } } }),
    ).toContain('contains itself');
  });

  test('what cannot be stored as text may be in the state: it is kept as bytes', () => {
    const state = { transcript: ['\u0000', '\ud800'], '\u0000': 1 };
    expect(
      CreateInput.parse(change<unknown>(input, 'harnessResult.continuation.state', state)).harnessResult,
    ).toMatchObject({ continuation: { state } });
  });

  test('metadata of exactly 16 KiB encoded is taken, of one byte more refused', () => {
    const overhead = Buffer.byteLength('{"m":""}');
    const of = (bytes: number) => ({ ...input, metadata: { m: `é${'x'.repeat(bytes - overhead - 2)}` } });
    expect(MAX_METADATA_BYTES).toBe(16_384);
    expect(placeIn(CreateInput, of(MAX_METADATA_BYTES))).toBeUndefined();
    expect(placeIn(CreateInput, of(MAX_METADATA_BYTES + 1))).toBe('metadata');
  });
});

describe('how a turn ended', () => {
  test('only three outcomes pause, and they need a continuation', () => {
    for (const outcome of ['needs_clarification', 'awaiting_approval', 'deferred']) {
      expect(placeIn(HarnessResult, { outcome })).toBe('continuation');
      expect(placeIn(HarnessResult, { outcome, continuation: { state: null } })).toBeUndefined();
    }
    for (const outcome of ['completed', 'failed']) {
      expect(HarnessResult.parse({ outcome, continuation: { state: {} } })).toEqual({ outcome });
    }
  });
});

describe('an answer', () => {
  const answer = { continuationId: b.CONTINUATION, trigger: b.approve() };
  const unknown = ['trigger.approve', 'receivedAt'];

  test.for<[string, object]>([
    [
      'a reply',
      {
        type: 'user_reply',
        message: {
          text: 'yes',
          id: 'u_1',
          receivedAt: NOON,
          attachments: [{ id: 'a', type: 'image', url: 'https://x.test/a.png' }],
        },
      },
    ],
    [
      'an approval',
      {
        type: 'approval_resolution',
        approvalId: 'a',
        decision: 'approved',
        resolvedAt: NOON,
        reason: 'fine',
        metadata: { by: 'cfo' },
      },
    ],
    ['a result', { type: 'external_result', operationId: 'o', payload: [1, null, { a: 'b' }] }],
    ['a result that is null', { type: 'external_result', operationId: 'o', payload: null }],
    ['an agent reply', { type: 'agent_reply', replyWith: 'r', performative: 'agreed', content: { a: 1 } }],
    ['a wake', { type: 'scheduled_wake', wakeUpId: 'w', firedAt: NOON }],
  ])('%s is taken as it is', ([, trigger]) =>
    expect(ResumeInput.parse({ ...answer, trigger }).trigger).toEqual(trigger),
  );

  test('"no answer" is nobody\'s to send', () => {
    expect(placeIn(ResumeInput, { ...answer, trigger: { type: 'no_answer', firedAt: NOON } })).toBe('trigger.type');
    expect(placeIn(Message, { trigger: { type: 'no_answer', firedAt: NOON } })).toBe('trigger.type');
  });

  test.for<[string, unknown, string]>([
    ['no trigger', undefined, 'trigger'],
    ['an empty message id', '', 'messageId'],
    ['an empty suspension', '', 'suspensionId'],
    ['a digest that is none', 'sha256:abc', 'suspensionDigest'],
    ['a digest in capitals', `sha256:${'A'.repeat(64)}`, 'suspensionDigest'],
    ['no approval id', undefined, 'trigger.approvalId'],
    ['an empty approval id', '', 'trigger.approvalId'],
    ['an unknown decision', 'maybe', 'trigger.decision'],
    ['a reason that cannot be stored', '\u0000', 'trigger.reason'],
    ['an unknown member', true, 'trigger.approve'],
    ['a stamp: only our client gives one', NOON, 'receivedAt'],
    ['metadata that is not JSON', new Date(0), 'metadata.at'],
  ])('with %s is refused, with the path', ([, member, path]) => {
    const broken = change<unknown>(answer, path, member);
    if (unknown.includes(path)) expect(messageOf(ResumeInput, broken)).toContain(`"${path.split('.').at(-1)}"`);
    else expect(placeIn(ResumeInput, broken)).toBe(path);
  });

  test.for<[string, unknown]>([
    ['NaN', Number.NaN],
    ['U+0000', '\u0000'],
    ['a lone surrogate', '\ud800'],
    ['a date', new Date(0)],
  ])('with %s deep in a payload is refused, with the path to it', ([, member]) => {
    const of = (trigger: object) => placeIn(ResumeInput, { ...answer, trigger });
    expect(of({ type: 'external_result', operationId: 'o', payload: { rows: [{ x: member }] } })).toBe(
      'trigger.payload.rows[0].x',
    );
    expect(of({ type: 'agent_reply', replyWith: 'r', performative: 'inform', content: [member] })).toBe(
      'trigger.content[0]',
    );
  });

  test('to stop and to extend need what they need', () => {
    expect(placeIn(StopInput, { continuationId: 'x', reason: 'because' })).toBe('reason');
    expect(placeIn(ExtendInput, { continuationId: 'x' })).toBe('expiresAt');
    expect(ExtendInput.parse({ continuationId: 'x', expiresAt: new Date(NOON) }).expiresAt).toBe(NOON);
  });

  test('a delivery adapter cannot report that nothing is decided', () => {
    expect(placeIn(DeliveryResult, { status: 'pending_delivery' })).toBe('status');
    expect(placeIn(DeliveryResult, { status: 'delivered', deliveredAt: 'now' })).toBe('deliveredAt');
  });
});

describe('wait conditions', () => {
  test.for<[string, object]>([
    ['an approval without an id', { type: 'approval_resolution' }],
    ['an approval with an empty id', { type: 'approval_resolution', approvalId: '' }],
    ['a result without an operation', { type: 'external_result' }],
    ['an agent without an address', { type: 'agent_reply', responder: 'x' }],
    ['a wake without an id', { type: 'scheduled_wake', wakeAt: NOON }],
    ['a reply with what belongs to an approval', { type: 'user_reply', approvalId: 'a' }],
    ['anything else', { type: 'no_answer' }],
  ])('%s does not parse', ([, wait]) => expect(WaitCondition.safeParse(wait).success).toBe(false));
});

describe('an impossible record does not parse', () => {
  const record = b.first();
  const ends = b.ends();
  const terminal = Object.entries(ends);

  test('every possible one does, and comes back as it was from JSON', () => {
    for (const possible of [
      record,
      b.resuming(),
      b.uncertain(),
      b.delivering(),
      b.repended(),
      ...Object.values(ends),
    ]) {
      expect(ContinuationRecord.parse(JSON.parse(JSON.stringify(possible)))).toEqual(possible);
    }
  });

  test.for<[string, ContinuationRecord, string, unknown]>([
    ['pending with a reason for its end', record, 'terminalReason', 'completed'],
    ['pending with a turn that runs', record, 'resume', b.resuming().resume],
    ['pending with a follow-up that was delivered', record, 'delivery.status', 'delivered'],
    ['pending with a follow-up that was suppressed', record, 'delivery.status', 'suppressed_expired'],
    ['pending without a suspension', record, 'suspension', undefined],
    ['pending without a wait', record, 'waitFor', undefined],
    ['pending without a deadline and not for ever', record, 'bounds.expiresAt', undefined],
    ['pending for ever with a deadline', record, 'bounds.neverExpires', true],
    ['with more attempts than it has', record, 'bounds.resumeAttempts', 4],
    ['without a scope', record, 'scope', undefined],
    ['of another version', record, 'schemaVersion', 2],
    ['with revision 0', record, 'revision', 0],
    ['without a turn', record, 'lineage', []],
    ['with the state of its harness inside', record, 'continuation.state', {}],
    ['with a member that nobody knows', record, 'answer', 42],
    ['resuming without a turn', b.resuming(), 'resume', undefined],
    ['resuming without an answer', b.resuming(), 'answers', []],
    ['resuming with an answer that says nothing', b.resuming(), 'answers', b.repended().answers],
    ['resuming with a reason for its end', b.resuming(), 'terminalReason', 'completed'],
    ['resuming with a follow-up that was delivered', b.delivering(), 'delivery.status', 'delivered'],
    ['with an unknown status', record, 'status', 'paused'],
    ...terminal.flatMap(
      ([status, end]): Array<[string, ContinuationRecord, string, unknown]> => [
        [`${status} with a follow-up that is still to be delivered`, end, 'delivery.status', 'pending_delivery'],
        [`${status} without a reason`, end, 'terminalReason', undefined],
        ...terminal
          .filter(([other]) => other !== status)
          .map(([other, { terminalReason }]): [string, ContinuationRecord, string, unknown] => [
            `${status} with the reason of ${other}`,
            end,
            'terminalReason',
            terminalReason,
          ]),
      ],
    ),
  ])('%s', ([, possible, path, member]) => {
    expect(ContinuationRecord.safeParse(possible).success).toBe(true);
    expect(ContinuationRecord.safeParse(change(possible, path, member)).success).toBe(false);
  });

  test('and says where', () => {
    expect(placeIn(ContinuationRecord, change(record, 'bounds.expiresAt', undefined))).toBe('bounds.expiresAt');
    expect(placeIn(ContinuationRecord, change(record, 'waitFor.type', 'fax'))).toBe('waitFor.type');
    expect(placeIn(ContinuationRecord, change(record, 'updatedAt', 'yesterday'))).toBe('updatedAt');
    expect(placeIn(ContinuationRecord, change(record, 'status', 'paused'))).toBe('status');
  });

  test('a stored time in another form is normalised when it is read', () => {
    expect(ContinuationRecord.parse({ ...record, createdAt: '2026-12-01T13:00:00+01:00' }).createdAt).toBe(NOON);
    expect(Bounds.parse({ ...record.bounds, expiresAt: new Date(later(5)) }).expiresAt).toBe(later(5));
  });
});
