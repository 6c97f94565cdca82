/** How turns and deliveries run and end, as the store keeps it: decided under the lock of their row (C6). No vendor type appears here. */
import type { Content } from './content.ts';
import type { NewReceipt, Stored } from './ports.ts';
import type { Cause, ContinuationRecord, HarnessResult, ResumingRecord } from './schema.ts';

export type TurnState = 'running' | 'ended' | 'settled' | 'failed' | 'uncertain' | 'closed';

export interface BeginTurn {
  /** The record as the workflow accepted it. */
  readonly record: ResumingRecord;
  readonly token: string;
  readonly worker: string;
  readonly at: string;
  readonly replayable: boolean;
  readonly receipts: readonly NewReceipt[];
}
/** A granted execution: only its holder may write the turn (C6). */
export interface Grant {
  readonly fence: number;
  readonly attempt: number;
  readonly startedAt: string;
  /** Milliseconds that earlier attempts and the waits between them used of `resumeBudgetMs`. */
  readonly spentMs: number;
  readonly record: ResumingRecord;
}
/** What `beginTurn` found. Only `fresh` grants a run; `lost` grants the right to record that the outcome is unknown. */
export type Begun =
  | ({ readonly found: 'fresh'; readonly state: Content; readonly input?: Content } & Grant)
  | ({ readonly found: 'lost'; readonly worker?: string } & Grant)
  | ({ readonly found: 'finished' } & Stored)
  | { readonly found: 'superseded'; readonly by: string }
  | { readonly found: 'gone' };

export interface EndTurn {
  readonly turnId: string;
  readonly fence: number;
  readonly state: Exclude<TurnState, 'running' | 'closed'>;
  /** The record after it; the row keeps showing the old one when this one pauses again (`open` writes it). */
  readonly record: ContinuationRecord;
  readonly spentMs: number;
  readonly result?: HarnessResult;
  readonly contents?: readonly Content[];
  readonly receipt: NewReceipt;
}
export interface Ended extends Stored {
  /** False: another execution or a stop had decided; `record` is what it decided. */
  readonly accepted: boolean;
}

export interface CloseTurn {
  readonly turnId: string;
  readonly record: ContinuationRecord;
  /** Close only if the row still has the revision that `record` was computed from. */
  readonly basedOn: number;
  readonly onlyIfNotStarted: boolean;
  readonly receipt: NewReceipt;
}
export interface ReconcileTurn {
  readonly turnId: string;
  /** The execution whose outcome is unknown. */
  readonly attempt: number;
  /** `ended`: the turn runs again, what was unknown did not happen; the other states are its end. */
  readonly state: 'ended' | 'settled' | 'failed';
  /** Only this effect did not happen, or it came to `value`; refused when it is not in question. */
  readonly effect?: { readonly key: string; readonly value?: string };
  readonly record: ContinuationRecord;
  readonly result?: HarnessResult;
  readonly contents?: readonly Content[];
  readonly receipts: readonly NewReceipt[];
}
export type Closed =
  | ({ readonly closed: true } & Stored)
  /** `ended`: the turn had ended before; `started`: it runs; `moved`: the row changed, read it again. */
  | ({ readonly closed: false; readonly because: 'ended' | 'started' | 'moved' } & Stored);

export interface BeginDelivery {
  readonly deliveryId: string;
  readonly continuationId: string;
  readonly token: string;
  readonly at: string;
  readonly idempotent: boolean;
}
export type DeliveryBegun =
  | {
      readonly found: 'fresh';
      readonly record: ResumingRecord;
      readonly result: HarnessResult;
      readonly spentMs: number;
      readonly attempt: number;
    }
  | { readonly found: 'lost'; readonly record: ResumingRecord }
  | {
      readonly found: 'suppressed';
      readonly status: 'suppressed_superseded' | 'suppressed_session_reengaged';
      readonly record: ResumingRecord;
    }
  | ({ readonly found: 'finished' } & Stored)
  | { readonly found: 'gone' };

export interface EndDelivery {
  readonly deliveryId: string;
  readonly continuationId: string;
  readonly token: string;
  /** Absent: the attempt failed and is tried again. */
  readonly record?: ContinuationRecord;
  readonly spentMs: number;
  readonly receipt?: NewReceipt;
}

/** `undone`: it surely did not happen. */
export type EffectState = 'started' | 'done' | 'undone';

/** What is known about the last execution of a turn, for an operator. */
export interface Execution {
  readonly turnId: string;
  readonly state: TurnState;
  readonly attempt: number;
  readonly worker?: string;
  readonly startedAt?: string;
  /** Its journalled effects: those without an end are where the question is. */
  readonly effects: readonly { readonly key: string; readonly state: EffectState; readonly attempt: number }[];
  /** What superseded executions came to after all, by their fence. */
  readonly late: Readonly<Record<string, { outcome: string } | { error: Cause }>>;
}

/** One durable write of a turn that runs; bodies are kept as they are. */
export interface JournalEntry {
  readonly turnId: string;
  readonly fence: number;
  readonly events: readonly { readonly sequence: number; readonly body: string }[];
  /** What the turn goes on from; replaces the one before. */
  readonly checkpoint?: string;
  readonly effect?: {
    readonly key: string;
    readonly state: EffectState;
    readonly value?: string;
    readonly token?: string;
  };
}
export interface TurnJournal {
  /** The highest number used; 0 when there is none. */
  readonly tail: number;
  readonly checkpoint?: { readonly body: string; readonly attempt: number };
  /** Effects without a recorded end, and those that did not happen or came to a value: as it ran, or as an operator says. */
  readonly effects: readonly { readonly key: string; readonly state: EffectState; readonly value?: string }[];
}
export interface BeginEffect {
  readonly turnId: string;
  readonly fence: number;
  readonly key: string;
  readonly token: string;
  /** One that started and has no recorded end may be run again. */
  readonly again: boolean;
}
/** Only `fresh` grants a run; `started`: nobody knows whether it happened (C8); `stale`: another execution holds the turn. */
export interface BegunEffect {
  readonly found: 'fresh' | 'done' | 'started' | 'stale';
  readonly value?: string;
}

/** How a turn ended, decided under the lock of its row (C6). */
export interface Turns {
  beginTurn(input: BeginTurn): Promise<Begun>;
  endTurn(input: EndTurn): Promise<Ended>;
  closeTurn(input: CloseTurn): Promise<Closed>;
  /** Ends a turn whose outcome is unknown, or lets it run again; refused when that is not in question (any more). */
  reconcileTurn(input: ReconcileTurn): Promise<Ended>;
  /** What is known about the executions of a continuation's turns, oldest first. */
  executions(scope: string, id: string): Promise<Execution[]>;
  /** All or nothing, in one transaction; false when another execution holds the turn: then nothing was written (C6). */
  writeJournal(entry: JournalEntry): Promise<boolean>;
  readJournal(turnId: string): Promise<TurnJournal>;
  beginEffect(input: BeginEffect): Promise<BegunEffect>;
  /** Keeps what a superseded execution came to, outside the record. */
  keepEvidence(turnId: string, fence: number, evidence: { outcome: string } | { error: Cause }): Promise<void>;
  turnResult(scope: string, turnId: string): Promise<HarnessResult | null>;
  beginDelivery(input: BeginDelivery): Promise<DeliveryBegun>;
  endDelivery(input: EndDelivery): Promise<Stored | null>;
}
