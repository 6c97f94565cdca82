/**
 * What runs on workers and at clients is a program that asks for one thing at a time: a call of the store, a run of the harness, a
 * delivery, a message. Between any two of them everything else may happen, and a crash is a program that never asks again.
 */
import type { Stopped } from '../../src/events.ts';
import type { SignedMessage } from '../../src/message.ts';
import type { Begun } from '../../src/ports.ts';
import type { ContinuationRecord, ResumingRecord, Winner } from '../../src/schema.ts';
import type { Without } from './guards.ts';
import type * as store from './store.ts';

interface Asks {
  readonly create: { readonly record: ContinuationRecord };
  readonly read: Record<string, never>;
  readonly write: { readonly record: ContinuationRecord };
  readonly beginTurn: { readonly record: ResumingRecord };
  readonly endTurn: Omit<Parameters<typeof store.endTurn>[1], 'turnId'>;
  readonly closeTurn: Parameters<typeof store.closeTurn>[1];
  readonly beginDelivery: { readonly deliveryId: string };
  readonly endDelivery: { readonly deliveryId: string; readonly record?: ContinuationRecord };
  /** Runs the harness: from here on the turn may have had effects. */
  readonly harness: { readonly turnId: string };
  /** Brings the follow-up to the user. */
  readonly bring: { readonly deliveryId: string };
  readonly describe: Record<string, never>;
  readonly start: { readonly record: ContinuationRecord };
  readonly update: { readonly message: SignedMessage };
  readonly signal: { readonly message: SignedMessage };
  /** Marks the row as superseded, in the transaction that creates a newer turn of the session. */
  readonly supersede: { readonly by: string };
  /** A stop of the workflow, which is durable once it is sent. */
  readonly stopSignal: { readonly stop: Stop };
}
export type Stop = Omit<Stopped, 'type' | 'at'>;
export type Ended = Pick<store.Shown, 'record'>;
export type Harness = 'completed' | 'asks again' | 'transient' | 'unknown';

export interface Told {
  readonly create: Ended;
  readonly read: Ended | null;
  readonly write: Ended | null;
  readonly beginTurn: Begun;
  readonly endTurn: Ended & { readonly accepted: boolean };
  readonly closeTurn: Ended & { readonly closed: boolean; readonly because?: 'ended' | 'started' | 'moved' };
  readonly beginDelivery: ReturnType<typeof store.beginDelivery>[1];
  readonly endDelivery: Ended | null;
  readonly harness: { readonly came: Harness };
  readonly bring: { readonly came: 'delivered' | 'transient' };
  readonly describe: { readonly status: 'running' | 'terminated' | 'ended' | 'none' };
  readonly start: { readonly found: 'running' | 'ended' };
  readonly update: Reply;
  readonly signal: { readonly found: 'stored' | 'gone' };
  readonly supersede: Record<string, never>;
  readonly stopSignal: { readonly found: 'stored' | 'gone' };
}
/** How an update ended for its caller. */
export type Reply =
  | { readonly accepted: ContinuationRecord; readonly winner: Winner; readonly repeated?: true }
  | { readonly refused: string; readonly winner?: Winner | undefined }
  | { readonly unheard: 'gone' | 'unanswered' };

export type Ask = { readonly [K in keyof Asks]: { readonly for: K } & Asks[K] }[keyof Asks];
/** What a program came to. An activity: what it committed, that it is to be tried again, or that it failed for good. */
export type Outcome =
  | { readonly committed: ContinuationRecord; readonly started?: true }
  | { readonly again: true }
  | { readonly failed: true }
  | { readonly told: Reply | { readonly stored: true } }
  | { readonly done: true };
export type Program<R = Outcome> = Generator<Ask, R, unknown>;

export function* ask<K extends keyof Asks>(what: K, about: Asks[K]): Generator<Ask, Told[K], unknown> {
  return (yield { for: what, ...about } as Ask) as Told[K];
}

/** What a program was started with. `at`: the time of its events. */
export interface Given {
  readonly record?: ContinuationRecord;
  readonly at: string;
  readonly stop?: Stop;
  readonly onlyIfNotStarted?: boolean;
  readonly leaveFollowUp?: boolean;
  readonly message?: SignedMessage;
  readonly without: Without;
}
export const recordOf = ({ record }: Given) => record as ContinuationRecord;
