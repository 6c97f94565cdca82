/** How a run begins: from a conversation, or where a checkpoint stopped. */
import { newRunId } from '../ids.ts';
import type { Json } from '../json.ts';
import { EngineError } from './errors.ts';
import type { Numbers } from './log.ts';
import { takeResponse } from './model-step.ts';
import type { EnginePorts } from './ports.ts';
import {
  type Budgets,
  checkRequest,
  DEFAULT_BUDGETS,
  inQuestion,
  nextSequence,
  type Resolution,
  resolveModel,
  resolveTool,
  resumedBudgets,
  startIteration,
} from './resume.ts';
import { type CallAnswer, createTurn, save, type Turn } from './turn.ts';
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

/** A run below another shares the numbers of its journal. */
interface Below {
  readonly numbers?: Numbers;
}

export function beginFirst(
  ports: EnginePorts,
  first: FirstTurn,
  options: RunOptions & Below & Pick<ResumeOptions, 'cutOff'> = {},
): Turn {
  if (first.parallelToolCalls) throw new EngineError('invalid_request', 'Parallel tool calls are not supported.');
  const budgets = { ...DEFAULT_BUDGETS, ...first.budgets };
  const state = firstState(first);
  checkRequest(state, budgets, 0);
  return begin(ports, state, { budgets, numbers: { last: 0 }, ...options });
}

/** With a resolution, that is recorded first (003). */
export async function beginResumed(
  ports: EnginePorts,
  context: ResumeContext,
  { resolution, ...options }: ResumeOptions & Below,
): Promise<Turn> {
  const { checkpoint, lastJournalSequence } = context;
  const budgets = resumedBudgets(context);
  const runId = resolution?.runId ?? checkpoint.runId;
  const own = runId === checkpoint.runId ? resolution : undefined;
  if (resolution && !own && inQuestion(checkpoint)?.runId !== runId)
    throw new EngineError('invalid_request', `The reconciliation is refused: nothing of run ${runId} is in question.`);
  const resolved = own ? resolve(checkpoint, own) : checkpoint;
  const iteration = startIteration(resolved);
  const advanced = iteration > resolved.iteration ? { policyAppliedForIteration: false } : {};
  const state = { ...resolved, iteration, ...advanced };
  checkRequest(state, budgets, iteration);
  const numbers = { last: nextSequence(checkpoint, lastJournalSequence) - 1 };
  const turn = begin(ports, state, { budgets, numbers, ...options, ...(!own && resolution && { resolution }) });
  if (own) await recordResolution(turn, own);
  return turn;
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
    runId: first.runId || newRunId(),
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
  options: ResumeOptions & { budgets: Budgets; numbers: Numbers },
): Turn {
  const { signal = new AbortController().signal, cutOff = new Set() } = options;
  const answers = new Map(options.answers);
  const { budgets, numbers, resolution } = options;
  const turn = createTurn({ state, ports, budgets, numbers, signal, answers, cutOff, resolution });
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
