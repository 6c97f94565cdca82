/** Checks what was stored by another version, or by hand. */
import { ContinuationError } from '../errors.ts';
import { formatPath } from '../json.ts';
import type { MalformedRow } from '../ports.ts';
import { ContinuationRecord } from '../schema.ts';

/** The record of a row; a malformed one is an error that says where. */
export function parseRecord(id: string, record: unknown): ContinuationRecord {
  const read = readRecord(id, record);
  if ('record' in read) return read.record;
  throw new ContinuationError('record_malformed', read.message);
}

/** The record of a row, or what is wrong with it. */
export function readRecord(id: string, record: unknown): { record: ContinuationRecord } | MalformedRow {
  const parsed = ContinuationRecord.safeParse(record);
  if (parsed.success) return { record: parsed.data };
  const [issue] = parsed.error.issues;
  const where = formatPath(issue?.path ?? []);
  return { id, message: `the stored record of ${id} is malformed: ${where || 'it'}: ${issue?.message}` };
}
