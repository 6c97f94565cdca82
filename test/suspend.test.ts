import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Content, contentOf } from '../src/content.ts';
import { digestJson, digestText } from '../src/digest.ts';
import { firstRecord } from '../src/first-record.ts';
import type { JsonObject } from '../src/json.ts';
import {
  ContinuationRecord,
  HarnessResult,
  type HarnessResultInput,
  type ResumableOutcome,
  type ResumableResult,
} from '../src/schema.ts';
import { describePause, type Pause, stateOf } from '../src/suspend.ts';
import { CONTINUATION, NOON } from './support/builders.ts';

const TURN = { turnId: 'turn_1', at: NOON };
const parse = (result: HarnessResultInput) => HarnessResult.parse(result) as ResumableResult;
const stops = (outcome: ResumableOutcome, state: unknown, more: Partial<ResumableResult> = {}) =>
  parse({ ...more, outcome, continuation: { ...more.continuation, state } } as HarnessResultInput);

function pauseOf(result: ResumableResult, turn: Parameters<typeof describePause>[1] = TURN): Pause {
  const pause = describePause(result, turn);
  if ('ok' in pause) throw new Error(`no pause: ${JSON.stringify(pause.refusal)}`);
  return pause;
}
function refusalOf(result: ResumableResult, turn = TURN) {
  const pause = describePause(result, turn);
  if ('ok' in pause) return pause.refusal;
  throw new Error(`waits for ${JSON.stringify(pause.asked.waitFor)}`);
}
function contentAt(pause: Pause, digest: string): Content {
  const content = pause.contents.find(({ ref }) => ref.digest === digest);
  if (!content) throw new Error(`no content ${digest}`);
  return content;
}
const storedState = (state: unknown, outcome: ResumableOutcome = 'needs_clarification') => {
  const pause = pauseOf(stops(outcome, state));
  return contentAt(pause, pause.asked.suspension.state.digest);
};

describe('state is kept exactly', () => {
  test('a JSON value comes back as it was, whatever text it holds', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ unit: 'binary' }).filter((key) => key !== '__proto__'),
          fc.jsonValue(),
        ),
        (state) => {
          fc.pre(typeof state.correlationKey === 'undefined');
          const json = JSON.parse(JSON.stringify(state));
          expect(stateOf(storedState(json))).toEqual(json);
        },
      ),
    );
  });

  test.for<[string, unknown]>([
    ['U+0000 and a lone surrogate in JSON', { transcript: ['\u0000', '\ud800'] }],
    ['text', { text: 'a\u0000é😀\r\n', mediaType: 'text/plain' }],
    ['markdown', { text: '# a', mediaType: 'text/markdown; charset=utf-8' }],
    ['bytes', { bytes: new Uint8Array([0, 255, 216, 0]), mediaType: 'application/octet-stream' }],
    [
      'bytes that say they are text but are not',
      { bytes: new Uint8Array([0xff, 0xfe, 0x41]), mediaType: 'text/plain' },
    ],
    ['no bytes', { bytes: new Uint8Array(), mediaType: 'application/octet-stream' }],
    ['a JSON value that only looks like text with a media type', { text: 'a', mediaType: 'text/plain', more: 1 }],
    ['an empty text', { text: '', mediaType: 'text/plain' }],
    ['a plain string', 'just words'],
    ['null', null],
    ['an empty list', []],
  ])('%s comes back as it was given', ([, state]) => {
    const content = storedState(state);
    expect(content.ref.bytes).toBe(content.bytes.byteLength);
    const back = stateOf(content);
    if (typeof state === 'object' && state !== null && 'bytes' in state) {
      const { bytes, mediaType } = back as { bytes: Uint8Array; mediaType: string };
      expect({ bytes: [...bytes], mediaType }).toEqual({
        bytes: [...(state.bytes as Uint8Array)],
        mediaType: (state as { mediaType?: string }).mediaType,
      });
    } else expect(back).toEqual(state);
  });

  test('JSON text keeps its own bytes: digits and order are not rewritten', () => {
    const text = '{ "b": 1.00, "a": 12345678901234567890 }';
    const content = storedState({ text, mediaType: 'application/json' });
    expect(Buffer.from(content.bytes).toString()).toBe(text);
    expect(content.ref).toEqual({ digest: digestText(text), bytes: text.length, mediaType: 'application/json' });
  });

  test.for<[string, unknown]>([
    ['text that is not JSON', { text: '{"a":', mediaType: 'application/json' }],
    ['no text', { text: '', mediaType: 'application/json' }],
    ['bytes that are not UTF-8', { bytes: new Uint8Array([0x22, 0xff, 0x22]), mediaType: 'application/json' }],
    ['101 levels', { text: `${'['.repeat(101)}${']'.repeat(101)}`, mediaType: 'application/json' }],
    ['200000 levels', { text: `${'['.repeat(200_000)}${']'.repeat(200_000)}`, mediaType: 'application/json' }],
  ])('what says it is JSON but is %s is refused at the pause, not when somebody has answered', ([, state]) => {
    expect(refusalOf(stops('needs_clarification', state))).toMatchObject({
      code: 'invalid_input',
      path: 'harnessResult.continuation.state',
    });
  });

  test('what it holds is found in JSON text as in a JSON value', () => {
    const state = { text: '{"approvalId":"appr_1","question":"Refund?"}', mediaType: 'application/json' };
    expect(pauseOf(stops('awaiting_approval', state)).asked).toMatchObject({ waitFor: { approvalId: 'appr_1' } });
  });

  test('nothing is found in other text or bytes', () => {
    expect(refusalOf(stops('deferred', { text: '{"operationId":"op_1"}', mediaType: 'text/plain' })).code).toBe(
      'invalid_input',
    );
  });
});

