/**
 * An agent that a call runs (003 `delegated_under`). Its state is kept in the checkpoint of the run above it, under the call, and its
 * journal is the turn's, so a pause or a crash at any depth is one of the whole turn: steps that ran above it do not run again.
 */
import { digestText } from '../digest.ts';
import { beginFirst, beginResumed, delegatedUnder, type FirstTurn } from './begin.ts';
import { RecoveryRequired } from './errors.ts';
import type { EnginePorts, SubAgent } from './ports.ts';
import { type Budgets, DEFAULT_BUDGETS, inQuestion, type Resolution } from './resume.ts';
import type { CallAnswer, Loop, Turn, TurnEnd, WaitingCall } from './turn.ts';
import type { EngineCheckpoint, ModelToolRequest, ResumeContext } from './types.ts';

/** Where the agent of a call paused or was cut off; undefined when it has not begun. */
export function begunBy({ delegatedRuns }: EngineCheckpoint, requestId: string): ResumeContext | undefined {
  return delegatedRuns && Object.hasOwn(delegatedRuns, requestId) ? delegatedRuns[requestId] : undefined;
}

/** Runs the agent of `request` to its end: from its beginning, or on from where it is. */
export async function runAgent(
  turn: Turn,
  { request, agent, from }: { request: ModelToolRequest; agent: SubAgent; from: FirstTurn | ResumeContext },
  loop: Loop,
): Promise<TurnEnd> {
  const { signal, cutOff, numbers } = turn;
  const options = { signal, cutOff, numbers };
  const budgets = 'checkpoint' in from ? from : { ...DEFAULT_BUDGETS, ...agent.budgets };
  const withRun = (checkpoint: EngineCheckpoint) => stateWith(turn.state, request.id, { ...budgets, checkpoint });
  const ports = portsOf(turn, agent, withRun);
  try {
    if (!('checkpoint' in from)) return await loop(beginFirst(ports, { ...from, budgets }, options));
    const below = {
      answers: answersBelow(turn.answers, request.id, from.checkpoint),
      ...wordFor(turn, from.checkpoint),
    };
    return await loop(await beginResumed(ports, from, { ...options, ...below }));
  } catch (error) {
    if (!(error instanceof RecoveryRequired)) throw error;
    // What it came to belongs to the state of the whole turn.
    const requestId = error.requestId && idBelow(request.id, error.requestId);
    throw new RecoveryRequired(error.stage, withRun(error.checkpoint), error.cause, requestId);
  }
}

/** An operator's word goes down to where the question is. */
function wordFor({ resolution }: Turn, checkpoint: EngineCheckpoint): { resolution?: Resolution } {
  return resolution && inQuestion(checkpoint)?.runId === resolution.runId ? { resolution } : {};
}

/** How the agent of `request` begins. Throws what is wrong with the call. */
export function beginningOf({ state }: Turn, request: ModelToolRequest, agent: SubAgent): FirstTurn {
  const { sessionId, turnId, runId, delegationDepth } = state;
  if (delegationDepth >= MAX_DEPTH) throw new Error(`no agent runs more than ${MAX_DEPTH} levels down`);
  return delegatedUnder(state, {
    sessionId,
    turnId: `${turnId}/${request.id}`,
    // The same when it is begun again, because the keys of its effects are made of it.
    runId: `${runId}/${request.id}`,
    messages: agent.begin(request),
  });
}

/** The calls that an agent waits for, as the run above it names them. */
export function waitingBelow(above: string, waiting: readonly WaitingCall[]): WaitingCall[] {
  return waiting.map(({ request, gate }) => ({ request: { ...request, id: idBelow(above, request.id) }, gate }));
}

/**
 * Ids of the calls that the answer to a pause is for: those of the response that waited there that have no known end, of agents below
 * too. What ran and is unknown may run again on an operator's word, and nobody is asked twice.
 */
export function answerable(checkpoint: EngineCheckpoint, paused: EngineCheckpoint = checkpoint): string[] {
  const { iteration, pendingToolRequests, completedToolResults, delegatedRuns } = checkpoint;
  const unknown = completedToolResults?.filter(({ outcome }) => outcome === 'indeterminate');
  const own = [
    ...(pendingToolRequests ?? []).map(({ id }) => id),
    ...(unknown ?? []).map(({ requestId }) => requestId),
  ];
  const below = Object.entries(delegatedRuns ?? {}).flatMap(([above, run]) => {
    const before = begunBy(paused, above);
    return before ? answerable(run.checkpoint, before.checkpoint).map((id) => idBelow(above, id)) : [];
  });
  return [...(iteration === paused.iteration ? own : []), ...below];
}

function answersBelow(answers: Turn['answers'], above: string, checkpoint: EngineCheckpoint): Map<string, CallAnswer> {
  return new Map(
    answerable(checkpoint).flatMap((id) => {
      const answer = answers.get(idBelow(above, id));
      return answer ? [[id, answer] as const] : [];
    }),
  );
}

const MAX_DEPTH = 8;
/** The record keeps ids of this many characters. */
const MAX_ID_LENGTH = 128;

function idBelow(above: string, id: string): string {
  const path = `${above}/${id}`;
  return path.length <= MAX_ID_LENGTH ? path : digestText(path);
}

function portsOf(
  turn: Turn,
  agent: SubAgent,
  withRun: (checkpoint: EngineCheckpoint) => EngineCheckpoint,
): EnginePorts {
  const { permission, backoff, onEvent, journal } = turn.ports;
  return {
    ...(permission && { permission }),
    ...(backoff && { backoff }),
    ...agent,
    ...(onEvent && { onEvent }),
    journal: {
      async write({ checkpoint, ...entry }) {
        if (checkpoint) turn.state = withRun(checkpoint);
        await journal.write({ ...entry, ...(checkpoint && { checkpoint: turn.state }) });
      },
    },
  };
}

/** Under the number and the id of the checkpoint that it holds; a run keeps the budgets that it began with. */
function stateWith(
  state: EngineCheckpoint,
  above: string,
  begun: Budgets & Pick<ResumeContext, 'checkpoint'>,
): EngineCheckpoint {
  const { checkpoint, maxIterations, maxModelAttempts } = begun;
  const { id, lastSequence } = checkpoint;
  const context = { checkpoint, maxIterations, maxModelAttempts, lastJournalSequence: lastSequence };
  return { ...state, id, lastSequence, delegatedRuns: { ...state.delegatedRuns, [above]: context } };
}
