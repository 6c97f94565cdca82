/** A turn's journal while it runs: numbers events, keeps those that are not durable yet, writes them with the checkpoint. */
import { newCheckpointId } from '../ids.ts';
import type { Json } from '../json.ts';
import { RecoveryRequired } from './errors.ts';
import type { EnginePorts, JournalWrite } from './ports.ts';
import type { EngineCheckpoint, EngineEvent } from './types.ts';

type Effect = NonNullable<JournalWrite['effect']>;
interface Tells {
  readonly payload?: Json;
  readonly invocationId?: string;
}

export interface Log {
  /** Notes an event; it becomes durable with the next write. */
  note(kind: EngineEvent['kind'], tells?: Tells): void;
  /** Writes what was noted, before an effect that must not be repeated unseen. */
  flush(effect?: Effect): Promise<void>;
  /** Writes `state` and what was noted, as one; `checkpoint_created` is the event after `state.lastSequence`. */
  checkpoint(
    state: EngineCheckpoint,
    after?: { stage: string; requestId?: string; effect?: Effect },
  ): Promise<EngineCheckpoint>;
  readonly lastSequence: number;
}

/** One for all runs of a turn, because they share its journal. */
export interface Numbers {
  last: number;
}

export function createLog(
  ports: Pick<EnginePorts, 'journal' | 'onEvent'>,
  numbers: Numbers,
  now: () => EngineCheckpoint,
): Log {
  let noted: EngineEvent[] = [];

  const note: Log['note'] = (kind, { payload, invocationId } = {}) => {
    const { sessionId, turnId, runId, parentRunId, delegationDepth, iteration, activeInvocationId } = now();
    const invocation = invocationId ?? activeInvocationId;
    numbers.last += 1;
    const sequence = numbers.last;
    noted.push({
      sequence,
      id: `${runId}:${sequence}`,
      timestamp: new Date().toISOString(),
      sessionId,
      turnId,
      runId,
      ...(parentRunId !== undefined && { parentRunId }),
      delegationDepth,
      ...(invocation !== undefined && { invocationId: invocation }),
      iteration,
      kind,
      ...(payload !== undefined && { payload }),
    });
  };
  const write = async (entry: Omit<JournalWrite, 'events'>) => {
    if (noted.length === 0 && !entry.checkpoint && !entry.effect) return;
    const events = noted;
    await ports.journal.write({ events, ...entry });
    noted = [];
    for (const event of events) ports.onEvent?.(event);
  };
  return {
    note,
    flush: (effect) => write(effect ? { effect } : {}),
    async checkpoint(state, after) {
      const kept = { ...state, id: newCheckpointId(), lastSequence: numbers.last };
      note('checkpoint_created', { payload: { checkpointId: kept.id } });
      try {
        await write({ checkpoint: kept, ...(after?.effect && { effect: after.effect }) });
      } catch (cause) {
        if (after) throw new RecoveryRequired(after.stage, kept, cause, after.requestId);
        throw cause;
      }
      return kept;
    },
    get lastSequence() {
      return numbers.last;
    },
  };
}
