/**
 * The turn engine as a harness: its checkpoint is the state of the pause, its steps are in the journal of the turn, so a worker
 * that dies in the middle of a turn costs nothing that was committed (C7).
 */
import { OutcomeUnknown } from '../errors.ts';
import type { Json } from '../json.ts';
import type { Harness, HarnessJournal, ResumedTurn, TurnJournal } from '../ports.ts';
import type { HarnessResultInput } from '../schema.ts';
import { answersOf, contextOf, pauseOf } from './answers.ts';
import type { FirstTurn } from './begin.ts';
import { resumeTurn, runTurn } from './engine.ts';
import { isTransient, RecoveryRequired } from './errors.ts';
import type { EnginePorts, Journal } from './ports.ts';
import { type Budgets, DEFAULT_BUDGETS, inQuestion, type Question, type Resolution } from './resume.ts';
import type { TurnEnd } from './turn.ts';
import { loadCheckpoint, type ResumeContext } from './types.ts';

export interface EngineHarnessOptions extends Omit<EnginePorts, 'journal'> {
  readonly budgets?: Partial<Budgets>;
}

export interface EngineHarness extends Harness {
  /**
   * Runs the first turn of a conversation, outside Temporal and without a durable journal: a crash loses it. Its result is for
   * `client.create` when it waits.
   */
  runFirstTurn(first: Omit<FirstTurn, 'budgets'>, options?: { signal?: AbortSignal }): Promise<HarnessResultInput>;
}

type Effect = TurnJournal['effects'][number];

const NOTHING: Journal = { write: async () => {} };

/** A harness that runs turns of the engine. Throws what the harness port says: `OutcomeUnknown` for what an operator must decide. */
export function createEngineHarness({ budgets: given, ...ports }: EngineHarnessOptions): EngineHarness {
  const budgets = { ...DEFAULT_BUDGETS, ...given };
  return {
    // What happened is in the journal, so another worker may go on.
    replayable: true,
    async runFirstTurn(first, options) {
      const end = await runTurn({ ...ports, journal: NOTHING }, { ...first, budgets }, options);
      return resultOf(end, budgets, options?.signal);
    },
    async runResumedTurn(turn) {
      const { context, paused, resolution, cutOff } = await whereItIs(turn);
      const journal = journalOf(turn.journal);
      const options = { signal: turn.signal, answers: answersOf(turn, context.checkpoint, paused), cutOff };
      try {
        const end = await resumeTurn({ ...ports, journal }, context, { ...options, ...(resolution && { resolution }) });
        return resultOf(end, context, turn.signal);
      } catch (error) {
        // What happened is known here only and could not be kept.
        if (error instanceof RecoveryRequired) throw new OutcomeUnknown(error.message, { cause: error });
        throw error;
      }
    },
  };
}

/** The last checkpoint of this turn, else the one it paused with; numbers go on after the true tail. */
async function whereItIs({ journal, continuation }: ResumedTurn) {
  const { tail, checkpoint: stored, effects } = await journal.read();
  const paused = contextOf(continuation.continuation.state);
  const checkpoint = stored ? loadCheckpoint(JSON.parse(stored.body)) : paused.checkpoint;
  const context: ResumeContext = {
    ...paused,
    checkpoint,
    lastJournalSequence: Math.max(tail, paused.lastJournalSequence),
  };
  const question = inQuestion(checkpoint);
  const effect = effects.find(({ key }) => key === question?.key);
  const resolution = question && effect && resolutionOf(question, effect);
  const cutOff = effects.filter(({ state }) => state === 'started').map(({ key }) => key);
  return { context, paused: paused.checkpoint, resolution, cutOff: new Set(cutOff) };
}

/** What an operator said of the effect in question; nothing yet while it has no end. */
function resolutionOf({ runId, call }: Question, { state, value }: Effect): Resolution | undefined {
  if (state === 'started') return undefined;
  if (state === 'undone')
    return call ? { runId, tool: { requestId: call.requestId, outcome: 'again' } } : { runId, model: 'again' };
  const output = value === undefined ? {} : { output: JSON.parse(value) as Json };
  return call ? { runId, tool: { ...call, outcome: 'success', ...output } } : { runId, model: output };
}

function journalOf(journal: HarnessJournal): Journal {
  return {
    write: ({ events, checkpoint, effect }) =>
      journal.write({
        events: events.map((event) => ({ sequence: event.sequence, body: JSON.stringify(event) })),
        ...(checkpoint && { checkpoint: JSON.stringify(checkpoint) }),
        ...(effect && { effect }),
      }),
  };
}

function resultOf(end: TurnEnd, budgets: Budgets, signal?: AbortSignal): HarnessResultInput {
  if (end.end === 'pause') return pauseOf(end, budgets);
  const { status, output, errorKind, message = errorKind ?? status } = end.commit;
  switch (status) {
    case 'success':
      return { outcome: 'completed', assistantMessage: { text: textOf(output) } };
    case 'failed':
      // A passing error of the model: the harness port runs the turn again, with the same answer.
      if (isTransient(end.error)) throw end.error;
      return { outcome: 'failed', stopReason: errorKind ?? 'failed', assistantMessage: { text: message } };
    case 'cancelled':
      throw signal?.reason ?? new Error('The turn was cancelled.');
    case 'reconciliation_required':
      throw new OutcomeUnknown(message);
    default:
      return status satisfies never;
  }
}

function textOf(output: Json | undefined): string {
  if (typeof output === 'string') return output;
  return output === undefined ? '' : JSON.stringify(output);
}
