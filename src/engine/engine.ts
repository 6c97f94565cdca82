/**
 * The bounded loop of model and tools (003). Every step is in the journal before the next effect, so a run that was cut off
 * goes on from its last checkpoint and repeats no committed effect (C7).
 */
import { beginFirst, beginResumed, type FirstTurn, type ResumeOptions, type RunOptions } from './begin.ts';
import { finish } from './finish.ts';
import { assistantMessages, modelStep } from './model-step.ts';
import type { EnginePorts } from './ports.ts';
import { inQuestion, toolMessage } from './resume.ts';
import { toolStep } from './tool-step.ts';
import { endTurn, failTurn, save, type Turn, type TurnEnd } from './turn.ts';
import type { Message, ModelInvocationResponse, ResumeContext } from './types.ts';

/** Runs a turn from its beginning. Throws `invalid_request` before anything happened, `RecoveryRequired` when a result could not be kept. */
export async function runTurn(ports: EnginePorts, first: FirstTurn, options: RunOptions = {}): Promise<TurnEnd> {
  return loop(beginFirst(ports, first, options));
}

/** Goes on from a checkpoint: what is committed stays, what is pending is done. */
export async function resumeTurn(
  ports: EnginePorts,
  context: ResumeContext,
  options: ResumeOptions = {},
): Promise<TurnEnd> {
  return loop(await beginResumed(ports, context, options));
}

/** Three exclusive cases, until the turn ends or waits. Cancellation is looked at before each. */
async function loop(turn: Turn): Promise<TurnEnd> {
  for (;;) {
    const { state, signal, budgets } = turn;
    if (signal.aborted) return endTurn(turn, 'cancelled');
    const question = turn.resolution ? undefined : inQuestion(state);
    if (question) return endTurn(turn, 'reconciliation_required', { errorKind: 'unresolved', unknown: question.key });
    if (state.finalOutputReady) return finish(turn);
    if (state.iteration >= budgets.maxIterations && !state.pendingModelResponse) return outOfIterations(turn);
    const end = await step(turn);
    if (end) return end;
  }
}

function step(turn: Turn): Promise<TurnEnd | undefined> {
  const { pendingToolRequests, pendingModelResponse } = turn.state;
  if (pendingToolRequests?.length) return toolStep(turn, loop);
  return pendingModelResponse ? foldBatch(turn, pendingModelResponse) : modelStep(turn);
}

function outOfIterations(turn: Turn): Promise<TurnEnd> {
  const message = `No answer within ${turn.budgets.maxIterations} iterations.`;
  return endTurn(turn, 'failed', { errorKind: 'max_iterations', message });
}

/** Case (a): every request of the held response has a result; they become part of the conversation together. */
async function foldBatch(turn: Turn, response: ModelInvocationResponse): Promise<TurnEnd | undefined> {
  const { state, log, ports } = turn;
  const results = (response.toolRequests ?? []).flatMap(
    ({ id }) => state.completedToolResults?.find(({ requestId }) => requestId === id) ?? [],
  );
  let told: Message[];
  try {
    if (results.length !== response.toolRequests?.length) throw new Error('a tool call has no result');
    told = (await ports.conversation?.format(response, results)) ?? [
      ...assistantMessages(response),
      ...results.map(toolMessage),
    ];
  } catch (error) {
    return failTurn(turn, 'conversation_format_error', error);
  }
  for (const { requestId, outcome } of results) log.note('tool_result_committed', { payload: { requestId, outcome } });
  log.note('conversation_updated', { payload: { added: told.length } });
  const { pendingModelResponse, pendingToolRequests, completedToolResults, ...rest } = state;
  turn.state = rest;
  await save(turn, { messages: [...state.messages, ...told], policyAppliedForIteration: false });
  turn.state = { ...turn.state, iteration: state.iteration + 1 };
  return undefined;
}
