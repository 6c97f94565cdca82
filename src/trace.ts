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

/** A trace only watches: what it throws must not become the outcome of a turn or an answer. */
export function harmless(trace: Trace | undefined, warn: (message: string) => void): Trace | undefined {
  if (!trace) return undefined;
  return {
    emit(event) {
      const failed = (error: unknown) => warn(`The trace failed at ${event.type}: ${error}`);
      try {
        Promise.resolve(trace.emit(event)).catch(failed);
      } catch (error) {
        failed(error);
      }
    },
  };
}