describe('the wait', () => {
  test('is looked for in the state, its metadata, the metadata of the result, then that of the creator', () => {
    const places: Array<[unknown, JsonObject | undefined, JsonObject | undefined, JsonObject]> = [
      [{ operationId: 'here' }, { operationId: 'x' }, { operationId: 'x' }, { operationId: 'x' }],
      [{}, { operationId: 'here' }, { operationId: 'x' }, { operationId: 'x' }],
      [{}, undefined, { operationId: 'here' }, { operationId: 'x' }],
      [{}, {}, {}, { operationId: 'here' }],
    ];
    for (const [state, own, ofResult, metadata] of places) {
      const result = parse({
        outcome: 'deferred',
        continuation: { state, ...(own && { metadata: own }) },
        ...(ofResult && { metadata: ofResult }),
      });
      expect(pauseOf(result, { ...TURN, metadata }).asked.waitFor).toEqual({
        type: 'external_result',
        operationId: 'here',
      });
    }
  });

  test('of a re-pend is not looked for in the metadata of the creator, because none is given', () => {
    expect(refusalOf(stops('awaiting_approval', {}))).toMatchObject({
      code: 'invalid_input',
      path: 'harnessResult.continuation.state.approvalId',
    });
  });

  test('of a wake is minted, and another one for every pause', () => {
    const [one, two] = [1, 2].map(() => pauseOf(stops('deferred', { scheduledWake: true })).asked.waitFor);
    expect(one).toEqual({ type: 'scheduled_wake', wakeUpId: expect.stringMatching(/^wake_/) });
    expect(one).not.toEqual(two);
  });
});

