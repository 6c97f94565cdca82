/**
 * Two readers of one shape: `readMessage` inside the workflow, without zod, and the `Message` schema in front of it. What one
 * accepts the other accepts, or an answer that the client let through would be refused by the workflow, and the reverse.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentOf } from '../src/content.ts';
import { canonicalJson, digestJson } from '../src/digest.ts';
import { contentDigest, readMessage, type SignedMessage, senderOf, withoutBulk } from '../src/message.ts';
import { BULK, WAIT_TYPES } from '../src/message-shape.ts';
import { Message, Stamp, Trigger, type WaitType } from '../src/schema.ts';

/* Messages: right ones, and ones with something wrong in them */

const ODD_TIMES = [
  '2026-02-30T10:00:00Z',
  '2025-02-29T10:00:00Z',
  '2024-02-29T10:00:00Z',
  '2026-04-31T10:00:00Z',
  '2026-12-02T24:00:00Z',
  '2026-12-02T09:60:00Z',
  '2026-12-02T09:30:60Z',
  '2026-12-02T09:30Z',
  '2026-12-02T09:30:00.123456789Z',
  '2026-12-02T09:30:00.Z',
  '2026-12-02T09:30:00+14:00',
  '2026-12-02T09:30:00+24:00',
  '2026-12-02T09:30:00+02:60',
  '2026-12-02T09:30:00-00:00',
  '2026-12-02T09:30:00+0200',
  '2026-12-02T09:30:00',
  '2026-12-02 09:30:00Z',
  '2026-12-02t09:30:00z',
  '2026-12-02',
  '0000-01-01T00:00:00Z',
  '0000-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59-23:59',
  '+012026-12-02T09:30:00Z',
  '2026-12-02T09:30:00Z\n',
  'tomorrow',
  '',
];
const instant = fc.oneof(
  fc
    .date({ noInvalidDate: true, min: new Date('0000-01-01'), max: new Date('9999-12-31') })
    .map((d) => d.toISOString()),
  fc.constantFrom(...ODD_TIMES),
);
const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', '\u0000', 'a\ud800', '\udc00b', '😀'));
const id = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.constantFrom('', 'x'.repeat(128), 'x'.repeat(129), '😀'.repeat(64), '😀'.repeat(65), 'a\u0000', '\ud83d'),
);
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
const json = fc.oneof(
  { weight: 5, arbitrary: fc.jsonValue({ stringUnit: 'binary' }) },
  { weight: 1, arbitrary: fc.integer({ min: 95, max: 103 }).map(nested) },
  { weight: 1, arbitrary: fc.constantFrom(null, { 'a\u0000': 1 }, ['\ud800'], -0, 1e308) },
);
const object = fc.oneof(
  { weight: 4, arbitrary: fc.dictionary(fc.string(), json, { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.integer({ min: 16_370, max: 16_390 }).map((n) => ({ a: 'é'.repeat(n / 2) })) },
  { weight: 1, arbitrary: fc.integer({ min: 95, max: 103 }).map((n) => ({ deep: nested(n) })) },
  { weight: 1, arbitrary: fc.constantFrom([], null, 'text') },
);
const some = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }, requiredKeys: Array<keyof T> = []) =>
  fc.record(model, { requiredKeys, noNullPrototype: true } as never) as fc.Arbitrary<Record<string, unknown>>;

const attachment = some({ id, type: id, name: text, url: text, metadata: object }, ['id', 'type']);
const userMessage = some({ id, text, receivedAt: instant, attachments: fc.array(attachment, { maxLength: 2 }) }, [
  'text',
]);
const digest = fc.constantFrom(digestJson('a'), digestJson('b'), 'sha256:', `${digestJson('a')}\n`, 'SHA256:00');
const decided = some(
  {
    callId: id,
    argumentsDigest: digest,
    decision: fc.constantFrom('approved', 'denied', 'maybe'),
    arguments: text,
    reason: text,
  },
  ['callId', 'decision'],
);
const cameOut = some({ callId: id, argumentsDigest: digest, result: json, error: text, execute: fc.boolean() }, [
  'callId',
]);
const calls = (call: fc.Arbitrary<unknown>) => fc.array(call, { maxLength: 33, size: 'small' });
const TRIGGER: Record<WaitType, fc.Arbitrary<Record<string, unknown>>> = {
  user_reply: some({ message: userMessage, correlationKey: id, receivedAt: instant }, ['message']),
  approval_resolution: some(
    {
      approvalId: id,
      decision: fc.constantFrom('approved', 'denied', 'maybe'),
      reason: text,
      arguments: text,
      calls: calls(decided),
      resolvedAt: instant,
      metadata: object,
    },
    ['approvalId'],
  ),
  external_result: some({ operationId: id, payload: json, calls: calls(cameOut), resolvedAt: instant }, [
    'operationId',
  ]),
  agent_reply: some(
    {
      replyWith: id,
      performative: fc.constantFrom('agreed', 'inform', 'refuse', 'failure', 'inform\n'),
      content: json,
    },
    ['replyWith', 'performative'],
  ),
  scheduled_wake: some({ wakeUpId: id, firedAt: instant }, ['wakeUpId']),
};
const trigger = fc.oneof(
  ...WAIT_TYPES.map((type) => TRIGGER[type].map((fields): Record<string, unknown> => ({ type, ...fields }))),
);
const message = some({ messageId: id, suspensionId: id, suspensionDigest: digest, trigger, metadata: object }, [
  'trigger',
]);

