/** Options of the client, resolved once. */
import type { ClientOptions } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { type Caller, DEFAULT_CALLER } from './caller.ts';
import { ContinuationError } from './errors.ts';
import { parseInput } from './parse.ts';
import { type Policy, permissionPolicy } from './policy.ts';
import type { StateKind, Store, Trace } from './ports.ts';
import { Scope } from './schema.ts';

export const DEFAULT_TASK_QUEUE = 'continuations';
export const DEFAULT_HEARTBEAT_TIMEOUT_MS = 10_000;

export interface ContinuationClientOptions {
  /** A Temporal connection (`Connection` or `NativeConnection`). */
  readonly connection: NonNullable<ClientOptions['connection']>;
  /** Default `default`. */
  readonly namespace?: string;
  readonly store: Store;
  /** On whose behalf; `as` gives a client for another caller. */
  readonly caller?: Partial<Caller>;
  /** Who may do what. Default: by the caller's permissions. */
  readonly policy?: Policy;
  /** Kinds of state that are checked at the pause, such as `stateKinds` of the engine entry. Default none. */
  readonly stateKinds?: readonly StateKind[];
  /** Task queue of the workers. Default `continuations`. */
  readonly taskQueue?: string;
  /** Task queue of workers that run only turns. Default: `taskQueue`. */
  readonly turnTaskQueue?: string;
  readonly payloadCodecs?: PayloadCodec[];
  readonly trace?: Trace;
  /** Show status, wait, session and deadline as search attributes, where they are registered. Default true. */
  readonly searchAttributes?: boolean;
  /** Tell the delivery's `announce` about the first question too. Default false; new questions of a re-pend are always announced. */
  readonly announce?: boolean;
  /** Accept answers that did not come through a client (Temporal UI and CLI). Default true; no security boundary. */
  readonly directMessages?: boolean;
  /** A worker that is silent for this long has lost its turn, milliseconds. Default 10 s. */
  readonly heartbeatTimeoutMs?: number;
  /** Answers above this size travel by reference, bytes, at most 16 KiB; 0: always. Default 16 KiB. */
  readonly inlineInputBytes?: number;
  /** How long to wait for a worker before an answer is left as a signal (`stored`), milliseconds. Default 10 s. */
  readonly answerTimeoutMs?: number;
  /** How long `create` waits for Temporal before it returns `started: false`, milliseconds. Default 5 s. */
  readonly startTimeoutMs?: number;
  /**
   * How often a row that is waited for is also read, milliseconds: poolers can swallow what the database tells. Default 2 s.
   */
  readonly pollMs?: number;
  /** Deep link to where a person can answer, shown in the Temporal UI. */
  readonly linkTo?: (id: string) => string;
  /** Told what an operator should know. Default: `console.warn`. */
  readonly warn?: (message: string) => void;
}

const DEFAULT_POLL_MS = 2_000;
const MAX_INLINE_INPUT_BYTES = 16 * 1024;

export function resolveCaller(given: Partial<Caller> | undefined): Caller {
  const caller = { ...DEFAULT_CALLER, ...given };
  const scope = parseInput(Scope, caller.scope);
  if (!scope.ok) throw new ContinuationError('invalid_configuration', `caller.scope ${scope.refusal.message}`);
  return caller;
}

export function resolveOptions(options: ContinuationClientOptions) {
  return {
    policy: options.policy ?? permissionPolicy,
    taskQueue: options.taskQueue ?? DEFAULT_TASK_QUEUE,
    turnTaskQueue: options.turnTaskQueue,
    searchAttributes: options.searchAttributes ?? true,
    announce: options.announce ?? false,
    directMessages: options.directMessages ?? true,
    heartbeatTimeoutMs: options.heartbeatTimeoutMs ?? DEFAULT_HEARTBEAT_TIMEOUT_MS,
    inlineInputBytes: Math.min(options.inlineInputBytes ?? MAX_INLINE_INPUT_BYTES, MAX_INLINE_INPUT_BYTES),
    answerTimeoutMs: options.answerTimeoutMs ?? 10_000,
    startTimeoutMs: options.startTimeoutMs ?? 5_000,
    pollMs: options.pollMs ?? DEFAULT_POLL_MS,
    linkTo: options.linkTo,
    warn: options.warn ?? ((message: string) => console.warn(message)),
  };
}
