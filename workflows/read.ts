/** Reads what starts, stops and extends a continuation, without trust: anyone can send anything (C15). */
import { ApplicationFailure } from '@temporalio/workflow';
import { isTerminal, STATUS_OF } from '../src/continuation.ts';
import type { Step } from '../src/events.ts';
import { jsonFault } from '../src/json.ts';
import type { ContinuationRecord, Refusal, TerminalReason } from '../src/schema.ts';
import { type ContinuationStart, REPEATED, type StopRequest } from './messages.ts';

type Fields = Record<string, unknown>;
const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export function invalid(path: string, message: string): { ok: false; refusal: Refusal } {
  return { ok: false, refusal: { code: 'invalid_input', message: path ? `${path} ${message}` : message, ...(path && { path }) } };
}

/** The input of the workflow; an undecodable or foreign one fails it at once, or it would wait for ever. */
export function readStart(given: unknown): ContinuationStart {
  const { record, options } = isObject(given) ? given : {};
  const known = isObject(record) && record.schemaVersion === 1 && typeof record.id === 'string' && isObject(record.suspension);
  if (known && isObject(options) && !isTerminal(record as ContinuationRecord)) return given as ContinuationStart;
  throw ApplicationFailure.nonRetryable('The input is not that of an open continuation: start continuations with the client.', 'invalid_input');
}

export function readStop(given: unknown): { ok: true; stop: StopRequest } | { ok: false; refusal: Refusal } {
  const { reason, metadata, supersededBy } = isObject(given) ? given : {};
  if (typeof reason !== 'string' || !Object.hasOwn(STATUS_OF, reason)) {
    return invalid('reason', `must be one of ${Object.keys(STATUS_OF).join(', ')}`);
  }
  if (metadata !== undefined && (!isObject(metadata) || jsonFault(metadata) || JSON.stringify(metadata).length > 16 * 1024)) {
    return invalid('metadata', 'must be a JSON object of at most 16 KiB');
  }
  return {
    ok: true,
    stop: {
      reason: reason as TerminalReason,
      ...(metadata !== undefined && { metadata: metadata as NonNullable<StopRequest['metadata']> }),
      ...(typeof supersededBy === 'string' && { supersededBy }),
    },
  };
}

export function readDeadline(given: unknown): { ok: true; expiresAt: string } | { ok: false; refusal: Refusal } {
  const { expiresAt } = isObject(given) ? given : {};
  const instant = typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.NaN;
  if (Number.isNaN(instant)) return invalid('expiresAt', 'must be an ISO 8601 time');
  return { ok: true, expiresAt: new Date(instant).toISOString() };
}

/** How an update tells its caller why not: the code as type, the refusal (with the winner) as details. */
export function failureOf(result: Exclude<Step, { ok: true }>, record: ContinuationRecord): ApplicationFailure {
  if (result.refusal) {
    const { code, message } = result.refusal;
    return ApplicationFailure.create({ type: code, message, nonRetryable: true, details: [result.refusal] });
  }
  return ApplicationFailure.create({
    type: REPEATED,
    message: 'this message was accepted before',
    nonRetryable: true,
    details: [result.repeated, record],
  });
}
