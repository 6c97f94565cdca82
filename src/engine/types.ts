/** What a turn of the engine is made of (003): field names and JSON as there. Everything is checked when it is loaded. */
import { z } from 'zod';
import { ContinuationError } from '../errors.ts';
import { formatPath, type Json, jsonFault } from '../json.ts';

const json = z
  .custom<Json>((value) => value !== undefined)
  .superRefine((value, context) => {
    const fault = jsonFault(value, false);
    if (fault) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message });
  });
const metadata = z.record(z.string(), json);
const count = z.int().min(0);
/** In 003 null means absent, except for outputs. */
const maybe = <T extends z.ZodType>(type: T) =>
  type
    .nullish()
    .transform((value) => value ?? undefined)
    .optional();
const or = <T extends z.ZodType>(type: T, value: z.output<T>) => type.nullish().transform((given) => given ?? value);
const text = z.string().min(1);

const Part = z.looseObject({ kind: text });
export const Message = z.object({
  role: or(z.enum(['system', 'user', 'assistant', 'developer', 'tool']), 'user'),
  parts: z.array(Part),
  metadata: maybe(metadata),
});
/** One message of the conversation; a tool's result carries `metadata.tool_call_id`. */
export type Message = z.infer<typeof Message>;

export const ModelToolRequest = z.object({
  id: text,
  name: text,
  arguments: json.optional(),
  metadata: maybe(metadata),
});
/** A model's wish to use a tool; `arguments` as text is the model's, verbatim. */
export type ModelToolRequest = z.infer<typeof ModelToolRequest>;

export const ModelToolResult = z.object({
  requestId: text,
  name: text,
  outcome: z.enum(['success', 'failed', 'indeterminate']),
  output: json.optional(),
  errorKind: maybe(text),
  metadata: maybe(metadata),
});
export type ModelToolResult = z.infer<typeof ModelToolResult>;

const DelegatedState = z.object({ provider: text, kind: text, id: text, metadata: maybe(metadata) });
export const InvocationContextState = z.object({
  portability: or(z.enum(['portable', 'delegated', 'opaque']), 'portable'),
  delegatedState: maybe(z.array(DelegatedState)),
});
export type InvocationContextState = z.infer<typeof InvocationContextState>;

const ContextDecision = z.object({
  candidateId: text,
  disposition: z.enum(['included', 'excluded']),
  reason: z.string(),
  rank: maybe(z.int()),
  estimatedTokens: maybe(count),
  metadata: maybe(metadata),
});
export const ContextSnapshot = z.object({
  id: text,
  sessionId: text,
  turnId: text,
  invocationId: text,
  iteration: count,
  messages: z.array(Message),
  decisions: maybe(z.array(ContextDecision)),
  stablePrefixMessages: or(count, 0),
  contextState: InvocationContextState,
  metadata: maybe(metadata),
});
/** What one invocation of the model sees; retries reuse it unchanged. */
export type ContextSnapshot = z.infer<typeof ContextSnapshot>;

export const ModelInvocationRequest = z.object({ context: ContextSnapshot });
export type ModelInvocationRequest = z.infer<typeof ModelInvocationRequest>;

export const ModelInvocationResponse = z.object({
  output: json.optional(),
  usage: maybe(z.object({ inputTokens: count, outputTokens: count, totalTokens: count })),
  assistantMessages: maybe(z.array(Message)),
  toolRequests: maybe(z.array(ModelToolRequest)),
  nextContextState: maybe(InvocationContextState),
  metadata: maybe(metadata),
});
export type ModelInvocationResponse = z.infer<typeof ModelInvocationResponse>;

const ModelReconciliationState = z.object({
  invocationId: text,
  request: ModelInvocationRequest,
  failedAttempt: count,
  message: z.string(),
  metadata: maybe(metadata),
});

