/** `take`: the caller answers and runs the turn itself (000, interactive). */
import { type DecidedCall, decidedCalls } from './decision.ts';
import { ContinuationError } from './errors.ts';
import { type ReceivingDeps, receive } from './receiving.ts';
import type { ContentRef, ContinuationRecord, Refused, ResumeContinuationInput, Winner } from './schema.ts';
import { stateOf } from './suspend.ts';

export type TakeResult =
  | {
      readonly ok: true;
      readonly outcome: 'taken';
      readonly answer: Winner;
      readonly record: ContinuationRecord;
      /** The state to resume from, exactly as it was given at the pause. */
      readonly state: unknown;
      /** The calls that waited, each with what this answer decides about it. */
      readonly calls: readonly DecidedCall[];
    }
  | {
      readonly ok: true;
      /**
       * Nothing to run. `repeated`: this message had been accepted before, and what it resumed was handed out then or runs on a
       * worker. `denied`: the denial ends the continuation (`bounds.onDenied`).
       */
      readonly outcome: 'repeated' | 'denied';
      readonly answer: Winner;
      readonly record: ContinuationRecord;
    }
  | Refused;

/** Once: a repeat gets nothing to run. */
export async function take(deps: ReceivingDeps, input: ResumeContinuationInput): Promise<TakeResult> {
  const received = await receive(deps, input, 'take');
  if (!received.ok) return received;
  const { answered, trigger } = received;
  if (answered.outcome === 'stored')
    throw new ContinuationError('temporal_unavailable', 'an answer that is taken is never left');
  const { answer, record } = answered;
  if (answered.repeated) return { ok: true, outcome: 'repeated', answer, record };
  if (record.terminalReason === 'approval_denied') return { ok: true, outcome: 'denied', answer, record };
  const content = (ref: ContentRef) => deps.store.content(record.scope, ref);
  const state = await content(record.suspension.state);
  if (!state) throw new ContinuationError('record_malformed', `the state of ${record.id} is missing`);
  const calls = await decidedCalls(record, trigger, content);
  return { ok: true, outcome: 'taken', answer, record, state: stateOf(state), calls };
}
