/** Where a checkpoint goes on, and what a reconciliation changes in it (003). Pure. */
import type { Json } from '../json.ts';
import { EngineError } from './errors.ts';
import type { EngineCheckpoint, Message, ModelInvocationResponse, ModelToolResult } from './types.ts';

const DEFAULT_MODEL_ATTEMPTS = 3;

/** Stays where something is outstanding; else the next iteration. */
export function startIteration(checkpoint: EngineCheckpoint): number {
  const { iteration, pendingToolRequests, pendingModelResponse } = checkpoint;
  if (checkpoint.resumeSameIteration) return iteration;
  const outstanding =
    Boolean(pendingToolRequests?.length) ||
    pendingModelResponse !== undefined ||
    checkpoint.finalOutputReady ||
    checkpoint.reconciliationRequired;
  return outstanding ? iteration : iteration + 1;
}

/** The first free number: neither the journal's tail nor the checkpoint alone is enough. */
export function nextSequence(checkpoint: Pick<EngineCheckpoint, 'lastSequence'>, lastJournalSequence: number): number {
  return Math.max(lastJournalSequence, checkpoint.lastSequence) + 1;
}

export interface Budgets {
  /** For the whole turn, pauses included. */
  readonly maxIterations: number;
  readonly maxModelAttempts: number;
}

export const DEFAULT_BUDGETS: Budgets = { maxIterations: 10, maxModelAttempts: DEFAULT_MODEL_ATTEMPTS };

/** Budgets as a resume gives them: a total below zero is none, attempts below one are the default. */
export function resumedBudgets(given: Budgets): Budgets {
  return {
    maxIterations: Math.max(0, given.maxIterations),
    maxModelAttempts: given.maxModelAttempts > 0 ? given.maxModelAttempts : DEFAULT_MODEL_ATTEMPTS,
  };
}

/** Throws `invalid_request` before anything happened. */
export function checkRequest(state: EngineCheckpoint, budgets: Budgets, start: number): void {
  const { sessionId, turnId, stablePrefixMessages, messages, contextState } = state;
  const fault =
    (sessionId === '' && 'sessionId must not be empty') ||
    (turnId === '' && 'turnId must not be empty') ||
    (budgets.maxModelAttempts <= 0 && 'maxModelAttempts must be positive') ||
    (start > budgets.maxIterations && `starts at iteration ${start}, beyond maxIterations ${budgets.maxIterations}`) ||
    (stablePrefixMessages > messages.length && 'stablePrefixMessages is more than there are messages') ||
    (contextState.portability === 'portable' &&
      contextState.delegatedState !== undefined &&
      'contextState is portable and must have no delegatedState');
  if (fault) throw new EngineError('invalid_request', `The turn cannot run: ${fault}.`);
}

/** What an operator knows of a call; `again`: it did not happen. */
export type ToolResolution =
  | { readonly tool: ModelToolResult & { readonly outcome: 'success' | 'failed' } }
  | { readonly tool: { readonly requestId: string; readonly outcome: 'again' } };
export type ModelResolution = { readonly model: ModelInvocationResponse } | { readonly model: 'again' };
/** `runId`: of the run in question, where that is an agent below the turn's own. */
export type Resolution = (ToolResolution | ModelResolution) & { readonly runId?: string };

/** What is unknown, under the key of its effect. */
export interface Question {
  readonly key: string;
  readonly runId: string;
  /** Absent: it is an invocation of the model. */
  readonly call?: Pick<ModelToolResult, 'requestId' | 'name'>;
}

/** The key of a call's effect: the same in every attempt and after every pause. */
export const effectKey = (runId: string, requestId: string): string => `${runId}:tool:${requestId}`;

/** What a run, or an agent below it, waits for an operator to say. */
export function inQuestion(checkpoint: EngineCheckpoint): Question | undefined {
  const { runId, reconciliationRequired, modelReconciliation, completedToolResults, delegatedRuns } = checkpoint;
  if (!reconciliationRequired) {
    const below = Object.values(delegatedRuns ?? {}).map((context) => inQuestion(context.checkpoint));
    return below.find((question) => question !== undefined);
  }
  if (modelReconciliation) return { key: modelReconciliation.invocationId, runId };
  const unknown = completedToolResults?.find(({ outcome }) => outcome === 'indeterminate');
  if (!unknown) return undefined;
  const { requestId, name } = unknown;
  return { key: effectKey(runId, requestId), runId, call: { requestId, name } };
}

/** The state after an operator's word on a tool's unknown outcome; refused where that is not in question. */
export function resolveTool(checkpoint: EngineCheckpoint, { tool }: ToolResolution): EngineCheckpoint {
  if (!checkpoint.reconciliationRequired) refuse('the checkpoint requires no reconciliation');
  if (checkpoint.modelReconciliation) refuse('it is a model invocation that is in question');
  if ((tool.outcome as string) === 'indeterminate') refuse('a resolution must be determinate');
  const results = checkpoint.completedToolResults ?? [];
  const found = results.find(({ requestId }) => requestId === tool.requestId);
  if (!found) return refuse(`no result of request ${tool.requestId} is there`);
  if (found.outcome !== 'indeterminate') refuse(`the result of request ${tool.requestId} is not in question`);
  const rest = results.filter((result) => result !== found);
  if (tool.outcome === 'again') {
    const request = requestOf(checkpoint, found);
    const pendingToolRequests = [request, ...(checkpoint.pendingToolRequests ?? [])];
    return { ...checkpoint, reconciliationRequired: false, completedToolResults: rest, pendingToolRequests };
  }
  return {
    ...checkpoint,
    reconciliationRequired: false,
    completedToolResults: results.map((result) => (result === found ? tool : result)),
    // A batch that was folded before (an older format) is told again.
    messages: checkpoint.pendingModelResponse ? checkpoint.messages : rewritten(checkpoint.messages, tool),
  };
}

function requestOf(checkpoint: EngineCheckpoint, { requestId }: ModelToolResult) {
  const request = checkpoint.pendingModelResponse?.toolRequests?.find(({ id }) => id === requestId);
  return request ?? refuse(`request ${requestId} is not kept and cannot be run again`);
}

/** The state after an operator's word on a model invocation. It goes on in the recorded iteration. */
export function resolveModel(checkpoint: EngineCheckpoint): EngineCheckpoint {
  if (!checkpoint.reconciliationRequired) refuse('the checkpoint requires no reconciliation');
  const { modelReconciliation, activeInvocationId, ...rest } = checkpoint;
  if (!modelReconciliation) return refuse('it is a tool call that is in question');
  if (activeInvocationId !== modelReconciliation.invocationId) refuse('the active invocation is another one');
  return { ...rest, activeInvocationId, reconciliationRequired: false, resumeSameIteration: true };
}

function rewritten(messages: readonly Message[], result: ModelToolResult): Message[] {
  const at = messages.findIndex(({ metadata }) => metadata?.tool_call_id === result.requestId);
  if (at < 0) refuse(`no message tells the result of request ${result.requestId}`);
  return messages.map((message, index) => (index === at ? toolMessage(result) : message));
}

/** What the model is told of a result: text as it is, else its JSON, else nothing. */
export function toolMessage({ requestId, name, output }: ModelToolResult): Message {
  const value = typeof output === 'string' ? output : output === undefined ? '' : JSON.stringify(output as Json);
  return { role: 'tool', parts: [{ kind: 'text', value }], metadata: { tool_call_id: requestId, name } };
}

function refuse(why: string): never {
  throw new EngineError('invalid_request', `The reconciliation is refused: ${why}.`);
}
