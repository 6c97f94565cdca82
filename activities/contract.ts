/** What the workflows ask of the world. Node-free: the workflow bundle sees only these types. */
import type { Cause, ContinuationRecord, ResumingRecord, TerminalReason } from '../src/schema.ts';
import type { ReconcileRequest } from '../workflows/messages.ts';

/** What an activity committed: the workflow adopts the record verbatim and never recomputes it. */
export interface Committed {
  readonly record: ContinuationRecord;
  readonly receiptsHead: string;
}
export interface RecordAt {
  readonly record: ContinuationRecord;
  /** The workflow's clock when it asked, ISO. */
  readonly now: string;
}
export interface CloseTurnInput extends RecordAt {
  readonly turnId: string;
  readonly reason: TerminalReason;
  readonly metadata?: ContinuationRecord['metadata'];
  readonly supersededBy?: string;
  readonly error?: Cause;
  /** Expire an answer whose turn has not started (001); one that started goes on. */
  readonly onlyIfNotStarted?: boolean;
  /** Where the turn had ended, its follow-up is not touched: an attempt to deliver it may be under way. */
  readonly leaveFollowUp?: boolean;
}

export interface ReconcileTurnInput extends ReconcileRequest {
  readonly record: ResumingRecord;
  /** The workflow's clock when it asked, ISO. */
  readonly now: string;
}

export interface Activities {
  /** Runs the resumed turn at most once to a recorded end, and makes the first attempt to deliver its follow-up. */
  runTurn(input: RecordAt): Promise<Committed>;
  /** Ends the turn under its lock, or returns how it had ended. `started`: it runs and was left alone. */
  closeTurn(input: CloseTurnInput): Promise<Committed & { readonly started?: true }>;
  /** Carries out an operator's decision about an unknown outcome, or returns what had been decided. */
  reconcile(input: ReconcileTurnInput): Promise<Committed>;
  /** Delivers or truthfully suppresses a follow-up that is still to be brought. */
  deliver(input: RecordAt): Promise<Committed>;
  /** Makes a question or its new deadline visible; a new question is brought to whoever must answer. */
  open(input: { readonly record: ContinuationRecord; readonly announce: boolean }): Promise<Committed>;
  /** Writes an end without a turn. */
  project(input: { readonly record: ContinuationRecord }): Promise<Committed>;
}

export interface MaintenanceReport {
  readonly started: number;
  readonly repaired: number;
  readonly superseded: number;
  readonly purgedRecords: number;
  readonly purgedContents: number;
  readonly open: number;
  readonly overdue: number;
  readonly uncertain: number;
  readonly neverExpires: number;
}
export interface MaintenanceActivities {
  /** One pass over what nobody else would notice (C13). */
  maintain(): Promise<MaintenanceReport>;
}
