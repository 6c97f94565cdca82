/** What can happen to a continuation. Times, ids and digests are made at the edges and come in here. Types only. */
import type {
  Answer,
  Cause,
  ContinuationRecord,
  DeliveryResult,
  HarnessResult,
  Message,
  PendingRecord,
  Reconciliation,
  Refused,
  StatedVerdict,
  TerminalReason,
  Uncertain,
  Winner,
} from './schema.ts';

/** What `step` makes of an event. `repeated`: this very message was accepted before; its first outcome stands. */
export type Step =
  | { readonly ok: true; readonly record: ContinuationRecord }
  | Refused
  | { readonly ok: false; readonly repeated: Winner; readonly refusal?: never };

/** Everything about an answer but what the rules decide. */
export type Sender = Omit<Answer, 'suspensionId' | 'type' | 'decision' | 'calls' | 'acceptedAt'>;

/** A new pause as its result describes it, with ids, digests and content references filled in. */
export type NewSuspension = Pick<PendingRecord, 'waitFor' | 'suspension' | 'continuation'> & {
  readonly ok: true;
  readonly stopReason: string;
};

interface At {
  /** ISO 8601 UTC with milliseconds; becomes `updatedAt`. */
  readonly at: string;
}
interface OfTurn extends At {
  readonly turnId: string;
}
interface OfAttempt extends OfTurn {
  readonly attempt: number;
  readonly startedAt: string;
}

export interface Answered extends At {
  /** `taken`: whoever answers runs the turn, so that accepting the answer ends the continuation (000, interactive). */
  readonly type: 'answered' | 'taken';
  readonly message: Message;
  readonly answer: Sender;
  /** What it decides about each call that waits. */
  readonly verdicts: readonly StatedVerdict[];
}
export interface Stopped extends At {
  readonly type: 'stopped';
  readonly reason: TerminalReason;
  readonly metadata?: ContinuationRecord['metadata'];
  readonly supersededBy?: string;
  readonly error?: Cause;
}
export interface Extended extends At {
  readonly type: 'extended';
  readonly expiresAt: string;
}
export interface TurnSettled extends OfAttempt {
  readonly type: 'turnSettled';
  readonly result: Pick<HarnessResult, 'outcome'>;
  /** For a result that pauses again: the new pause, or why it is none. */
  readonly suspension?: NewSuspension | Refused;
  /** Whether this worker can deliver a follow-up. */
  readonly deliverable: boolean;
}
/** An operator decided an unknown outcome (001 `ResumeClosure`); with `happened`, what the turn came to. */
export interface Reconciled extends OfTurn {
  readonly type: 'reconciled';
  readonly attempt: number;
  readonly reconciliation: Reconciliation;
  readonly settled?: Pick<TurnSettled, 'result' | 'suspension' | 'deliverable'>;
}

export type ContinuationEvent =
  | Answered
  | (At & { readonly type: 'woke' | 'noAnswer'; readonly answer: Sender })
  | (At & { readonly type: 'expired' })
  | Stopped
  | Extended
  | (OfAttempt & { readonly type: 'attemptEnded'; readonly error: Cause })
  | TurnSettled
  | (OfAttempt & { readonly type: 'turnFailed'; readonly error: Cause; readonly exhausted?: boolean })
  | (OfAttempt & { readonly type: 'turnUncertain'; readonly uncertain: Uncertain })
  | (OfTurn & Omit<Stopped, 'type'> & { readonly type: 'turnClosed' })
  | Reconciled
  | (At & {
      readonly type: 'delivered';
      readonly deliveryId: string;
      readonly status: DeliveryResult['status'] | 'not_applicable';
      readonly attemptedAt?: string;
      readonly deliveredAt?: string;
      readonly error?: string;
      readonly metadata?: DeliveryResult['metadata'];
    })
  | (At & { readonly type: 'deliveryUncertain'; readonly deliveryId: string; readonly error: string });
