/**
 * C15: whatever somebody sends or stores is read without a throw: it is accepted, or refused with the place that is wrong.
 * `FUZZ_CASES` is the number of cases of each property (default 2,000).
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { step } from '../src/continuation.ts';
import { isContinuationError } from '../src/errors.ts';
import { answeredEvent, readMessage } from '../src/message.ts';
import { reconciliationFault } from '../src/message-shape.ts';
import { parseInput } from '../src/parse.ts';
import {
  ContinuationRecord,
  CreateInput,
  ExtendInput,
  HarnessResult,
  ReconcileInput,
  ResumeInput,
  StopInput,
} from '../src/schema.ts';
import { parseRecord } from '../src/store/parse.ts';
import { EVERY_WAIT, first, later, MINUTE, matching } from './support/builders.ts';
import { broken, hostile, numRuns } from './support/hostile.ts';

describe('C15: hostile input', () => {
  test.each(EVERY_WAIT)('an answer to $type is read, or refused, and decided without a throw', (waitFor) => {
    const record = first({ waitFor });
    fc.assert(
      fc.property(broken({ messageId: 'm', trigger: matching(waitFor) }), fc.boolean(), (given, signal) => {
        const read = readMessage(given, signal ? waitFor.type : undefined);
        if (!read.ok) {
          expect(read.message).toEqual(expect.any(String));
          return;
        }
        const before = JSON.stringify(record);
        const result = step(record, answeredEvent(read.value, later(MINUTE)));
        expect(JSON.stringify(record)).toBe(before);
        if (result.ok) expect(ContinuationRecord.safeParse(result.record).error).toBeUndefined();
      }),
      { numRuns },
    );
  });

  test.each(Object.entries({ CreateInput, ResumeInput, StopInput, ExtendInput, ReconcileInput, HarnessResult }))(
    '%s is parsed, or refused with a message',
    (_, schema) => {
      fc.assert(
        fc.property(hostile, (given) => {
          const parsed = parseInput(schema as typeof ResumeInput, given);
          if (!parsed.ok) expect(parsed.refusal).toMatchObject({ message: expect.any(String) });
        }),
        { numRuns },
      );
    },
  );

  test('an operator’s decision is read without a throw', () => {
    fc.assert(
      fc.property(hostile, (given) => void reconciliationFault(given)),
      { numRuns },
    );
  });

  test('a stored record that was changed by hand is read, or an error with its id', () => {
    const record = first();
    fc.assert(
      fc.property(broken(record), (given) => {
        try {
          parseRecord(record.id, given);
        } catch (error) {
          expect(isContinuationError(error, 'record_malformed')).toBe(true);
          expect((error as Error).message).toContain(record.id);
        }
      }),
      { numRuns },
    );
  });
});
