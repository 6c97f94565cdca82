/** One run of a turn: its present state, and how a step changes it. */

import { createLog, type Log, type Numbers } from './log.ts';
import type { EnginePorts, Gate } from './ports.ts';
import type { Budgets, Resolution } from './resume.ts';
import type { EngineCheckpoint, ModelToolRequest, ModelToolResult, TurnCommit, TurnStatus } from './types.ts';

/** What was decided about a call that waited. */
export type CallAnswer =
  | { readonly decision: 'run'; readonly arguments?: string }
  | { readonly decision: 'denied'; readonly reason?: string }
  | { readonly decision: 'result'; readonly result: Pick<ModelToolResult, 'outcome' | 'output' | 'errorKind'> };

/** A call that the turn stopped for. */
export interface WaitingCall {
  readonly request: ModelToolRequest;
  readonly gate: Gate;
}

export type TurnEnd =
  | {
      readonly end: 'commit';
      readonly commit: TurnCommit;
      readonly error?: unknown;
      readonly postCommitError?: unknown;
    }
  /** It waits; `checkpoint` is what it goes on from. */
  | { readonly end: 'pause'; readonly waiting: readonly WaitingCall[]; readonly checkpoint: EngineCheckpoint };

export interface Turn {
  state: EngineCheckpoint;
  readonly ports: EnginePorts;
  readonly budgets: Budgets;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Taken out when they are used: an id that the model uses again is another call. */
  readonly answers: Map<string, CallAnswer>;
  /** Keys of effects that an earlier run started and whose end is not in the journal. */
  readonly cutOff: ReadonlySet<string>;
  /** An operator's word on what is unknown of a run below this one. */
  readonly resolution: Resolution | undefined;
  readonly numbers: Numbers;
  /** Calls that were met in this run and have no answer, each with what it waits for: itself, or calls of the agent that it runs. */
  readonly waiting: Map<string, readonly WaitingCall[]>;
}

/** Runs a turn to its end. */
export type Loop = (turn: Turn) => Promise<TurnEnd>;

export function createTurn(given: Omit<Turn, 'log' | 'waiting'>): Turn {
  const turn: Turn = { ...given, waiting: new Map(), log: createLog(given.ports, given.numbers, () => turn.state) };
  return turn;
}

export function change(turn: Turn, changes: Partial<EngineCheckpoint>): void {
  turn.state = { ...turn.state, ...changes };
}

/** Makes the changed state durable. */
export async function save(
  turn: Turn,
  changes: Partial<EngineCheckpoint>,
  after?: Parameters<Log['checkpoint']>[1],
): Promise<void> {
  change(turn, changes);
  turn.state = await turn.log.checkpoint(turn.state, after);
}

const ENDINGS = {
  success: 'turn_committed',
  failed: 'turn_failed',
  cancelled: 'turn_cancelled',
  reconciliation_required: 'turn_reconciliation_required',
} as const satisfies Record<TurnStatus, string>;

/** The one terminal event of a run. */
export async function endTurn(
  turn: Turn,
  status: TurnStatus,
  why: { errorKind?: string | undefined; message?: string | undefined; error?: unknown; unknown?: string } = {},
): Promise<TurnEnd & { end: 'commit' }> {
  const { state, log } = turn;
  const { error, unknown: key, errorKind, message } = why;
  const told = { ...(errorKind !== undefined && { errorKind }), ...(message !== undefined && { message }) };
  log.note(ENDINGS[status], { payload: told });
  // What is in question shows as an effect without an end, wherever the checkpoint came from.
  await log.flush(key === undefined ? undefined : { key, state: 'started' });
  const { pendingOutput: output, modelReconciliation } = state;
  const commit: TurnCommit = {
    sessionId: state.sessionId,
    turnId: state.turnId,
    status,
    ...(status === 'success' && output !== undefined && { output }),
    messages: state.messages,
    iterations: state.completedModelIterations,
    lastSequence: log.lastSequence,
    contextState: state.contextState,
    ...(modelReconciliation && { modelReconciliation }),
    ...told,
  };
  return { end: 'commit', commit, ...(error !== undefined && { error }) };
}

/** An error of a port, as the reason why the turn failed. */
export function failTurn(turn: Turn, errorKind: string, error: unknown): Promise<TurnEnd> {
  if (turn.signal.aborted) return endTurn(turn, 'cancelled');
  return endTurn(turn, 'failed', { errorKind, message: messageOf(error), error });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
