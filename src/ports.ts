/** What can be replaced: harness, delivery, trace, and the store's four parts. No vendor type appears here. */

import type { Events, Keys, Metrics, Outbox, Requests } from './access-ports.ts';
import type { Content } from './content.ts';
import type { DecidedCall } from './decision.ts';
import type { Json } from './json.ts';
import type { ShownStatus } from './record.ts';
import type {
  ContentRef,
  ContinuationRecord,
  DeliveryResult,
  HarnessResult,
  HarnessResultInput,
  ResumeTrigger,
  ResumingRecord,
  TerminalReason,
  WaitCondition,
} from './schema.ts';
import type { JournalEntry, TurnJournal, Turns } from './turn-ports.ts';

/** A turn to run: the record with its state put back, and the answer that resumes it. */
export interface ResumedTurn {
  readonly continuation: ResumingRecord & { readonly continuation: { readonly state: unknown } };
  readonly trigger: ResumeTrigger;
  /** The calls that waited, in the model's order, each with what was decided about it; empty when none did. */
  readonly calls: readonly DecidedCall[];
  readonly resumedTurnId: string;
  /** 1 for the first execution of this turn; more after a recorded transient failure. */
  readonly attempt: number;
  /**
   * Runs something that must not happen twice, at most once for `key` in this turn, over all its attempts: done before, its value
   * comes back and nothing runs; started before without a recorded end, it throws `OutcomeUnknown`, unless it is declared
   * idempotent: then it runs again with the same `id`, which is for whoever can recognise a repeat (`Idempotency-Key`). A
   * `TransientError` says that it surely did not happen (C7, C8).
   */
  effect<T extends Json | undefined>(
    key: string,
    run: (id: string) => Promise<T> | T,
    options?: { readonly idempotent?: boolean },
  ): Promise<T>;
  /** For harnesses that keep a journal of their own steps, such as the turn engine. */
  readonly journal: HarnessJournal;
  /** Aborted by a stop, a timeout or the shutdown of the worker; stop soon and throw. */
  readonly signal: AbortSignal;
}

export interface HarnessJournal {
  /** What earlier attempts of this turn wrote, and what an operator said of its effects. */
  read(): Promise<TurnJournal>;
  /** Throws `OutcomeUnknown` when another execution holds the turn. */
  write(entry: Omit<JournalEntry, 'turnId' | 'fence'>): Promise<void>;
  /** The last attempt of which an operator said that nothing of what was unknown happened; 0 for none. */
  readonly didNotHappenUpTo: number;
}

/** Runs a resumed turn (002 `HarnessAdapter`). */
export interface Harness {
  /**
   * Resolves with how the turn ended. Throwing ends the attempt: `TransientError` runs the same turn again with the same
   * answer, `OutcomeUnknown` asks an operator, any other error fails the continuation.
   */
  runResumedTurn(turn: ResumedTurn): Promise<HarnessResultInput>;
  /** The harness may run a turn again whose end was never recorded. Default false: such a turn becomes unknown (C7, C8). */
  readonly replayable?: boolean;
}

/** A kind of state that is checked at every pause, because nobody can repair it once somebody has answered. */
export interface StateKind {
  readonly mediaType: string;
  /** What is wrong with a state, in words, or undefined. */
  fault(bytes: Uint8Array): string | undefined;
}

export interface DeliveryInput {
  readonly continuation: ContinuationRecord;
  readonly harnessResult: HarnessResult;
  /** The same for every attempt of one follow-up. */
  readonly deliveryId: string;
  readonly signal: AbortSignal;
}

/** Brings follow-ups and questions to people (002 `DeliveryAdapter`). */
export interface Delivery {
  /** A throw is retried within `bounds.deliveryBudgetMs`; `OutcomeUnknown` ends as `delivery_failed`, uncertain. */
  deliver(input: DeliveryInput): Promise<DeliveryResult>;
  /**
   * Brings a new question to whoever must answer, once per suspension, or an unknown outcome (`record.resume.uncertain`) to an
   * operator; a throw is retried for a while.
   */
  announce?(record: ContinuationRecord): Promise<void>;
  /** `deliver` recognises its `deliveryId`, so it may be called again after a crash. Default false. */
  readonly idempotent?: boolean;
}

/** One of 002's ten trace events. */
export interface TraceEvent {
  readonly type:
    | 'continuation_created'
    | 'continuation_creation_rejected'
    | 'continuation_resume_requested'
    | 'continuation_resume_rejected'
    | 'continuation_expired'
    | 'continuation_resumed_turn_started'
    | 'continuation_resumed_turn_finished'
    | 'continuation_delivery_attempted'
    | 'continuation_delivery_finalized'
    | 'continuation_terminated';
  readonly continuationId?: string;
  readonly assistantId?: string;
  readonly sessionId?: string;
  readonly originTurnId?: string;
  readonly resumedTurnId?: string;
  readonly status?: ContinuationRecord['status'];
  readonly waitFor?: WaitCondition['type'];
  readonly terminalReason?: TerminalReason;
  /** For the two rejections: the refusal's code. */
  readonly code?: string;
  readonly timestamp: string;
}
export interface Trace {
  emit(event: TraceEvent): void;
}

export type {
  BeginDelivery,
  BeginTurn,
  Begun,
  BegunEffect,
  Closed,
  CloseTurn,
  DeliveryBegun,
  EndDelivery,
  Ended,
  EndTurn,
  Execution,
  Grant,
  JournalEntry,
  ReconcileTurn,
  TurnJournal,
  TurnState,
  Turns,
} from './turn-ports.ts';

/* The store */

