/** Reads what starts, answers, stops and extends a continuation, without trust: anyone can send anything (C15). */
import { ApplicationFailure, currentUpdateInfo } from '@temporalio/workflow';
import { next } from '../src/continuation.ts';
import type { Answered, Extended, Step } from '../src/events.ts';
import { jsonFault, utf8Length } from '../src/json.ts';
import { answeredEvent, readMessage } from '../src/message.ts';
import { reconciliationFault } from '../src/message-shape.ts';
import { STATUS_OF } from '../src/record.ts';
import type { ContinuationRecord, Refusal, TerminalReason, WaitType } from '../src/schema.ts';
import { currentDetails } from '../src/summary.ts';
import { type Life, now } from './life.ts';
import {
  type ContinuationOptions,
  type ContinuationStart,
  REPEATED,
  type ReconcileRequest,
  type StopRequest,
} from './messages.ts';

export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };
type Fields = Record<string, unknown>;

const MAX_METADATA_BYTES = 16 * 1024;
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function invalid(path: string, message: string): { ok: false; refusal: Refusal } {
  const refusal: Refusal = { code: 'invalid_input', message: path ? `${path} ${message}` : message };
  return { ok: false, refusal: path ? { ...refusal, path } : refusal };
}

/** The input of the workflow; an undecodable or foreign one fails it at once, or it would wait or fail its tasks for ever. */
export function readStart(given: unknown): ContinuationStart {
  const { record, options } = isObject(given) ? given : {};
  if (isObject(record) && record.schemaVersion === 1 && isOpen(record) && isObject(options)) {
    return given as ContinuationStart;
  }
  const message = 'The input is not that of an open continuation: start continuations with the client.';
  throw ApplicationFailure.nonRetryable(message, 'invalid_input');
}

/** Whether the rules can read it and something is left to do. */
function isOpen(record: Fields): boolean {
  try {
    const known = record as unknown as ContinuationRecord;
    currentDetails(known);
    return typeof known.id === 'string' && next(known).do !== 'finish';
  } catch {
    return false;
  }
}

/** An answer, from an update or from the signal named after its wait type. */
export function readAnswer(
  given: unknown,
  options: ContinuationOptions,
  type: Answered['type'],
  signal?: WaitType,
): Read<Answered> {
  const message = readMessage(given, signal);
  if (!message.ok) return invalid(message.path, message.message);
  if (!message.value.stamp && !options.directMessages) {
    const why = 'this continuation is answered through the client only';
    return { ok: false, refusal: { code: 'not_authorized', message: why } };
  }
  return { ok: true, value: { ...answeredEvent(message.value, now(), currentUpdateInfo()?.id), type } };
}

/**
 * What an operator says of an unknown outcome; only that of the very execution in question is decided. The row knows of it a
 * moment before the workflow does, so while the turn runs here it may be in question there.
 */
export function readReconciliation(given: unknown, life: Life): Read<ReconcileRequest> {
  const wrong = reconciliationFault(given);
  if (wrong) return invalid(wrong.path, wrong.message);
  const request = given as ReconcileRequest;
  const { turnId, attempt } = request;
  const { resume, status } = life.record;
  const inQuestion = resume?.uncertain && resume.attempt === attempt && !life.reconciliation;
  if (status === 'resuming' && resume?.turnId === turnId && (inQuestion || isRunning(life.record)))
    return { ok: true, value: request };
  const message = `the outcome of ${turnId}, attempt ${attempt}, is not in question`;
  return { ok: false, refusal: { code: 'already_resumed', message, status } };
}

/** Whether what becomes of the turn is still to be heard. */
export function isRunning(record: ContinuationRecord): boolean {
  return next(record).do === 'runTurn';
}

/** A stop; its metadata is merged into the record's (002), so it is measured together with that. */
export function readStop(given: unknown, record: ContinuationRecord): Read<StopRequest> {
  const { reason, metadata, supersededBy } = isObject(given) ? given : {};
  if (typeof reason !== 'string' || !Object.hasOwn(STATUS_OF, reason)) {
    return invalid('reason', `must be one of ${Object.keys(STATUS_OF).join(', ')}`);
  }
  if (metadata !== undefined && !isMetadata(metadata, record)) {
    return invalid('metadata', "must be a JSON object that keeps the record's metadata within 16 KiB");
  }
  const value = {
    reason: reason as TerminalReason,
    ...(metadata !== undefined && { metadata }),
    ...(typeof supersededBy === 'string' && { supersededBy }),
  };
  return { ok: true, value };
}

function isMetadata(value: unknown, record: ContinuationRecord): value is NonNullable<StopRequest['metadata']> {
  if (!isObject(value) || jsonFault(value)) return false;
  return utf8Length(JSON.stringify({ ...record.metadata, ...value })) <= MAX_METADATA_BYTES;
}

export function readExtension(given: unknown): Read<Extended> {
  const { expiresAt } = isObject(given) ? given : {};
  const instant = typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.NaN;
  if (Number.isNaN(instant)) return invalid('expiresAt', 'must be an ISO 8601 time');
  return { ok: true, value: { type: 'extended', at: now(), expiresAt: new Date(instant).toISOString() } };
}

/** How an update tells its caller why not: the code as type, the refusal (with the winner) as details. */
export function failureOf(result: Exclude<Step, { ok: true }>, record: ContinuationRecord): ApplicationFailure {
  if (result.refusal) {
    const { code, message } = result.refusal;
    return ApplicationFailure.create({ type: code, message, nonRetryable: true, details: [result.refusal] });
  }
  const message = 'this message was accepted before';
  return ApplicationFailure.create({ type: REPEATED, message, nonRetryable: true, details: [result.repeated, record] });
}
