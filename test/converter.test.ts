/** C15: whatever arrives through Temporal, decoding does not throw; what cannot be decoded is refused like any malformed message. */
import { defaultPayloadConverter, METADATA_ENCODING_KEY, type Payload } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMessage } from '../src/message.ts';
import { payloadConverter, UNDECODABLE } from '../src/payload-converter.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);
const payload = (encoding: string, data: string, more: Record<string, string> = {}): Payload => ({
  metadata: Object.fromEntries(
    Object.entries({ [METADATA_ENCODING_KEY]: encoding, ...more }).map(([key, value]) => [key, utf8(value)]),
  ),
  data: utf8(data),
});

const POISON: Array<[string, unknown]> = [
  ['JSON that is cut off', payload('json/plain', '{"trigger":')],
  ['JSON that is empty', payload('json/plain', '')],
  ['an unknown encoding', payload('binary/from-elsewhere', 'x')],
  ['an unknown protobuf type as JSON', payload('json/protobuf', '{}', { messageType: 'nobody.knows.This' })],
  ['an unknown protobuf type as bytes', payload('binary/protobuf', 'x', { messageType: 'nobody.knows.This' })],
  ['no data', { metadata: { encoding: utf8('json/plain') } }],
  ['no encoding', { metadata: {}, data: utf8('{}') }],
  ['no metadata', { data: utf8('{}') }],
  ['an encoding that is no text', { metadata: { encoding: Uint8Array.of(0xff, 0xfe) }, data: utf8('{}') }],
];

describe('payload converter', () => {
  test.for(POISON)('%s is decoded as a marker, where the default converter throws', ([, poison]) => {
    expect(() => defaultPayloadConverter.fromPayload(poison as Payload)).toThrow();
    expect(payloadConverter.fromPayload(poison as Payload)).toBe(UNDECODABLE);
  });

  test('the marker is no message: it is refused, and so is JSON that looks like it', () => {
    for (const marker of [UNDECODABLE, { undecodable: true }]) {
      expect(readMessage(marker)).toMatchObject({ ok: false });
      expect(readMessage(marker, 'user_reply')).toMatchObject({ ok: false });
    }
  });

  test('whatever the metadata and the data are, decoding does not throw', () => {
    const encoding = fc.oneof(
      fc.constantFrom('json/plain', 'binary/plain', 'binary/null', 'json/protobuf', 'binary/protobuf').map(utf8),
      fc.uint8Array({ maxLength: 12 }),
    );
    const any = fc.record(
      {
        metadata: fc.oneof(
          fc.record({ encoding, messageType: fc.string().map(utf8) }, { requiredKeys: [] }),
          fc.constantFrom(null, undefined),
        ),
        data: fc.oneof(fc.uint8Array(), fc.json().map(utf8), fc.constantFrom(null, undefined)),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(any, fc.anything()), (given) => {
        payloadConverter.fromPayload(given as Payload);
      }),
      { numRuns: 500 },
    );
  });

  test('values come back as the default converter brings them back', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.uint8Array(), fc.constant(undefined)), (value) => {
        const encoded = payloadConverter.toPayload(value);
        expect(encoded).toEqual(defaultPayloadConverter.toPayload(value));
        expect(payloadConverter.fromPayload(encoded)).toEqual(defaultPayloadConverter.fromPayload(encoded));
      }),
    );
  });
});
