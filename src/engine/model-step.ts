/** Case (c) of the loop: nothing is pending, so the model is asked, over a snapshot that all its attempts see. */
import { setTimeout as delay } from 'node:timers/promises';
import { isContinuationError } from '../errors.ts';
import type { Json } from '../json.ts';
import { change, endTurn, failTurn, messageOf, save, type Turn, type TurnEnd } from './turn.ts';
import { type ContextSnapshot, type Message, ModelInvocationResponse } from './types.ts';

export async function modelStep(turn: Turn): Promise<TurnEnd | undefined> {
  const { ports, log, signal } = turn;
  let rewritten: readonly Message[] | undefined;
  try {
    rewritten = await policyRewrite(turn);
  } catch (error) {
    return failTurn(turn, 'policy_error', error);
  }
  if (rewritten) {
    log.note('policy_applied', { payload: { messages: rewritten.length } });
    await save(turn, { messages: [...rewritten], policyAppliedForIteration: true, resumeSameIteration: true });
  }
  const { state } = turn;
  if (signal.aborted) return endTurn(turn, 'cancelled');
  const invocationId = `${state.runId}:model:${state.iteration}`;
  let context: ContextSnapshot;
  try {
    context = await snapshot(turn, invocationId);
  } catch (error) {
    return failTurn(turn, 'context_error', error);
  }
  change(turn, { activeInvocationId: invocationId });
  log.note('context_prepared', { payload: { contextId: context.id, messages: context.messages.length } });
  if (ports.model.idempotent === false && turn.cutOff.has(invocationId))
    return unknownOutcome(turn, context, 0, 'it was started, and its end was never recorded');
  return attempts(turn, context);
}

async function attempts(turn: Turn, context: ContextSnapshot): Promise<TurnEnd | undefined> {
  const { ports, log, signal } = turn;
  const { invocationId } = context;
  for (let attempt = 0; ; attempt++) {
    if (signal.aborted) return endTurn(turn, 'cancelled');
    log.note('model_invocation_started', { payload: { attempt } });
    if (ports.model.idempotent === false) await log.flush({ key: invocationId, state: 'started' });
    try {
      const response = await ports.model.invoke({ context: structuredClone(context) }, { signal, key: invocationId });
      return await takeResponse(turn, ModelInvocationResponse.parse(response));
    } catch (error) {
      const end = await modelFailed(turn, { context, attempt, error });
      if (end) return end;
    }
  }
}

/** What the host's policy makes of the conversation, once for each iteration; undefined when it changes nothing. */
async function policyRewrite({ state, ports }: Turn): Promise<readonly Message[] | undefined> {
  if (state.policyAppliedForIteration || !ports.policy?.apply) return undefined;
  const messages = await ports.policy.apply(structuredClone(state.messages), state.iteration);
  return messages && JSON.stringify(messages) !== JSON.stringify(state.messages) ? messages : undefined;
}

async function snapshot({ state, ports }: Turn, invocationId: string): Promise<ContextSnapshot> {
  const { sessionId, turnId, iteration, messages, stablePrefixMessages, contextState } = state;
  const prepared = await ports.context?.prepare(structuredClone(state));
  return {
    id: `${invocationId}:context`,
    messages,
    stablePrefixMessages,
    contextState,
    ...prepared,
    sessionId,
    turnId,
    invocationId,
    iteration,
  };
}

/** Another attempt, or the end of the turn. What the journal refuses is never taken for the model's failure. */
async function modelFailed(
  turn: Turn,
  { context, attempt, error }: { context: ContextSnapshot; attempt: number; error: unknown },
): Promise<TurnEnd | undefined> {
  const { ports, log, signal, budgets } = turn;
  if (error instanceof Error && error.name === 'RecoveryRequired') throw error;
  const message = messageOf(error);
  if (isContinuationError(error, 'outcome_unknown')) return unknownOutcome(turn, context, attempt, message);
  if (error instanceof ProviderStateError) return failTurn(turn, 'provider_state_error', error);
  log.note('model_invocation_failed', { payload: { attempt, message } });
  if (signal.aborted) return endTurn(turn, 'cancelled');
  if (attempt + 1 >= budgets.maxModelAttempts) return failTurn(turn, 'model_error', error);
  try {
    await (ports.backoff ?? exponential)(attempt + 1, signal);
  } catch (failed) {
    return failTurn(turn, 'retry_policy_error', failed);
  }
  return undefined;
}

const exponential = (attempt: number, signal: AbortSignal) =>
  delay(Math.min(500 * 2 ** (attempt - 1), 30_000), undefined, { signal });

async function unknownOutcome(turn: Turn, context: ContextSnapshot, failedAttempt: number, message: string) {
  const { invocationId } = context;
  turn.log.note('model_reconciliation_required', { payload: { invocationId, message } });
  const modelReconciliation = { invocationId, request: { context }, failedAttempt, message };
  const effect = { key: invocationId, state: 'started' } as const;
  await save(turn, { reconciliationRequired: true, modelReconciliation }, { stage: 'the model invocation', effect });
  return endTurn(turn, 'reconciliation_required', { errorKind: 'model_outcome_unknown', message });
}

class ProviderStateError extends Error {}

/** Holds the response until its tools have run; without any, its output is the turn's. */
export async function takeResponse(
  turn: Turn,
  response: ModelInvocationResponse,
  tells: 'model_invocation_completed' | 'model_invocation_reconciled' = 'model_invocation_completed',
): Promise<undefined> {
  const { state, log, ports } = turn;
  const contextState = response.nextContextState ?? state.contextState;
  const delegated = Boolean(contextState.delegatedState?.length);
  if (delegated !== (contextState.portability === 'delegated') && contextState.portability !== 'opaque')
    throw new ProviderStateError(
      `the model's state is ${contextState.portability} and has ${delegated ? 'a' : 'no'} reference to the provider's`,
    );
  const toolRequests = response.toolRequests ?? [];
  log.note(tells, { payload: { toolRequests: toolRequests.length } satisfies Json });
  const key = state.activeInvocationId;
  const effect = ports.model.idempotent === false && key ? { effect: { key, state: 'done' as const } } : {};
  const final = toolRequests.length === 0;
  await save(
    turn,
    {
      contextState,
      completedModelIterations: state.completedModelIterations + 1,
      resumeSameIteration: false,
      pendingModelResponse: response,
      ...(final
        ? { finalOutputReady: true, ...outputOf(response) }
        : { pendingToolRequests: toolRequests, completedToolResults: [] }),
    },
    { stage: 'the model invocation', ...effect },
  );
}

/** Without an output of its own, the text of what the assistant said. */
function outputOf({ output, assistantMessages }: ModelInvocationResponse): { pendingOutput?: Json } {
  if (output !== undefined) return { pendingOutput: output };
  const said = assistantMessages?.flatMap(({ parts }) => parts.map(({ value }) => value));
  const texts = said?.filter((value): value is string => typeof value === 'string');
  return texts?.length ? { pendingOutput: texts.join('') } : {};
}

/** What a response adds to the conversation before its tools' results. */
export function assistantMessages({
  assistantMessages: given,
  output,
  toolRequests,
}: ModelInvocationResponse): Message[] {
  if (given) return given;
  const value = typeof output === 'string' ? output : output === undefined ? '' : JSON.stringify(output);
  const metadata = toolRequests?.length ? { metadata: { tool_calls: toolRequests as unknown as Json } } : {};
  return [{ role: 'assistant', parts: value ? [{ kind: 'text', value }] : [], ...metadata }];
}