/** A fact to append to a continuation's receipts; `body` is canonical JSON, `cause` makes it unique. */
export interface NewReceipt {
  readonly kind: string;
  readonly cause: string;
  readonly at: string;
  readonly body: string;
}

/** A stored receipt, linked to the one before: digest = SHA-256 of `previous\nsequence\nsha256(body)`, hex. */
export interface Receipt extends NewReceipt {
  readonly continuationId: string;
  readonly sequence: number;
  readonly digest: string;
}

/** A record as it is stored now, and the head of its receipts. */
export interface Stored {
  readonly record: ContinuationRecord;
  readonly receiptsHead: string;
}

/** A row that cannot be read: stored by another version, or changed by hand. */
export interface MalformedRow {
  readonly id: string;
  /** What is wrong with it, and where. */
  readonly message: string;
}
export interface Page {
  readonly records: ContinuationRecord[];
  /** Rows of the page that cannot be read, for an operator to look at; absent when there are none. */
  readonly malformed?: readonly MalformedRow[];
  /** Pass as `after` for the next page; absent on the last one. */
  readonly next?: string;
}

export interface ListQuery {
  /** The scope and all scopes below it. */
  readonly scope: string;
  /** `uncertain`: a turn whose outcome is unknown; `open`: pending or resuming; `ended`: all others. */
  readonly status?: ShownStatus | 'open' | 'ended';
  readonly waitFor?: WaitCondition['type'];
  readonly sessionId?: string;
  readonly assistantId?: string;
  /** Those whose question, or the name of a call that waits, has words that begin like each of these. */
  readonly text?: string;
  /** Those that accepted this message. */
  readonly answeredBy?: { readonly subject: string; readonly messageId: string };
  /** `deadline`: the nearest first, for what is open; `latest`: the last change first, for what has ended. Default: oldest first. */
  readonly order?: 'deadline' | 'latest';
  /** Exclusive cursor: the `next` of the page before, in the same order. */
  readonly after?: string;
  /** 1..256, default 50. */
  readonly limit?: number;
}

export interface NewContinuation {
  readonly record: ContinuationRecord;
  /** Digest of the input before defaults: tells a repeated create from a conflicting one. */
  readonly inputDigest: string;
  readonly contents: readonly Content[];
  readonly receipt: NewReceipt;
  readonly supersede: boolean;
}
export interface Created extends Stored {
  readonly created: boolean;
  readonly inputDigest: string;
  /** Ids of the waiting continuations that this one superseded. */
  readonly superseded: readonly string[];
}

/** Rows of continuations. Reads take the caller's scope; what looks across says so (C16). */
export interface Records {
  /** One transaction: row, contents, receipt, supersede marks. A known idempotency key returns what is there. */
  create(input: NewContinuation): Promise<Created>;
  get(scope: string, id: string): Promise<Stored | null>;
  getAcrossScopes(id: string): Promise<Stored | null>;
  list(query: ListQuery): Promise<Page>;
  /** Writes `record` where its revision grows and the row is not terminal (C10, C14), and its receipts; returns what is there after it. */
  write(record: ContinuationRecord, receipts: readonly NewReceipt[]): Promise<Stored | null>;
  markStarted(ids: readonly string[]): Promise<void>;
  /** Deletes a terminal record with all that belongs to it; false when there is none. */
  delete(scope: string, id: string): Promise<boolean>;
  /** Notes that a session was active at `at`; keeps the latest. */
  sessionActive(scope: string, sessionId: string, at: string): Promise<void>;
  /**
   * Calls back with the id of every continuation whose row changed, and the status that it then has where that is known, until
   * closed; `missed` when changes may have gone unheard (listening began, or began again). Best effort: poll as well.
   */
  onChange(heard: (id: string, status?: ShownStatus) => void, missed?: () => void): { close(): void };
}

export interface Contents {
  /** Stores contents that continuation `id` refers to. */
  putContents(scope: string, id: string, contents: readonly Content[]): Promise<void>;
  content(scope: string, ref: ContentRef): Promise<Content | null>;
}

export interface AdmittedReceipts {
  readonly receipts: readonly Receipt[];
  readonly more: boolean;
  readonly latest?: Receipt;
}
export interface Receipts {
  /** Oldest first; `after` is the last sequence seen. */
  receipts(scope: string, id: string, after?: number): Promise<Receipt[] | null>;
  /**
   * Those of accepted answers after `after`, oldest first and at most `limit`, and the latest of all; null unless the continuation
   * is of exactly this scope.
   */
  admittedReceipts(scope: string, id: string, page: { after: number; limit: number }): Promise<AdmittedReceipts | null>;
}

export interface Watched {
  readonly id: string;
  readonly reason: 'unstarted' | 'overdue' | 'unseen' | 'superseded';
}
export interface Census {
  readonly open: number;
  readonly overdue: number;
  readonly uncertain: number;
  readonly neverExpires: number;
}

/** What maintenance needs; it looks across scopes by nature. */
export interface Upkeep {
  /** Open rows to look at: never marked started, past the deadline, not seen for a day, or marked superseded. */
  dueAcrossScopes(query: { graceMs: number; unseenMs: number; limit: number }): Promise<Watched[]>;
  markSeen(ids: readonly string[]): Promise<void>;
  /** Deletes terminal records older than `retentionMs`, then contents that nothing refers to, unused for `graceMs`. */
  purgeAcrossScopes(limits: {
    retentionMs: number;
    graceMs: number;
    limit: number;
  }): Promise<{ records: number; contents: number }>;
  censusAcrossScopes(): Promise<Census>;
}

export interface Store extends Records, Contents, Turns, Receipts, Upkeep, Keys, Requests, Events, Metrics, Outbox {
  close(): Promise<void>;
}