describe('what is asked', () => {
  const ask = (state: unknown, text?: string) =>
    pauseOf(
      stops(
        'awaiting_approval',
        { approvalId: 'a', ...(state as object) },
        text === undefined ? {} : { assistantMessage: { text } },
      ),
    ).asked.suspension;
  const request = { id: 'call_1', name: 'refund', arguments: '{"amount": 10.00}' };

  test('is the question in the state, else what the assistant said, else the name of the call, else the wait', () => {
    expect(ask({ question: 'Refund 10?', request }, 'May I?').question).toBe('Refund 10?');
    expect(ask({ question: '', request }, 'May I?').question).toBe('May I?');
    expect(ask({ question: 42, request }, '').question).toBe('refund');
    expect(ask({}).question).toBe('Waiting for approval_resolution');
  });

  test('is never text that cannot be stored', () => {
    expect(ask({ question: 'a\u0000', request }).question).toBe('refund');
    expect(ask({ question: '\ud800' }, 'May I?').question).toBe('May I?');
  });

  test('up to 4096 bytes is in the record, a longer one is clipped there and whole by reference', () => {
    const fits = 'é'.repeat(2048);
    expect(ask({ question: fits })).toMatchObject({ question: fits });
    expect(ask({ question: fits })).not.toHaveProperty('questionRef');
    const long = `${fits}!`;
    const pause = pauseOf(stops('awaiting_approval', { approvalId: 'a', question: long }));
    const { question, questionRef } = pause.asked.suspension;
    expect(Buffer.byteLength(question)).toBeLessThanOrEqual(4096);
    expect(question).toMatch(/^é+…$/);
    expect(Buffer.from(contentAt(pause, questionRef!.digest).bytes).toString()).toBe(long);
  });

  test('is clipped between characters', () => {
    for (const lead of ['', 'a', 'ab', 'abc']) {
      const { question } = ask({ question: lead + '😀'.repeat(2000) });
      expect(question).toMatch(/^[abc]*(😀)+…$/u);
    }
  });

  test('names the call with the arguments as the model wrote them', () => {
    expect(ask({ request }).pending).toEqual([
      {
        id: 'call_1',
        name: 'refund',
        arguments: '{"amount": 10.00}',
        argumentsDigest: digestText('{"amount": 10.00}'),
      },
    ]);
    expect(ask({ request: { ...request, arguments: { b: 1, a: 2 } } }).pending[0]?.arguments).toBe('{"b":1,"a":2}');
  });

  test.for<[string, unknown]>([
    ['without an id', { ...request, id: undefined }],
    ['with an empty name', { ...request, name: '' }],
    ['without arguments', { id: 'call_1', name: 'refund' }],
    ['that is no object', 'refund'],
  ])('names no call for a request %s', ([, given]) => {
    expect(ask({ request: given }).pending).toEqual([]);
  });

  test('arguments up to 4096 bytes are in the record, longer or unstorable ones by reference', () => {
    expect(ask({ request: { ...request, arguments: 'x'.repeat(4096) } }).pending[0]?.arguments).toBe('x'.repeat(4096));
    for (const given of ['x'.repeat(4097), 'a\u0000b']) {
      const pause = pauseOf(stops('awaiting_approval', { approvalId: 'a', request: { ...request, arguments: given } }));
      const [call] = pause.asked.suspension.pending;
      expect(call?.argumentsDigest).toBe(digestText(given));
      if (typeof call?.arguments !== 'object') throw new Error('the arguments are not by reference');
      expect(Buffer.from(contentAt(pause, call.arguments.digest).bytes).toString()).toBe(given);
    }
  });

  test.for<[string, object]>([
    ['id', { id: 'x'.repeat(129) }],
    ['id', { id: 'a\u0000' }],
    ['name', { name: 'x'.repeat(129) }],
    ['name', { name: '\ud800' }],
    ['arguments', { arguments: '{"a":"\ud800"}' }],
  ])('a call whose %s cannot be stored or shown is refused, with the path: it is not left out', ([key, given]) => {
    const result = stops('awaiting_approval', { approvalId: 'a', request: { ...request, ...given } });
    expect(refusalOf(result)).toMatchObject({
      code: 'invalid_input',
      path: `harnessResult.continuation.state.request.${key}`,
    });
  });

  test('is bound by a digest over question, wait and calls: what the person saw', () => {
    const { question, pending, digest } = ask({ question: 'Refund?', request });
    expect(digest).toBe(digestJson({ question, waitFor: { type: 'approval_resolution', approvalId: 'a' }, pending }));
    const others = [
      ask({ question: 'Refund!', request }),
      ask({ question: 'Refund?', request: { ...request, arguments: '{"amount": 10.01}' } }),
      ask({ question: 'Refund?', request: { ...request, name: 'pay' } }),
      ask({ question: 'Refund?', request, approvalId: 'b' }),
    ];
    expect(new Set([digest, ...others.map((other) => other.digest)]).size).toBe(5);
    expect(ask({ question: 'Refund?', request, transcript: ['not shown'] }).digest).toBe(digest);
  });

  test('of two long questions that differ only at the end has two digests', () => {
    const long = 'x'.repeat(9000);
    expect(ask({ question: `${long}a` }).digest).not.toBe(ask({ question: `${long}b` }).digest);
  });
});

