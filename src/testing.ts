/** Fakes for tests of what is built on this package. They are strict: an unexpected call fails, and so does an unused script. */
import type { Delivery, DeliveryInput, Harness, ResumedTurn, Trace, TraceEvent } from './ports.ts';
import type { DeliveryResult, HarnessResultInput } from './schema.ts';

/** One scripted turn: its result, an error to throw, or a function of the turn. */
export type ScriptedTurn =
  | HarnessResultInput
  | Error
  | ((turn: ResumedTurn) => HarnessResultInput | Promise<HarnessResultInput>);

export interface ScriptedHarness extends Harness {
  /** The turns that were run, in order. */
  readonly turns: readonly ResumedTurn[];
  /** Throws when a part of the script was not used. */
  assertDone(): void;
}

/** A harness that plays `script`, one entry for each attempt of a turn; a call beyond its end throws. */
export function scriptedHarness(script: readonly ScriptedTurn[]): ScriptedHarness {
  const turns: ResumedTurn[] = [];
  return {
    turns,
    async runResumedTurn(turn) {
      const scripted = script[turns.length];
      turns.push(turn);
      if (scripted === undefined)
        throw new Error(`unexpected turn ${turn.resumedTurnId}: the script has ${script.length}`);
      if (scripted instanceof Error) throw scripted;
      return typeof scripted === 'function' ? scripted(turn) : scripted;
    },
    assertDone() {
      if (turns.length < script.length) throw new Error(`${script.length - turns.length} scripted turns were not run`);
    },
  };
}

export interface RecordingDelivery extends Delivery {
  readonly deliveries: readonly DeliveryInput[];
}

/** A delivery that remembers what it was given and answers `result`. */
export function recordingDelivery(result: DeliveryResult = { status: 'delivered' }): RecordingDelivery {
  const deliveries: DeliveryInput[] = [];
  return {
    deliveries,
    async deliver(input) {
      deliveries.push(input);
      return result;
    },
  };
}

/** A trace that keeps its events. */
export function recordingTrace(): Trace & { readonly events: readonly TraceEvent[] } {
  const events: TraceEvent[] = [];
  return { events, emit: (event) => events.push(event) };
}

export {
  type MemoryJournal,
  memoryJournal,
  type ScriptedModel,
  type ScriptedTool,
  type ScriptedTools,
  scriptedModel,
  scriptedTools,
} from './engine/testing.ts';
