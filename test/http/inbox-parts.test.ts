/** Parts of the inbox that need no servers: arguments as they are written, and forms as they are meant. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readAnswer } from '../../src/http/inbox/answer-form.ts';
import { membersOf } from '../../src/http/inbox/json-members.ts';

describe('the members of a JSON text', () => {
  test('are those that parsing finds, each as it is written', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())),
        fc.nat(4),
        (value, indent) => {
          const members = membersOf(JSON.stringify(value, null, indent));
          expect(members?.map(({ key, source }) => [key, JSON.parse(source)])).toEqual(
            Object.entries(JSON.parse(JSON.stringify(value))),
          );
        },
      ),
    );
  });

  test('keep what parsing loses', () => {
    expect(membersOf(' {"n": 1.00, "n":9007199254740993 , "\\u0061": "\\"},{" } ')).toEqual([
      { key: 'n', source: '1.00' },
      { key: 'n', source: '9007199254740993' },
      { key: 'a', source: '"\\"},{"' },
    ]);
  });

  test('are none of anything else, and large texts are no trouble', () => {
    for (const text of ['', '1', '"{}"', '{"a":1', '{a:1}', '[1,]', 'null']) expect(membersOf(text)).toBeUndefined();
    const large = 'x"\\'.repeat(1_000_000);
    expect(membersOf(JSON.stringify({ large, deep: 1 }))?.map(({ key }) => key)).toEqual(['large', 'deep']);
    expect(membersOf(`[${'['.repeat(50_000)}${']'.repeat(50_000)}]`)).toHaveLength(1);
  });
});

describe('a form', () => {
  const base = { messageId: 'm', suspensionId: 'sus', suspensionDigest: 'sha256:0' };
  const read = (fields: Record<string, string>, shown = [{ id: 'c1', name: 'refund', text: '{"a": 1}' }]) =>
    readAnswer('cont', new URLSearchParams({ ...base, ...fields }), shown);

  test.each(['', 'nonsense', '__proto__', 'constructor', 'no_answer'])('of no known kind is refused: %j', (type) => {
    expect(read({ type })).toEqual({ ok: false, faults: { type: expect.any(String) } });
  });

  test('about more calls than there can be costs nothing', () => {
    const { faults } = read({ type: 'approval_resolution', calls: '1e9' }) as { faults: object };
    expect(Object.keys(faults)).toHaveLength(32);
  });

  test('edits what it approves, and nothing else', () => {
    const form = {
      type: 'approval_resolution',
      correlation: 'a',
      calls: '1',
      'call-0': 'c1',
      'arguments-0': '{"a": 2}',
    };
    expect(read({ ...form, decision: 'approved' })).toMatchObject({ ok: true, edits: [{ after: '{"a": 2}' }] });
    expect(read({ ...form, decision: 'denied' })).toMatchObject({ ok: true, edits: [] });
    // What no longer waits cannot be edited: it is refused as too late.
    expect(read({ ...form, decision: 'approved' }, [])).toMatchObject({ ok: true, edits: [] });
  });
});