const OwnCheckpoint = z.object({
  id: text,
  sessionId: text,
  turnId: text,
  runId: text,
  parentRunId: maybe(text),
  delegationDepth: or(count, 0),
  iteration: count,
  lastSequence: count,
  messages: z.array(Message),
  stablePrefixMessages: or(count, 0),
  inputs: maybe(metadata),
  activeInvocationId: maybe(text),
  pendingToolRequests: maybe(z.array(ModelToolRequest)),
  completedToolResults: maybe(z.array(ModelToolResult)),
  completedModelIterations: or(count, 0),
  reconciliationRequired: or(z.boolean(), false),
  modelReconciliation: maybe(ModelReconciliationState),
  /** Null is an output; absent is none. */
  pendingOutput: json.optional(),
  finalOutputReady: or(z.boolean(), false),
  pendingModelResponse: maybe(ModelInvocationResponse),
  resumeSameIteration: or(z.boolean(), false),
  policyAppliedForIteration: or(z.boolean(), false),
  contextState: InvocationContextState,
  metadata: maybe(metadata),
});
/** Everything that a turn needs to go on. */
export interface EngineCheckpoint extends z.infer<typeof OwnCheckpoint> {
  /** The agents that pending calls run, by request id; an addition to 003. */
  delegatedRuns?: { readonly [requestId: string]: ResumeContext } | undefined;
}
export const EngineCheckpoint: z.ZodType<EngineCheckpoint> = OwnCheckpoint.extend({
  delegatedRuns: maybe(
    z.record(
      text,
      z.lazy(() => ResumeContext),
    ),
  ),
});

/** A checkpoint with the budgets that it goes on with, and the last number that its journal used. */
export interface ResumeContext {
  checkpoint: EngineCheckpoint;
  maxIterations: number;
  maxModelAttempts: number;
  lastJournalSequence: number;
  metadata?: { [key: string]: Json } | undefined;
}
export const ResumeContext: z.ZodType<ResumeContext> = z.object({
  checkpoint: EngineCheckpoint,
  maxIterations: z.int(),
  maxModelAttempts: z.int(),
  lastJournalSequence: or(count, 0),
  metadata: maybe(metadata),
});

const EVENT_KINDS = [
  'turn_started',
  'policy_applied',
  'context_prepared',
  'model_invocation_started',
  'model_invocation_completed',
  'model_invocation_failed',
  'model_reconciliation_required',
  'model_invocation_reconciled',
  'permission_requested',
  'permission_resolved',
  'tool_execution_started',
  'tool_execution_completed',
  'tool_result_committed',
  'tool_result_reconciled',
  'conversation_updated',
  'checkpoint_created',
  'turn_committed',
  'turn_cancelled',
  'turn_failed',
  'turn_reconciliation_required',
  'post_commit_started',
  'post_commit_completed',
  'post_commit_failed',
] as const;
export const EngineEvent = z.object({
  sequence: z.int().min(1),
  id: text,
  timestamp: z.iso.datetime({ offset: true }),
  sessionId: text,
  turnId: text,
  runId: text,
  parentRunId: maybe(text),
  delegationDepth: or(count, 0),
  invocationId: maybe(text),
  iteration: maybe(count),
  kind: z.enum(EVENT_KINDS),
  payload: json.optional(),
});
export type EngineEvent = z.infer<typeof EngineEvent>;

export type TurnStatus = 'success' | 'failed' | 'cancelled' | 'reconciliation_required';
export interface TurnCommit {
  readonly sessionId: string;
  readonly turnId: string;
  readonly status: TurnStatus;
  readonly output?: Json;
  readonly messages: readonly Message[];
  readonly iterations: number;
  readonly lastSequence: number;
  readonly contextState: InvocationContextState;
  readonly modelReconciliation?: EngineCheckpoint['modelReconciliation'];
  /** Why it did not succeed, such as `max_iterations`. */
  readonly errorKind?: string;
  readonly message?: string;
}

/** Reads a stored `ResumeContext`; throws `record_malformed` with the path of what is wrong. */
export function loadResumeContext(value: unknown): ResumeContext {
  return load(ResumeContext, value, 'resume context');
}

/** Reads a stored `EngineCheckpoint`; throws `record_malformed` with the path of what is wrong. */
export function loadCheckpoint(value: unknown): EngineCheckpoint {
  return load(EngineCheckpoint, value, 'checkpoint');
}

function load<T extends z.ZodType>(type: T, value: unknown, what: string): z.output<T> {
  const parsed = type.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = formatPath(issue?.path ?? []) || what;
  throw new ContinuationError('record_malformed', `the stored ${what} cannot be resumed: ${path} ${issue?.message}`);
}
