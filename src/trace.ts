/** 002's trace events, filled from a record. */

import type { Trace, TraceEvent } from './ports.ts';
import { isTerminal } from './record.ts';
import type { ContinuationRecord } from './schema.ts';

export function traceOf(
  type: TraceEvent['type'],
  record: ContinuationRecord,
  timestamp: string,
  code?: string,
): TraceEvent {
  return {
    type,
    continuationId: record.id,
    assistantId: record.assistantId,
    originTurnId: record.origin.turnId,
    status: record.status,
    waitFor: record.waitFor.type,
    ...(record.sessionId && { sessionId: record.sessionId }),
    ...(record.resume && { resumedTurnId: record.resume.turnId }),
    ...(record.terminalReason && { terminalReason: record.terminalReason }),
    ...(code && { code }),
    timestamp,
  };
}

/** The events of an end: what expired is told as such, and every end as terminated. */
export function traceEnd(trace: Trace | undefined, record: ContinuationRecord, timestamp: string): void {
  if (!isTerminal(record)) return;
  if (record.status === 'expired') trace?.emit(traceOf('continuation_expired', record, timestamp));
  trace?.emit(traceOf('continuation_terminated', record, timestamp));
}
