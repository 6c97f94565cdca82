/** The record itself: how it is read, and how a new revision of it is made. Pure; what may happen is decided elsewhere. */
import type { Step, Stopped } from './events.ts';
import type {
  Answer,
  Bounds,
  ContinuationRecord,
  FinalDeliveryStatus,
  Refusal,
  RefusalCode,
  ResumingRecord,
  TerminalReason,
  TerminalRecord,
  WaitCondition,
  Winner,
} from './schema.ts';

const HOUR = 3_600_000;
export const DEFAULT_TTL: Record<WaitCondition['type'], number> = {
  user_reply: HOUR,
  approval_resolution: 24 * HOUR,
  external_result: HOUR,
  agent_reply: HOUR,
  scheduled_wake: HOUR,
};

/** A fresh deadline for a wait: its type's TTL, for a wake counted from the wake. */
export function deadline(bounds: Bounds, waitFor: WaitCondition, at: string): Pick<Bounds, 'expiresAt'> {
  if (bounds.neverExpires) return {};
  const wakeAt = waitFor.type === 'scheduled_wake' ? waitFor.wakeAt : undefined;
  const from = wakeAt && wakeAt > at ? wakeAt : at;
  return { expiresAt: later(from, bounds.ttl?.[waitFor.type] ?? DEFAULT_TTL[waitFor.type]) };
}

/** A status as it is shown: an unknown outcome is told apart from a turn that runs. */
export type ShownStatus = ContinuationRecord['status'] | 'uncertain';

export function shownStatus(record: ContinuationRecord): ShownStatus {
  return record.status === 'resuming' && record.resume.uncertain ? 'uncertain' : record.status;
}

type WithoutRevision<R> = Partial<Omit<R, 'revision' | 'updatedAt'>>;

export function changed<R extends ContinuationRecord>(
  record: ContinuationRecord,
  at: string,
  changes: WithoutRevision<R>,
): Step {
  const updatedAt = at > record.updatedAt ? at : record.updatedAt;
  return {
    ok: true,
    record: { ...record, ...changes, revision: record.revision + 1, updatedAt } as ContinuationRecord,
  };
}

export const STATUS_OF: Record<TerminalReason, TerminalRecord['status']> = {
  completed: 'completed',
  cancelled_by_user: 'cancelled',
  cancelled_by_product: 'cancelled',
  approval_denied: 'cancelled',
  expired_ttl: 'expired',
  superseded_by_newer_turn: 'superseded',
  invalid_resume_trigger: 'failed',
  max_resume_attempts_reached: 'failed',
  resume_runtime_error: 'failed',
  delivery_failed: 'failed',
  session_no_longer_deliverable: 'failed',
};

/** Ends a continuation without a follow-up to deliver (C11). */
export function end(
  record: ContinuationRecord,
  at: string,
  reason: TerminalReason,
  changes: Partial<TerminalRecord> = {},
): TerminalRecord {
  const { delivery } = record;
  const status = delivery.status === 'pending_delivery' ? deliveryAtEnd(reason) : delivery.status;
  return ended(record, at, reason, { delivery: { ...delivery, status }, ...changes });
}

/** Ends a continuation whose turn had ended, with what became of its follow-up. */
export function finish(
  record: ResumingRecord,
  at: string,
  delivery: Omit<TerminalRecord['delivery'], 'target'>,
  changes: Partial<TerminalRecord> = {},
): TerminalRecord {
  const reason = record.resume.outcome === 'completed' ? 'completed' : 'resume_runtime_error';
  return ended(record, at, reason, { delivery: { ...record.delivery, ...delivery }, ...changes });
}

function ended(
  record: ContinuationRecord,
  at: string,
  reason: TerminalReason,
  changes: Partial<TerminalRecord>,
): TerminalRecord {
  const updatedAt = at > record.updatedAt ? at : record.updatedAt;
  const revision = record.revision + 1;
  return {
    ...record,
    ...changes,
    status: STATUS_OF[reason],
    terminalReason: reason,
    revision,
    updatedAt,
  } as TerminalRecord;
}

export function deliveryAtEnd(reason: TerminalReason): FinalDeliveryStatus {
  switch (reason) {
    case 'expired_ttl':
      return 'suppressed_expired';
    case 'superseded_by_newer_turn':
      return 'suppressed_superseded';
    case 'session_no_longer_deliverable':
      return 'suppressed_session_reengaged';
    case 'delivery_failed':
      return 'delivery_failed';
    default:
      return 'not_applicable';
  }
}

/** What a stop leaves in the record that it ends. */
export function stopFields(
  record: ContinuationRecord,
  event: Pick<Stopped, 'metadata' | 'supersededBy' | 'error'>,
): Partial<TerminalRecord> {
  return {
    ...(event.metadata && { metadata: { ...record.metadata, ...event.metadata } }),
    ...(event.supersededBy && { supersededBy: event.supersededBy }),
    ...(event.error && { error: event.error }),
  };
}

/* Reading records */

export function isTerminal(record: ContinuationRecord): record is TerminalRecord {
  return record.status !== 'pending' && record.status !== 'resuming';
}

/** The answer that is being carried out. */
export function resolution(record: ContinuationRecord): Answer | undefined {
  return record.status === 'resuming' ? record.answers.at(-1) : undefined;
}

/** An answer as others are told about it: without what it said. */
export function winnerOf({ input, calls, permissions, metadata, ...winner }: Answer): Winner {
  return winner;
}

/** Who won the suspension that an answer names; without a name, the last one (C1). */
export function winnerFor(record: ContinuationRecord, suspensionId: string | undefined): Answer | undefined {
  if (suspensionId === undefined) return record.answers.at(-1);
  return record.answers.find((answer) => answer.suspensionId === suspensionId);
}

/** At the deadline is after it (001, 002). */
export function isPast(bounds: Bounds, instant: string): boolean {
  return bounds.expiresAt !== undefined && instant >= bounds.expiresAt;
}

export function refusal(record: ContinuationRecord, code: RefusalCode, message: string, winner?: Answer): Refusal {
  return { code, message, status: record.status, ...(winner && { winner: winnerOf(winner) }) };
}

export function refuse(record: ContinuationRecord, code: RefusalCode, message: string, winner?: Answer): Step {
  return { ok: false, refusal: refusal(record, code, message, winner) };
}

export function alreadyEnded(record: TerminalRecord): Step {
  return refuse(
    record,
    'already_terminal',
    `the continuation has ended: ${record.terminalReason}`,
    record.answers.at(-1),
  );
}

/** The last instant that has a four-digit year: a later one is neither ISO 8601 as we write it nor in order as text. */
const END_OF_TIME = Date.parse('9999-12-31T23:59:59.999Z');

export function later(instant: string, ms: number): string {
  return new Date(Math.min(Date.parse(instant) + ms, END_OF_TIME)).toISOString();
}
