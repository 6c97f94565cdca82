/** What a turn of the engine uses. No vendor type appears here. */
import type { Json } from '../json.ts';
import type { Budgets } from './resume.ts';
import type {
  ContextSnapshot,
  EngineCheckpoint,
  EngineEvent,
  Message,
  ModelInvocationRequest,
  ModelInvocationResponse,
  ModelToolRequest,
  ModelToolResult,
  TurnCommit,
} from './types.ts';

type MaybePromise<T> = T | Promise<T>;

export interface InvocationOptions {
  readonly signal: AbortSignal;
  /** The same whenever this call is made again: pass it on, for example as `Idempotency-Key`. */
  readonly key: string;
}

export interface ToolCallOptions extends InvocationOptions {
  /** What the model had seen when it made the call. */
  readonly messages: readonly Message[];
}

export interface ModelPort {
  /** Throws `OutcomeUnknown` when it cannot know what came of the call; every other error is tried again (003). */
  invoke(request: ModelInvocationRequest, options: InvocationOptions): Promise<ModelInvocationResponse>;
  /** False where the provider keeps state: a call that a crash cut off is then unknown. Default true. */
  readonly idempotent?: boolean;
}

/** What a call waits for before it has a result. */
export type Gate =
  | { readonly wait: 'approval_resolution' | 'user_reply' | 'external_result'; readonly question?: string }
  | { readonly wait: 'scheduled_wake'; readonly wakeAt?: string; readonly question?: string }
  | {
      readonly wait: 'agent_reply';
      readonly replyWith?: string;
      readonly responder?: string;
      readonly question?: string;
    };

export interface ToolDescription {
  /** `idempotent`: may be run again with the same key. `once`: a run that a crash cut off is unknown (C7). */
  readonly effect: 'idempotent' | 'once';
  readonly gate?: Gate;
}

/**
 * Another agent, which the call runs (003 `delegated_under`): its output is the call's result, what it waits for the turn waits
 * for, and its steps are in the same journal. A permission port and a back-off that it lacks are those of the agent above it.
 */
export interface SubAgent extends Omit<EnginePorts, 'journal' | 'onEvent'> {
  /** The conversation that it begins with. */
  begin(request: ModelToolRequest): readonly Message[];
  readonly budgets?: Partial<Budgets>;
}
export interface AgentDescription {
  readonly agent: SubAgent;
  readonly gate?: Gate;
}

export interface ToolPort {
  /** What is declared about the called tool; undefined when there is none of that name, which fails the turn. */
  describe(
    request: ModelToolRequest,
    options: Pick<ToolCallOptions, 'messages'>,
  ): MaybePromise<ToolDescription | AgentDescription | undefined>;
  /** Runs one call. An error is told to the model; `OutcomeUnknown` stops the turn for an operator (C8). */
  execute(request: ModelToolRequest, options: ToolCallOptions): Promise<Json | undefined>;
}

export type PermissionDecision =
  | { readonly approved: boolean; readonly reason?: string; readonly metadata?: { readonly [key: string]: Json } }
  /** A person decides: the turn stops and asks. */
  | { readonly ask: true; readonly question?: string };
export interface PermissionPort {
  authorize(request: ModelToolRequest): Promise<PermissionDecision>;
}

export interface ContextPort {
  /** Which messages the model sees; called once for each invocation, retries reuse what it returns. */
  prepare(state: EngineCheckpoint): Promise<Pick<ContextSnapshot, 'messages'> & Partial<ContextSnapshot>>;
}

export interface PolicyPort {
  /** Before each invocation: the messages to go on with, or undefined to leave them. */
  apply?(messages: readonly Message[], iteration: number): Promise<readonly Message[] | undefined>;
  /** Before the turn commits: may replace the output, or throw. */
  final?(output: Json | undefined): Promise<Json | undefined>;
}

export interface ConversationPort {
  /** The messages that a complete batch of results becomes. The result of an edited call has its arguments in `metadata.editedArguments`. */
  format(response: ModelInvocationResponse, results: readonly ModelToolResult[]): Promise<Message[]>;
}

export interface PostCommitPort {
  /** Runs after a success is durable; `id` is the same whenever the turn is committed again. */
  run(commit: TurnCommit, id: string): Promise<void>;
}

/** One durable write: events, the checkpoint after them, and what became of the effect that they tell of. All or nothing. */
export interface JournalWrite {
  readonly events: readonly EngineEvent[];
  readonly checkpoint?: EngineCheckpoint;
  readonly effect?: { readonly key: string; readonly state: 'started' | 'done' };
}
export interface Journal {
  write(entry: JournalWrite): Promise<void>;
}

export interface EnginePorts {
  readonly model: ModelPort;
  readonly tools: ToolPort;
  readonly journal: Journal;
  readonly permission?: PermissionPort;
  readonly context?: ContextPort;
  readonly policy?: PolicyPort;
  readonly conversation?: ConversationPort;
  readonly postCommit?: PostCommitPort;
  /** Called with each event once it is durable. */
  readonly onEvent?: (event: EngineEvent) => void;
  /** Waits before model attempt `attempt` (1: the first retry); default: exponential, from 500 ms. */
  readonly backoff?: (attempt: number, signal: AbortSignal) => Promise<void>;
}
