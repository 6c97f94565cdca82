/** Checks what was stored by another version, or by hand. */
import { ContinuationError } from '../errors.ts';
import { formatPath } from '../json.ts';
import { ContinuationRecord } from '../schema.ts';

/** The record of a row; a malformed one is an error that says where. */
export function parseRecord(id: string, record: unknown): ContinuationRecord {
  const parsed = ContinuationRecord.safeParse(record);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = formatPath(issue?.path ?? []);
  throw new ContinuationError(
    'record_malformed',
    `the stored record of ${id} is malformed: ${where || 'it'}: ${issue?.message}`,
  );
}
