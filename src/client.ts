/** The client: creates continuations, brings answers to them, and reads them. It is the one way in for every surface. */
import { Client } from '@temporalio/client';
import type { ContinuationEvent } from './access-ports.ts';
import type { AnsweringDeps } from './answering.ts';
import type { Caller } from './caller.ts';
import { type ContinuationClientOptions, resolveCaller, resolveOptions } from './client-options.ts';
import { type CreateResult, commitCreate, prepareCreate } from './creating.ts';
import { type EventsInput, follow } from './feed.ts';
import { createManaging, type ManageResult } from './managing.ts';
import { type Action, type Authorization, whyNotAllowed } from './policy.ts';
import type { ListQuery, Page, Receipt } from './ports.ts';
import { type AdmissionPage, type ContinuationView, createReading, type GetInput, type WatchInput } from './reading.ts';
import { type ReconcileResult, reconcile } from './reconciling.ts';
import { createResuming, type ResumeBySessionInput, type ResumeOptions, type ResumeResult } from './resuming.ts';
import type {
  ContinuationRecord,
  CreateContinuationInput,
  ExtendContinuationInput,
  ReconcileContinuationInput,
  Refused,
  ResumeContinuationInput,
  StopContinuationInput,
} from './schema.ts';
import { createStarter } from './start.ts';
import { createStartedMarks } from './started-marks.ts';
import { type TakeResult, take } from './taking.ts';
import { harmless, traceOf } from './trace.ts';

/**
 * Refusals are values (`{ok: false, refusal}`); infrastructure errors are thrown as `ContinuationError` with code
 * `temporal_unavailable` or `database_unavailable`, and every call may then be repeated as it was.
 */
export interface ContinuationClient {
  /** Stores the pause of a stopped turn and starts its workflow (002 §8). The same input again returns the first record. */
  create(input: CreateContinuationInput): Promise<CreateResult>;
  /**
   * Answers a continuation (002 §9). Resolves when the answer is accepted, or with `until` when its turn has ended
   * (`settled`) or nothing more happens because of it (`finished`). `stored`: no worker took it yet; it will be applied once.
   */
  resume(input: ResumeContinuationInput, options?: ResumeOptions): Promise<ResumeResult>;
  /** Answers what waits in a session; `ambiguous_session` when more than one waits. */
  resumeBySession(input: ResumeBySessionInput, options?: ResumeOptions): Promise<ResumeResult>;
  /**
   * Answers, and hands out the state once, for a caller who runs the turn itself (000, interactive): the continuation ends
   * `completed`. When it throws `temporal_unavailable` the answer may have been taken; `get` tells, with the state.
   */
  take(input: ResumeContinuationInput): Promise<TakeResult>;
  /** Decides an unknown outcome (`record.resume.uncertain`): it happened, it did not and runs again, or it is closed. */
  reconcile(input: ReconcileContinuationInput): Promise<ReconcileResult>;
  /** Ends a continuation; idempotent, the first reason is kept (002). A turn that has ended keeps its status. */
  stop(input: StopContinuationInput): Promise<ManageResult>;
  /** Moves the deadline later, while it waits, at most 20 times. */
  extend(input: ExtendContinuationInput): Promise<ManageResult>;
  /** The record, or null outside the caller's scope; `include` adds the state to resume from and the last turn's result. */
  get(input: GetInput): Promise<ContinuationView | null>;
  /** A page, with an exclusive cursor; the caller's scope and below, or `scope` inside it. */
  list(query?: Partial<ListQuery>): Promise<Page>;
  listBySession(sessionId: string): Promise<ContinuationRecord[]>;
  /** The record now and after every change, until it ends (with an id) or the signal aborts. */
  watch(input?: WatchInput): AsyncIterable<ContinuationRecord>;
  /** Every receipt of the caller's scope in the order of commits, from `after` on (default: from now) until the signal aborts. */
  events(input?: EventsInput): AsyncIterable<ContinuationEvent>;
  /** Notes that the user was active in a session; see `delivery.suppressIfSessionReengaged`. `at`: default now. */
  sessionActive(sessionId: string, at?: string | Date): Promise<void>;
  /** The receipts, oldest first, or null when there is no such continuation. */
  receipts(continuationId: string): Promise<Receipt[] | null>;
  /** The accepted answers, oldest first, and the latest one; null unless the continuation is of exactly the caller's scope (001). */
  admissions(continuationId: string, page?: { after?: number; limit?: number }): Promise<AdmissionPage | null>;
  /** Whether the caller may do this, as the policy says now; asked again when it is done. */
  may(action: Action, record: ContinuationRecord): Promise<Authorization>;
  /** Deletes a terminal continuation with all that belongs to it, and frees its idempotency key. */
  delete(continuationId: string): Promise<{ ok: true } | Refused>;
  /** A client for another caller; shares everything else. */
  as(caller: Partial<Caller>): ContinuationClient;
  /** Writes what is left to write. Connection and store stay open: they are the caller's. */
  close(): Promise<void>;
}

export function createClient(options: ContinuationClientOptions): ContinuationClient {
  const resolved = resolveOptions(options);
  const { store, connection, namespace, payloadCodecs } = options;
  const trace = harmless(options.trace, resolved.warn);
  const temporal = new Client({
    connection,
    ...(namespace && { namespace }),
    ...(payloadCodecs && { dataConverter: { payloadCodecs } }),
  });
  const starter = createStarter(temporal, resolved, resolved.warn);
  const marks = createStartedMarks(store);
  const { policy, answerTimeoutMs, startTimeoutMs, inlineInputBytes, pollMs } = resolved;
  const deps: AnsweringDeps = { store, temporal, starter, trace, policy, answerTimeoutMs };

  const clientFor = (caller: Caller): ContinuationClient => {
    const own = { ...deps, caller, inlineInputBytes, pollMs };
    const resuming = createResuming(own);
    return {
      async create(input) {
        const now = new Date().toISOString();
        const prepared = prepareCreate(input, caller, now, options.stateKinds ?? []);
        const denied = prepared.ok && (await whyNotAllowed(policy, 'create', caller, prepared.continuation.record));
        const result =
          prepared.ok && !denied
            ? await commitCreate(
                { store, temporal, starter, startTimeoutMs, onStarted: marks.add },
                prepared.continuation,
              )
            : denied || (prepared as Refused);
        if (!result.ok)
          trace?.emit({ type: 'continuation_creation_rejected', code: result.refusal.code, timestamp: now });
        else if (result.created) trace?.emit(traceOf('continuation_created', result.record, now));
        return result;
      },
      ...resuming,
      take: (input) => take(own, input),
      ...createManaging(own),
      reconcile: (input) => reconcile(own, input),
      events: (input = {}) => follow({ store, pollMs }, caller.scope, input),
      ...createReading(own),
      may: async (action, record) => policy.authorize(action, caller, record),
      as: (other) => clientFor(resolveCaller({ ...caller, ...other })),
      close: () => marks.close(),
    };
  };
  return clientFor(resolveCaller(options.caller));
}
