/** What a turn came to, described for the rules: a new pause with its contents, or an end. */
import type { Content } from './content.ts';
import type { TurnSettled } from './events.ts';
import { MAX_INPUT_BYTES, utf8Length } from './json.ts';
import { type Cause, type ContinuationRecord, type HarnessResult, MAX_RECORD_BYTES } from './schema.ts';
import { describePause, type Turn } from './suspend.ts';

export interface Settlement {
  readonly settled: Pick<TurnSettled, 'result' | 'suspension'>;
  /** What a new pause stores. */
  readonly contents: readonly Content[];
  /** Why the record after it, or what it stores, cannot be kept (C12). */
  tooLarge(after: ContinuationRecord): Cause | undefined;
}

export function settlementOf(result: HarnessResult, turn: Turn): Settlement {
  const pause = 'continuation' in result ? describePause(result, turn) : undefined;
  if (!pause) return { settled: { result }, contents: [], tooLarge: (after) => whatIsTooLarge(after, []) };
  if ('ok' in pause) return { settled: { result, suspension: pause }, contents: [], tooLarge: () => undefined };
  const { asked, contents } = pause;
  return { settled: { result, suspension: asked }, contents, tooLarge: (after) => whatIsTooLarge(after, contents) };
}

function whatIsTooLarge(record: ContinuationRecord, contents: readonly Content[]): Cause | undefined {
  const tooLarge = (message: string): Cause => ({ code: 'too_large', message });
  const state = contents.find((content) => content.ref.bytes > MAX_INPUT_BYTES);
  if (state) return tooLarge(`The turn's state has ${state.ref.bytes} bytes; at most ${MAX_INPUT_BYTES} can be kept.`);
  const bytes = utf8Length(JSON.stringify(record));
  if (bytes <= MAX_RECORD_BYTES) return undefined;
  return tooLarge(`The record would have ${bytes} bytes; at most ${MAX_RECORD_BYTES} are kept.`);
}

/** The state is content; the stored result is everything else. */
export function withoutState(result: HarnessResult): HarnessResult {
  if (!('continuation' in result)) return result;
  const { state, ...continuation } = result.continuation;
  return { ...result, continuation } as HarnessResult;
}
