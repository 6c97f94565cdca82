/** Case (b) of the loop: tool calls are pending, so exactly one of them is run, refused or found to wait (003). */
import { canonicalJson } from '../digest.ts';
import { isContinuationError } from '../errors.ts';
import type { Json } from '../json.ts';
import type { FirstTurn } from './begin.ts';
import { beginningOf, begunBy, runAgent, waitingBelow } from './delegate.ts';
import { isTransient } from './errors.ts';
import type { AgentDescription, PermissionDecision, ToolDescription } from './ports.ts';
import { effectKey } from './resume.ts';
import { endTurn, failTurn, type Loop, messageOf, save, type Turn, type TurnEnd } from './turn.ts';
import type { EngineCheckpoint, ModelToolRequest, ModelToolResult, ResumeContext } from './types.ts';

type Result = Omit<ModelToolResult, 'requestId' | 'name' | 'metadata' | 'errorKind' | 'output'> &
  Partial<Pick<ModelToolResult, 'errorKind' | 'output'>>;

type Description = ToolDescription | AgentDescription;

/** Runs one pending call in request order; those that wait for somebody are left pending, their siblings run. */
export async function toolStep(turn: Turn, loop: Loop): Promise<TurnEnd | undefined> {
  const pending = turn.state.pendingToolRequests ?? [];
  const request = pending.find(({ id }) => !turn.waiting.has(id));
  if (!request) return pause(turn, pending);
  const answer = turn.answers.get(request.id);
  turn.answers.delete(request.id);
  if (answer?.decision === 'result') return commit(turn, request, answer.result);
  const described = await describe(turn, request);
  if ('end' in described) return described;
  // An agent that has begun: what its call needed leave for, it got.
  if ('agent' in described && begunBy(turn.state, request.id)) return delegate(turn, request, described, loop);
  if (answer === undefined) {
    const { gate } = described;
    if (gate) return void turn.waiting.set(request.id, [{ request, gate }]);
    return authorize(turn, request, described, loop);
  }
  turn.log.note('permission_requested', { payload: named(request) });
  const approved = answer.decision === 'run';
  turn.log.note('permission_resolved', { payload: { ...named(request), approved } });
  if (!approved) return commit(turn, request, denied(answer.reason));
  if (answer.arguments === undefined) return run(turn, request, described, loop);
  const asked = edited(request, answer.arguments);
  // It may begin an agent that pauses: what it was begun with is found again after that.
  turn.state = { ...turn.state, pendingToolRequests: pending.map((one) => (one === request ? asked : one)) };
  return run(turn, asked, described, loop);
}

const named = ({ id, name }: ModelToolRequest) => ({ requestId: id, name });
const denied = (reason = 'The call was not permitted.', errorKind: string = 'permission_denied'): Result => ({
  outcome: 'failed',
  output: reason,
  errorKind,
});

/** Edited text stands where the model's arguments were, in the same form. */
function edited(request: ModelToolRequest, text: string): ModelToolRequest {
  return { ...request, arguments: typeof request.arguments === 'string' ? text : (JSON.parse(text) as Json) };
}

async function describe(turn: Turn, request: ModelToolRequest): Promise<Description | TurnEnd> {
  try {
    const described = await turn.ports.tools.describe(request, { messages: turn.state.messages });
    return described ?? (await failTurn(turn, 'tool_configuration_error', `there is no tool ${request.name}`));
  } catch (error) {
    return failTurn(turn, 'tool_configuration_error', error);
  }
}

async function authorize(
  turn: Turn,
  request: ModelToolRequest,
  tool: Description,
  loop: Loop,
): Promise<TurnEnd | undefined> {
  turn.log.note('permission_requested', { payload: named(request) });
  let decision: PermissionDecision;
  try {
    decision = (await turn.ports.permission?.authorize(request)) ?? { approved: true };
  } catch (error) {
    return failTurn(turn, 'permission_error', error);
  }
  if ('ask' in decision) {
    const { question } = decision;
    const gate = { wait: 'approval_resolution', ...(question && { question }) } as const;
    return void turn.waiting.set(request.id, [{ request, gate }]);
  }
  const { approved, reason, metadata } = decision;
  turn.log.note('permission_resolved', { payload: { ...named(request), approved } });
  if (approved) return run(turn, request, tool, loop);
  const kind = metadata?.errorKind;
  return commit(turn, request, denied(reason, typeof kind === 'string' ? kind : undefined));
}

const STOPPED: Result = {
  outcome: 'indeterminate',
  output: 'it was told to stop while it ran',
  errorKind: 'effect_outcome_unknown',
};
const CUT_OFF: Result = {
  outcome: 'indeterminate',
  output: 'it was started, and its end was never recorded',
  errorKind: 'effect_outcome_unknown',
};

async function run(turn: Turn, request: ModelToolRequest, tool: Description, loop: Loop): Promise<TurnEnd | undefined> {
  const { signal, log, ports, state } = turn;
  if (signal.aborted) return endTurn(turn, 'cancelled');
  if ('agent' in tool) return delegate(turn, request, tool, loop);
  const key = effectKey(state.runId, request.id);
  const once = tool.effect === 'once';
  if (once && turn.cutOff.has(key)) return commit(turn, request, CUT_OFF);
  log.note('tool_execution_started', { payload: { ...named(request), key } });
  // Before anything happens outside: a crash from here on leaves a started effect without an end (C7).
  if (once) await log.flush({ key, state: 'started' });
  if (signal.aborted) return endTurn(turn, 'cancelled');
  const options = { signal, key, messages: state.messages };
  const result = await resultOf(async () => ports.tools.execute(request, options), signal);
  // Told to stop in the middle: one that can be run again is, by the next attempt; how far another came, nobody knows.
  if (!result) return once ? commit(turn, request, STOPPED) : endTurn(turn, 'cancelled');
  return commit(turn, request, result, once ? key : undefined);
}