describe('the continuation of the harness', () => {
  test('is kept as it was given, without its state', () => {
    const continuation = {
      id: 'c_1',
      type: 'deferred',
      createdAt: NOON,
      turnId: 't_9',
      sessionId: 's_1',
      resumeToken: 'secret',
      metadata: { a: 1 },
    } as const;
    const { asked } = pauseOf(
      parse({ outcome: 'needs_clarification', continuation: { ...continuation, state: { big: 1 } } }),
    );
    expect(asked.continuation).toEqual(continuation);
  });

  test.for<[ResumableOutcome, string, string]>([
    ['needs_clarification', 'clarification', 'clarification_required'],
    ['awaiting_approval', 'approval', 'approval_required'],
    ['deferred', 'deferred', 'deferred'],
  ])('of %s has the defaults of source 002', ([outcome, type, stopReason]) => {
    const { asked } = pauseOf(stops(outcome, { approvalId: 'a', operationId: 'o' }));
    expect(asked.stopReason).toBe(stopReason);
    expect(asked.continuation).toEqual({
      id: `turn_1:${type}`,
      type,
      createdAt: NOON,
      turnId: 'turn_1',
      resumeToken: `turn_1:${type}:${NOON}`,
    });
    expect(
      pauseOf(stops(outcome, { approvalId: 'a', operationId: 'o' }, { stopReason: 'budget_reached' })).asked.stopReason,
    ).toBe('budget_reached');
  });
});

test('every pause makes a record that parses, also with the longest ids', () => {
  const longest = 'x'.repeat(128);
  const states: Array<[ResumableOutcome, unknown]> = [
    ['needs_clarification', { correlationKey: longest, question: 'é'.repeat(9000) }],
    ['awaiting_approval', { request: { id: longest, name: longest, arguments: 'x'.repeat(9000) } }],
    ['deferred', { agent: { replyWith: longest, responder: longest } }],
    ['deferred', { wakeAt: '2026-12-24T18:00:00+01:00' }],
    ['deferred', { operationId: longest }],
  ];
  for (const [outcome, state] of states) {
    const { asked } = pauseOf(stops(outcome, state), { turnId: longest, at: NOON });
    const result = firstRecord(
      {
        identity: { id: CONTINUATION, scope: 'app=default', assistantId: longest, idempotencyKey: longest },
        originTurnId: longest,
        outcome,
        delivery: { status: 'not_applicable' },
        bounds: {},
        asked,
      },
      NOON,
    );
    if (!result.ok) throw new Error(JSON.stringify(result));
    expect(ContinuationRecord.parse(JSON.parse(JSON.stringify(result.record)))).toEqual(result.record);
  }
});

test('every pause is a suspension of its own', () => {
  const ids = [1, 2, 3].map(() => pauseOf(stops('needs_clarification', {})).asked.suspension.id);
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) expect(id).toMatch(/^sus_[0-9A-HJKMNP-TV-Z]{26}$/);
});

test('content is found by the digest of its bytes', () => {
  const bytes = new Uint8Array([1, 2, 3]);
  expect(contentOf(bytes, 'image/png')).toEqual({
    bytes,
    ref: {
      digest: 'sha256:039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81',
      bytes: 3,
      mediaType: 'image/png',
    },
  });
});