/** Puts any value in the place of any part, takes a part away, or adds one that nobody knows. */
const damaged = fc
  .tuple(
    message,
    fc.nat(),
    fc.constantFrom('replace', 'remove', 'add'),
    fc.jsonValue(),
    fc.constantFrom('x', '__proto__'),
  )
  .map(([given, where, how, value, name]) => {
    const whole: unknown = JSON.parse(JSON.stringify(given));
    const places: Array<[Record<string, unknown>, string]> = [];
    const visit = (at: unknown): void => {
      if (typeof at !== 'object' || at === null) return;
      for (const key of Object.keys(at)) {
        places.push([at as Record<string, unknown>, key]);
        visit((at as Record<string, unknown>)[key]);
      }
    };
    visit(whole);
    const [holder, key] = places[where % places.length] as [Record<string, unknown>, string];
    if (how === 'remove') delete holder[key];
    else
      Object.defineProperty(holder, how === 'add' ? name : key, {
        value,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    return whole;
  });

const runs = { numRuns: 700 };

describe('readMessage and the schema', () => {
  test('what the schema refuses readMessage refuses, and what it accepts, readMessage accepts', () => {
    fc.assert(
      fc.property(fc.oneof(message, damaged), (given) => {
        expect(readMessage(given).ok).toBe(Message.safeParse(given).success);
      }),
      runs,
    );
  });

  test.for(ODD_TIMES)('the time %j is accepted by both or by neither', (time) => {
    const given = { trigger: { type: 'scheduled_wake', wakeUpId: 'w', firedAt: time } };
    expect(readMessage(given).ok).toBe(Message.safeParse(given).success);
  });

  test('what the client sends after normalising it is read as it was sent', () => {
    fc.assert(
      fc.property(message, (given) => {
        const parsed = Message.safeParse(given);
        fc.pre(parsed.success);
        const sent = JSON.parse(JSON.stringify(parsed.data));
        expect(readMessage(sent)).toEqual({ ok: true, value: sent });
      }),
      { numRuns: 300 },
    );
  });

  test('a signal named after its wait type may leave out the type and the envelope', () => {
    fc.assert(
      fc.property(trigger, (given) => {
        const { type, ...bare } = given;
        const signal = type as WaitType;
        fc.pre(!('trigger' in bare));
        const expected = Trigger.safeParse(given).success;
        for (const form of [bare, given, { trigger: bare }, { trigger: given }])
          expect(readMessage(form, signal).ok).toBe(expected);
        if (expected) expect(readMessage(bare, signal)).toEqual(readMessage({ trigger: given }));
      }),
    );
  });

  test('a stamp is read as its schema reads it', () => {
    const stamp = some(
      {
        subject: id,
        verified: fc.oneof(fc.boolean(), fc.constant('yes')),
        channel: id,
        receivedAt: instant,
        updateId: id,
      },
      ['subject', 'verified', 'channel', 'receivedAt'],
    );
    fc.assert(
      fc.property(stamp, (given) => {
        const signed = { trigger: { type: 'scheduled_wake', wakeUpId: 'w' }, stamp: given };
        expect(readMessage(signed).ok).toBe(Stamp.safeParse(given).success);
      }),
      { numRuns: 300 },
    );
  });

  test('whatever JSON arrives, nothing is thrown, and what is accepted can be digested', () => {
    const pieces = fc.constantFrom(
      'trigger',
      'type',
      'stamp',
      'inputRef',
      'metadata',
      '__proto__',
      'messageId',
      'message',
    );
    const shaped = fc.dictionary(pieces, fc.oneof(fc.jsonValue(), fc.dictionary(pieces, fc.jsonValue())));
    const signal = fc.constantFrom(undefined, ...WAIT_TYPES);
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), shaped, message, damaged), signal, (given, name) => {
        const read = readMessage(given, name);
        if (read.ok) senderOf(read.value, '2026-12-01T12:00:00.000Z');
        else expect(typeof read.message).toBe('string');
      }),
      runs,
    );
  });

  test('two million bytes, as much as a payload may hold, are refused before the workflow is taken for stuck', () => {
    const bytes = new Uint8Array(2_000_000);
    const started = performance.now();
    for (const given of [bytes, { trigger: bytes }, { trigger: { type: 'user_reply', message: bytes } }])
      for (const signal of [undefined, 'user_reply'] as const)
        expect(readMessage(given, signal)).toMatchObject({ ok: false });
    expect(performance.now() - started).toBeLessThan(500);
  });

  test('a refusal stays short, whatever the refused fields are called: the workflow keeps it and shows it in its result', () => {
    const name = 'n'.repeat(1_000_000);
    for (const given of [
      { [name]: 1 },
      { trigger: { type: 'external_result', operationId: 'o', payload: { [name]: '\u0000' } } },
      { trigger: { type: 'scheduled_wake', wakeUpId: 'w' }, metadata: { [name]: { [name]: '\ud800' } } },
    ]) {
      const read = readMessage(given, 'external_result');
      expect(read.ok).toBe(false);
      expect(JSON.stringify(read).length).toBeLessThan(1000);
    }
  });

  test('a value so deep that it would end a recursion is refused, not fatal', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`);
    for (const given of [
      deep,
      { trigger: deep },
      { trigger: { type: 'external_result', operationId: 'o', payload: deep } },
      { trigger: { type: 'scheduled_wake', wakeUpId: 'w' }, metadata: deep },
      { trigger: { type: 'scheduled_wake', wakeUpId: 'w' }, stamp: deep },
    ])
      expect(readMessage(given)).toMatchObject({ ok: false });
  });
});

describe('content digest', () => {
  test('is the same whether the input travels inline or by reference', () => {
    fc.assert(
      fc.property(message, (given) => {
        const parsed = Message.safeParse(given);
        fc.pre(parsed.success);
        const inline = parsed.data;
        const { ref } = contentOf(Buffer.from(canonicalJson(inline.trigger)), 'application/json');
        const byReference: SignedMessage = { ...inline, trigger: withoutBulk(inline.trigger), inputRef: ref };
        expect(readMessage(byReference)).toMatchObject({ ok: true });
        expect(contentDigest(byReference)).toBe(contentDigest(inline));
      }),
      { numRuns: 300 },
    );
  });

  test('does not look at the stamp, and looks at everything else', () => {
    const one: SignedMessage = {
      messageId: 'm',
      suspensionId: 's',
      suspensionDigest: digestJson('d') as never,
      trigger: { type: 'user_reply', message: { text: 'blue' } },
      metadata: { a: 1 },
    };
    const stamp = {
      subject: 'u',
      verified: true,
      channel: 'api',
      receivedAt: '2026-12-01T12:00:00.000Z',
      updateId: 'x',
    };
    expect(contentDigest({ ...one, stamp })).toBe(contentDigest(one));
    const others: SignedMessage[] = [
      { ...one, messageId: 'n' },
      { ...one, suspensionId: 't' },
      { ...one, suspensionDigest: digestJson('e') as never },
      { ...one, trigger: { type: 'user_reply', message: { text: 'red' } } },
      { ...one, metadata: { a: 2 } },
    ];
    expect(new Set([one, ...others].map(contentDigest)).size).toBe(6);
  });

  test.for(WAIT_TYPES)('%s: what may travel by reference may not travel twice', (type) => {
    const bulk = {
      user_reply: { text: 'a' },
      approval_resolution: 'because',
      external_result: 1,
      agent_reply: 1,
      scheduled_wake: 1,
    };
    const head = {
      user_reply: {},
      approval_resolution: { approvalId: 'a', decision: 'approved' },
      external_result: { operationId: 'o' },
      agent_reply: { replyWith: 'r', performative: 'inform' },
      scheduled_wake: { wakeUpId: 'w' },
    };
    const inputRef = { digest: digestJson('d'), bytes: 1, mediaType: 'application/json' };
    expect(readMessage({ trigger: { type, ...head[type] }, inputRef })).toMatchObject({ ok: true });
    for (const part of BULK[type])
      expect(readMessage({ trigger: { type, ...head[type], [part]: bulk[type] }, inputRef })).toMatchObject({
        ok: false,
      });
  });
});
