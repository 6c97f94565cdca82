/** Receipts checked offline: whatever was done to an export is found and named. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Receipt } from '../src/index.ts';
import { exportReceipts, verifyReceipts } from '../src/index.ts';
import { CHAIN_ID as ID, receiptChain } from './support/receipt-chain.ts';

const headOf = (receipts: Receipt[]) => receipts.at(-1)?.digest ?? '';
const check = (receipts: Receipt[], expected = {}) => verifyReceipts(exportReceipts(receipts), expected);

describe('an export', () => {
  test('that is whole verifies, and says what it ends with', () => {
    const receipts = receiptChain(5);
    const result = { ok: true, continuationId: ID, receipts: 5, head: headOf(receipts) };
    expect(check(receipts)).toEqual(result);
    expect(check(receipts, { head: headOf(receipts), continuationId: ID })).toEqual(result);
  });

  test('names what was done to it', () => {
    const receipts = receiptChain(5);
    const [a, b, c, d, e] = receipts as [Receipt, Receipt, Receipt, Receipt, Receipt];
    const edited = { ...c, body: c.body.replace('"n":2', '"n":3') };
    const head = headOf(receipts);
    const cases: Array<[string, Receipt[], object, object]> = [
      ['edited', [a, b, edited, d, e], {}, { fault: 'edited', sequence: 3 }],
      ['relabelled', [a, b, { ...c, kind: 'stopped' }, d, e], {}, { fault: 'edited', sequence: 3 }],
      ['redated', [a, b, { ...c, at: d.at }, d, e], {}, { fault: 'edited', sequence: 3 }],
      ['missing', [a, b, d, e], {}, { fault: 'missing', sequence: 3 }],
      ['first missing', [b, c, d, e], {}, { fault: 'missing', sequence: 1 }],
      ['reordered', [a, c, b, d, e], {}, { fault: 'reordered', sequence: 3 }],
      ['twice', [a, b, b, c, d, e], {}, { fault: 'reordered', sequence: 2 }],
      [
        'foreign',
        [a, b, receiptChain(3, ID.replace('01', '09'))[2] as Receipt, d, e],
        {},
        { fault: 'foreign', sequence: 3 },
      ],
      ['another one altogether', receipts, { continuationId: 'cont_other' }, { fault: 'foreign', sequence: 1 }],
      ['cut off', [a, b, c], { head }, { fault: 'cut_off', sequence: 3 }],
      [
        'rewritten as a whole',
        receiptChain(5, ID)
          .map((one) => ({ ...one }))
          .slice(0, 4),
        { head },
        { fault: 'cut_off' },
      ],
    ];
    for (const [what, given, expected, found] of cases)
      expect(check(given, expected), what).toMatchObject({ ok: false, ...found });
    expect(verifyReceipts('')).toMatchObject({ ok: false });
    expect(verifyReceipts('{"sequence":1}\n')).toMatchObject({ ok: false, fault: 'malformed', sequence: 1 });
  });

  test('with any one character changed, any line lost, doubled or moved does not verify against its head', () => {
    const receipts = receiptChain(4);
    const text = exportReceipts(receipts);
    const head = headOf(receipts);
    const character = fc.tuple(fc.nat(text.length - 2), fc.string({ minLength: 1, maxLength: 1 }));
    fc.assert(
      fc.property(character, ([at, other]) => {
        fc.pre(text[at] !== other);
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        expect(verifyReceipts(changed, { head }).ok).toBe(false);
      }),
      { numRuns: 2000 },
    );
    const lines = text.trimEnd().split('\n');
    const index = fc.nat(lines.length - 1);
    fc.assert(
      fc.property(index, index, (from, to) => {
        const lost = lines.filter((_, i) => i !== from);
        const doubled = [...lines.slice(0, from), lines[from], ...lines.slice(from)];
        const moved = [...lost.slice(0, to), lines[from], ...lost.slice(to)];
        for (const given of [lost, doubled, ...(from === to ? [] : [moved])])
          expect(verifyReceipts(given.join('\n'), { head }).ok).toBe(false);
      }),
    );
  });
});
