import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, digestBytes, digestJson, digestText } from '../src/digest.ts';
import { formatPath, jsonFault, textFault, unicodeFault, utf8Length } from '../src/json.ts';

const nested = (levels: number): unknown => {
  let value: unknown = 'end';
  for (let n = 0; n < levels; n++) value = n % 2 ? [value] : { in: value };
  return value;
};

describe('jsonFault', () => {
  test('finds nothing in any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        expect(jsonFault(value, false)).toBeUndefined();
      }),
    );
  });

  test.for<[string, unknown, string, RegExp]>([
    ['NaN', { a: [0, Number.NaN] }, 'a[1]', /finite number, not NaN/],
    ['an infinity', [Number.NEGATIVE_INFINITY], '[0]', /finite number/],
    ['a bigint', { n: 1n }, 'n', /not bigint/],
    ['undefined in an array', [1, undefined], '[1]', /not undefined/],
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
    ['a hole in an array', { a: [1, , 2] }, 'a[1]', /not undefined/],
    ['a function', { f: () => 1 }, 'f', /not function/],
    ['a symbol', { s: Symbol('s') }, 's', /not symbol/],
    ['a Date', { at: new Date(0) }, 'at', /plain JSON, not Date/],
    ['a Map', { m: new Map() }, 'm', /not Map/],
    ['bytes', { b: new Uint8Array(1) }, 'b', /not Uint8Array/],
    ['an instance of a class', { u: new URL('http://localhost') }, 'u', /not URL/],
    ['U+0000 in a text', { a: { b: 'x\u0000y' } }, 'a.b', /U\+0000/],
    ['U+0000 in a name', { a: { 'x\u0000': 1 } }, 'a.x\u0000', /name that contains U\+0000/],
    ['a lone high surrogate', ['\ud800x'], '[0]', /lone surrogate/],
    ['a lone low surrogate', ['x\udc00'], '[0]', /lone surrogate/],
    ['surrogates in the wrong order', ['\udc00\ud800'], '[0]', /lone surrogate/],
    ['a lone surrogate in a name', { '\udfff': 1 }, '\udfff', /name that contains a lone surrogate/],
  ])('refuses %s, and says where', ([, value, path, message]) => {
    const fault = jsonFault(value);
    expect(formatPath(fault?.path ?? [])).toBe(path);
    expect(fault?.message).toMatch(message);
  });

  test('takes absent members, objects without a prototype, pairs of surrogates and every other character', () => {
    const bare = Object.assign(Object.create(null), { a: 1 });
    for (const value of [{ a: undefined }, bare, '😀', '\u0001\u001f\u007f\ufffd\uffff', '', null, -0, true]) {
      expect(jsonFault(value)).toBeUndefined();
    }
  });

  test('takes text that cannot be stored where it is kept as bytes, but nothing that is not JSON', () => {
    expect(jsonFault({ 'a\u0000': '\ud800' }, false)).toBeUndefined();
    expect(jsonFault({ a: Number.NaN }, false)?.path).toEqual(['a']);
  });

  test('takes 100 levels and refuses 101, and so a value that contains itself', () => {
    expect(jsonFault(nested(100))).toBeUndefined();
    expect(jsonFault(nested(101))?.message).toMatch(/more than 100 levels/);
    const self: { self?: unknown } = {};
    self.self = self;
    expect(jsonFault(self)?.message).toMatch(/contains itself/);
  });

  test('does not run out of stack on 100000 levels', () => {
    expect(jsonFault(nested(100_000))?.message).toMatch(/more than 100 levels/);
  });

  test('names the first of several faults', () => {
    expect(jsonFault({ a: 1, b: Number.NaN, c: 1n })?.path).toEqual(['b']);
  });
});

test('a text that is not Unicode is told from one that only a database refuses', () => {
  expect(textFault('\u0000')).toMatch(/U\+0000/);
  expect(unicodeFault('\u0000')).toBeUndefined();
  expect(unicodeFault('\ud800')).toMatch(/lone surrogate/);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(unicodeFault(text) === undefined).toBe(Buffer.from(text).toString() === text);
    }),
  );
});

test('the length in UTF-8 is that of the encoded bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(utf8Length(text)).toBe(Buffer.byteLength(text));
    }),
  );
  expect(utf8Length('aé€😀')).toBe(1 + 2 + 3 + 4);
});

test('a path reads as one would write it in code', () => {
  expect(formatPath([])).toBe('');
  expect(formatPath(['a', 'b', 0, 'c'])).toBe('a.b[0].c');
  expect(formatPath([3, 'a'])).toBe('[3].a');
});

describe('digests', () => {
  test('are SHA-256 of the exact bytes', () => {
    expect(digestText('')).toBe('sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(digestText('é')).toBe(digestBytes(new Uint8Array([0xc3, 0xa9])));
    expect(digestText('{"a":1.0}')).not.toBe(digestText('{"a":1}'));
  });

  test('of JSON do not depend on the order of members or on absent ones', () => {
    expect(digestJson({ b: [1, { d: 2, c: 3 }], a: undefined })).toBe(digestJson({ b: [1, { c: 3, d: 2 }] }));
    expect(digestJson([1, 2])).not.toBe(digestJson([2, 1]));
    expect(digestJson({ a: null })).not.toBe(digestJson({}));
    expect(digestJson({ a: 1 })).not.toBe(digestJson({ a: '1' }));
  });

  test('are taken over the canonical form of RFC 8785', () => {
    const sample = {
      numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '€$\u000f\nA\'B"\\\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(sample)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test('of what has no JSON form are an error, not the digest of something else', () => {
    expect(() => digestJson(undefined)).toThrow(TypeError);
    expect(() => digestJson(Number.NaN)).toThrow();
  });
});