async function resultOf(execute: () => Promise<Json | undefined>, signal: AbortSignal): Promise<Result | undefined> {
  try {
    const output = await execute();
    return { outcome: 'success', ...(output !== undefined && { output }) };
  } catch (error) {
    const output = messageOf(error);
    if (isContinuationError(error, 'outcome_unknown'))
      return { outcome: 'indeterminate', output, errorKind: 'effect_outcome_unknown' };
    return signal.aborted ? undefined : { outcome: 'failed', output, errorKind: 'tool_error' };
  }
}

/** Told with the result, because the model knows only the arguments that it wrote. */
function editOf({ id, arguments: ran }: ModelToolRequest, { pendingModelResponse }: EngineCheckpoint) {
  const wrote = pendingModelResponse?.toolRequests?.find((request) => request.id === id)?.arguments;
  const same = ran === undefined || (wrote !== undefined && canonicalJson(ran) === canonicalJson(wrote));
  return same ? {} : { metadata: { editedArguments: ran } };
}

/** The call runs another agent: what that waits for waits here, what it came to is the result. */
async function delegate(
  turn: Turn,
  request: ModelToolRequest,
  { agent }: AgentDescription,
  loop: Loop,
): Promise<TurnEnd | undefined> {
  let from: FirstTurn | ResumeContext;
  try {
    from = begunBy(turn.state, request.id) ?? beginningOf(turn, request, agent);
  } catch (error) {
    return commit(turn, request, { outcome: 'failed', output: messageOf(error), errorKind: 'tool_error' });
  }
  turn.log.note('tool_execution_started', { payload: named(request) });
  // Numbers of its events come after those of ours.
  await turn.log.flush();
  const end = await runAgent(turn, { request, agent, from }, loop);
  if (end.end === 'pause') return void turn.waiting.set(request.id, waitingBelow(request.id, end.waiting));
  const { status, output, errorKind = status, message = errorKind } = end.commit;
  switch (status) {
    case 'success':
      return commit(turn, request, { outcome: 'success', ...(output !== undefined && { output }) });
    case 'failed':
      if (isTransient(end.error)) return endTurn(turn, 'failed', { errorKind, message, error: end.error });
      return commit(turn, request, { outcome: 'failed', output: message, errorKind });
    default:
      return endTurn(turn, status, { errorKind, message });
  }
}

/** The result and the checkpoint after it, as one write, before the next effect. */
async function commit(
  turn: Turn,
  request: ModelToolRequest,
  result: Result,
  key?: string,
): Promise<TurnEnd | undefined> {
  const { state, log } = turn;
  const unknown = result.outcome === 'indeterminate';
  const pending = state.pendingToolRequests ?? [];
  const complete = { ...result, requestId: request.id, name: request.name, ...editOf(request, state) };
  // What is unknown is an effect without an end, also of a tool that may be run again.
  const started = unknown && { key: effectKey(state.runId, request.id), state: 'started' as const };
  const effect = started || (key && { key, state: 'done' as const });
  log.note('tool_execution_completed', { payload: { ...named(request), outcome: result.outcome } });
  turn.state = withoutRun(state, request.id);
  await save(
    turn,
    {
      pendingToolRequests: pending.filter(({ id }) => id !== request.id),
      completedToolResults: [...(state.completedToolResults ?? []), complete],
      reconciliationRequired: unknown,
    },
    { stage: `tool ${request.name}`, requestId: request.id, ...(effect && { effect }) },
  );
  if (!unknown) return undefined;
  const message = `It is unknown whether ${request.name} (${request.id}) happened: ${messageOf(result.output)}`;
  return endTurn(turn, 'reconciliation_required', { errorKind: 'effect_outcome_unknown', message });
}

/** What it came to is the call's result; the rest of its state is not needed any more. */
function withoutRun(state: EngineCheckpoint, requestId: string): EngineCheckpoint {
  if (!state.delegatedRuns) return state;
  const { delegatedRuns, ...rest } = state;
  const others = Object.entries(delegatedRuns).filter(([id]) => id !== requestId);
  return others.length > 0 ? { ...rest, delegatedRuns: Object.fromEntries(others) } : rest;
}

/** What is waited for one at a time: such an answer names no call. */
const SINGLE: readonly string[] = ['user_reply', 'agent_reply', 'scheduled_wake'];

/** Only gated calls are left: those that wait for the same as the first. The others are asked for after them. */
async function pause(turn: Turn, pending: readonly ModelToolRequest[]): Promise<TurnEnd> {
  if (turn.signal.aborted) return endTurn(turn, 'cancelled');
  const all = pending.flatMap(({ id }) => turn.waiting.get(id) ?? []);
  const wait = all[0]?.gate.wait ?? '';
  const waiting = SINGLE.includes(wait) ? all.slice(0, 1) : all.filter(({ gate }) => gate.wait === wait);
  await save(turn, {});
  return { end: 'pause', waiting, checkpoint: turn.state };
}
