/** What the Temporal UI shows: text of users and models is text there, whatever it contains. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContinuationRecord } from '../src/schema.ts';
import { currentDetails, exampleAnswer, fenced, line, literal, staticDetails, staticSummary } from '../src/summary.ts';
import { APPROVAL, first } from './support/builders.ts';

function pendingRecord(question: string): ContinuationRecord {
  const record = first({ waitFor: APPROVAL });
  return { ...record, suspension: { ...record.suspension, question } };
}

describe('literal text', () => {
  test('keeps letters, digits, spaces and a few marks, in any script', () => {
    expect(literal('Rückgabe 42, oder nicht; ja?')).toBe('Rückgabe 42, oder nicht; ja?');
  });

  test('turns everything that markdown, HTML or maths could read into entities', () => {
    expect(literal('<b>*$x$*`')).toBe('&#60;b&#62;&#42;&#36;x&#36;&#42;&#96;');
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        (text) => !/[<>*_`$[\]\\|~\x22]/.test(literal(text).replaceAll('<br>', '')),
      ),
    );
  });
});

describe('a code fence', () => {
  test('is longer than any run of backticks inside', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('`', 'a', '\n')), (parts) => {
        const code = parts.join('');
        const [fence = ''] = fenced(code).match(/^`+/) ?? [];
        expect(code).not.toContain(fence);
      }),
    );
  });
});

describe('one line', () => {
  test('has no line breaks, no markup, and at most 200 characters', () => {
    expect(line('a\n<b>\u0007 c')).toBe('a b c');
    expect([...line('😀'.repeat(500))]).toHaveLength(200);
  });
});

describe('of a waiting continuation', () => {
  const record = pendingRecord('May I <script>refund</script> $5?');

  test('the summary names assistant, wait and question', () => {
    expect(staticSummary(record)).toMatch(/^support waits for an approval \(approvalId appr_1\): May I /);
  });

  test('no address in a question becomes a link, which the UI makes of bare ones', () => {
    const summary = staticSummary(pendingRecord('See https://evil.example, www.evil.example or me@evil.example?'));
    expect(summary).toMatch(/: See https: \/\/evil\.example, www \.evil\.example or me @ evil\.example\?$/);
  });

  test('details hold the question as text and the JSON to send, current ones stay short', () => {
    expect(staticDetails(record, 'https://inbox.example/a b')).not.toContain('<script>');
    expect(staticDetails(record, 'https://inbox.example/a b')).toContain('https://inbox.example/a%20b');
    expect(staticDetails(record)).toContain('"approvalId": "appr_1"');
    expect(currentDetails(pendingRecord('?'.repeat(4000))).length).toBeLessThanOrEqual(4096);
  });

  test('the example answers this wait', () => {
    expect(exampleAnswer(record)).toEqual({ approvalId: 'appr_1', decision: 'approved' });
  });
});
