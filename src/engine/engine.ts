/**
 * The bounded loop of model and tools (003). Every step is in the journal before the next effect, so a run that was cut off
 * goes on from its last checkpoint and repeats no committed effect (C7).
 */
import { ulid } from 'ulid';
import type { Json } from '../json.ts';
import { EngineError } from './errors.ts';
import { finish } from './finish.ts';
import { assistantMessages, modelStep, takeResponse } from './model-step.ts';
import type { EnginePorts } from './ports.ts';
import {
  type Budgets,
  checkRequest,
  DEFAULT_ITERATIONS,
  DEFAULT_MODEL_ATTEMPTS,
  nextSequence,
  type Resolution,
  resolveModel,
  resolveTool,
  resumedBudgets,
  startIteration,
  toolMessage,
} from './resume.ts';
import { toolStep } from './tool-step.ts';
import { type CallAnswer, createTurn, endTurn, failTurn, save, type Turn, type TurnEnd } from './turn.ts';
import type {
  EngineCheckpoint,
  InvocationContextState,
  Message,
  ModelInvocationResponse,
  ResumeContext,
} from './types.ts';

export interface FirstTurn {
  readonly sessionId: string;
  readonly turnId: string;
  readonly messages: readonly Message[];
  readonly runId?: string;
  readonly inputs?: { [key: string]: Json };
  readonly stablePrefixMessages?: number;
  readonly contextState?: InvocationContextState;
  readonly budgets?: Partial<Budgets>;
  /** The run that this one works for, and how many are above it. */
  readonly parentRunId?: string;
  readonly delegationDepth?: number;
  /** Tools are run one at a time; true is refused, not downgraded (003). */
  readonly parallelToolCalls?: boolean;
}
export interface RunOptions {
  readonly signal?: AbortSignal;
}
export interface ResumeOptions extends RunOptions {
  /** What was decided about calls that waited, by request id. */
  readonly answers?: ReadonlyMap<string, CallAnswer>;
  /** Keys of effects that the journal shows as started, without an end. */
  readonly cutOff?: ReadonlySet<string>;
  /** An operator's word on what was unknown. */
  readonly resolution?: Resolution;
}

/** Runs a turn from its beginning. Throws `invalid_request` before anything happened, `RecoveryRequired` when a result could not be kept. */
export async function runTurn(ports: EnginePorts, first: FirstTurn, options: RunOptions = {}): Promise<TurnEnd> {
  if (first.parallelToolCalls) throw new EngineError('invalid_request', 'Parallel tool calls are not supported.');
  const budgets = { maxIterations: DEFAULT_ITERATIONS, maxModelAttempts: DEFAULT_MODEL_ATTEMPTS, ...first.budgets };
  const state = firstState(first);
  checkRequest(state, budgets, 0);
  return loop(begin(ports, state, { budgets, firstSequence: 1, ...options }));
}

/** Goes on from a checkpoint: what is committed stays, what is pending is done. */
export async function resumeTurn(
  ports: EnginePorts,
  context: ResumeContext,
  options: ResumeOptions = {},
): Promise<TurnEnd> {
  const { checkpoint, lastJournalSequence } = context;
  const budgets = resumedBudgets(context);
  const { resolution } = options;
  const resolved = resolution ? resolve(checkpoint, resolution) : checkpoint;
  const iteration = startIteration(resolved);
  const advanced = iteration > resolved.iteration ? { policyAppliedForIteration: false } : {};
  const state = { ...resolved, iteration, ...advanced };
  checkRequest(state, budgets, iteration);
  const turn = begin(ports, state, {
    budgets,
    firstSequence: nextSequence(checkpoint, lastJournalSequence),
    ...options,
  });
  if (resolution) await recordResolution(turn, resolution);
  return loop(turn);
}

/** What makes `first` a run one level below `parent`. */
export function delegatedUnder(
  parent: Pick<EngineCheckpoint, 'runId' | 'delegationDepth'>,
  first: FirstTurn,
): FirstTurn {
  return { ...first, parentRunId: parent.runId, delegationDepth: parent.delegationDepth + 1 };
}

function resolve(checkpoint: EngineCheckpoint, resolution: Resolution): EngineCheckpoint {
  return 'tool' in resolution ? resolveTool(checkpoint, resolution) : resolveModel(checkpoint);
}

function firstState(first: FirstTurn): EngineCheckpoint {
  return {
    id: 'checkpoint_none',
    sessionId: first.sessionId,
    turnId: first.turnId,
    runId: first.runId || `run_${ulid()}`,
    ...(first.parentRunId && { parentRunId: first.parentRunId }),
    delegationDepth: first.delegationDepth ?? 0,
    iteration: 0,
    lastSequence: 0,
    messages: [...first.messages],
    stablePrefixMessages: first.stablePrefixMessages ?? 0,
    ...(first.inputs && { inputs: first.inputs }),
    completedModelIterations: 0,
    reconciliationRequired: false,
    finalOutputReady: false,
    resumeSameIteration: false,
    policyAppliedForIteration: false,
    contextState: first.contextState ?? { portability: 'portable' },
  };
}

function begin(
  ports: EnginePorts,
  state: EngineCheckpoint,
  options: ResumeOptions & { budgets: Budgets; firstSequence: number },
): Turn {
  const {
    budgets,
    firstSequence,
    signal = new AbortController().signal,
    answers = new Map(),
    cutOff = new Set(),
  } = options;
  const turn = createTurn({ state, ports, budgets, firstSequence, signal, answers, cutOff });
  const { maxIterations } = budgets;
  const inputs = state.inputs ? { inputs: state.inputs } : {};
  turn.log.note('turn_started', { payload: { maxIterations, startIteration: state.iteration, ...inputs } });
  return turn;
}

/** Before any other effect (003). */
async function recordResolution(turn: Turn, resolution: Resolution): Promise<void> {
  if ('tool' in resolution) {
    const { requestId, outcome } = resolution.tool;
    turn.log.note('tool_result_reconciled', { payload: { requestId, outcome } });
    await save(turn, {});
  } else if (resolution.model === 'again') {
    turn.log.note('model_invocation_reconciled', { payload: { outcome: 'again' } });
    await save(turn, {});
  } else await takeResponse(turn, resolution.model as ModelInvocationResponse, 'model_invocation_reconciled');
}

/** Three exclusive cases, until the turn ends or waits. Cancellation is looked at before each. */
async function loop(turn: Turn): Promise<TurnEnd> {
  for (;;) {
    const { state, signal, budgets } = turn;
    if (signal.aborted) return endTurn(turn, 'cancelled');
    if (state.reconciliationRequired) return endTurn(turn, 'reconciliation_required', { errorKind: 'unresolved' });
    if (state.finalOutputReady) return finish(turn);
    if (state.iteration >= budgets.maxIterations && !state.pendingModelResponse) return outOfIterations(turn);
    const end = await step(turn);
    if (end) return end;
  }
}

function step(turn: Turn): Promise<TurnEnd | undefined> {
  const { pendingToolRequests, pendingModelResponse } = turn.state;
  if (pendingToolRequests?.length) return toolStep(turn);
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
