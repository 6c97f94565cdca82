/** `resume` and `resumeBySession`: from what a caller says to what came of it. */
import { notFound } from './caller.ts';
import { step } from './continuation.ts';
import { ContinuationError } from './errors.ts';
import { answeredEvent, contentDigest, type SignedMessage, senderOf } from './message.ts';
import { acceptedOf, type Given, isFinished, isSettled, waitForRow } from './progress.ts';
import { readable } from './readable.ts';
import { type Received, type ReceivingDeps, receive } from './receiving.ts';
import type { ContinuationRecord, HarnessResult, Refused, ResumeContinuationInput, Winner } from './schema.ts';

export interface ResumeOptions {
  /** `accepted` (default), `settled`: its turn has ended, `finished`: nothing more happens because of it. */
  readonly until?: 'accepted' | 'settled' | 'finished';
  /** Longest wait for `until`, milliseconds; then `wait_timed_out` is thrown and the answer stands. Default 15 min. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}
export type ResumeBySessionInput = Omit<ResumeContinuationInput, 'continuationId'> & { readonly sessionId: string };

export type ResumeResult =
  | {
      readonly ok: true;
      readonly outcome: 'accepted';
      /** Who won this suspension: this message. A repeat gets the first outcome. */
      readonly answer: Winner;
      readonly record: ContinuationRecord;
      /** With `until`: what the resumed turn came to. */
      readonly harnessResult?: HarnessResult;
      readonly delivery?: ContinuationRecord['delivery'];
    }
  /** The answer is durable and will be applied once, when a worker takes it. */
  | { readonly ok: true; readonly outcome: 'stored' }
  | Refused;

const DEFAULT_WAIT_MS = 15 * 60_000;

export interface Resuming {
  resume(input: ResumeContinuationInput, options?: ResumeOptions): Promise<ResumeResult>;
  resumeBySession(input: ResumeBySessionInput, options?: ResumeOptions): Promise<ResumeResult>;
}

interface ResumingDeps extends ReceivingDeps {
  readonly pollMs: number;
}

export function createResuming(deps: ResumingDeps): Resuming {
  const resume = async (input: ResumeContinuationInput, options: ResumeOptions = {}): Promise<ResumeResult> => {
    const received = await receive(deps, input, 'resume');
    return received.ok ? completed(deps, received, options) : received;
  };

  return {
    resume,
    async resumeBySession({ sessionId, ...message }, options) {
      const found = await inSession(deps, sessionId, message.messageId);
      return 'refusal' in found ? found : resume({ ...message, continuationId: found.id }, options);
    },
  };
}

/** What a message to a session is for: what it answered before, so that a repeat does not answer the next question; else what waits. */
async function inSession(
  { store, caller }: ReceivingDeps,
  sessionId: string,
  messageId: string | undefined,
): Promise<ContinuationRecord | Refused> {
  const { scope, subject } = caller;
  if (messageId !== undefined) {
    const { records } = readable(await store.list({ scope, sessionId, answeredBy: { subject, messageId }, limit: 1 }));
    if (records[0]) return records[0];
  }
  const { records } = readable(await store.list({ scope, sessionId, status: 'pending', limit: 256 }));
  const [only, another] = records.filter((record) => !record.supersededBy);
  if (!another) return only ?? notFound();
  const message = `more than one continuation waits in session ${sessionId}: name the one that is answered`;
  return { ok: false, refusal: { code: 'ambiguous_session', message } };
}

/** What `until` asks for, once the row shows it. */
async function completed(deps: ResumingDeps, received: Received, options: ResumeOptions): Promise<ResumeResult> {
  const { row, message, answered } = received;
  const { until = 'accepted', timeoutMs, signal } = options;
  if (until === 'accepted') return answered;
  if (answered.outcome === 'stored' && timeoutMs === undefined) return answered;
  const { scope, id } = row.record;
  const given: Given = {
    messageId: senderOf(message, '').messageId,
    contentDigest: contentDigest(message),
    suspensionId: message.suspensionId ?? row.record.suspension.id,
  };
  const reached = (record: ContinuationRecord) =>
    until === 'settled' ? isSettled(record, given) : isFinished(record, given);
  const { record } = await waitForRow(deps.store, { scope, id }, reached, {
    timeoutMs: timeoutMs ?? DEFAULT_WAIT_MS,
    pollMs: deps.pollMs,
    signal,
    // While a turn or delivery runs nothing has finished.
    ...(until === 'finished' && { heedless: (status) => status === 'resuming' }),
  });
  const winner = acceptedOf(record, given);
  if (!winner) return tooLate(record, message, given);
  const turnId = turnOf(record, winner.suspensionId);
  const harnessResult = turnId ? await deps.store.turnResult(scope, turnId) : null;
  return {
    ok: true,
    outcome: 'accepted',
    answer: winner,
    record,
    ...(harnessResult && { harnessResult }),
    delivery: record.delivery,
  };
}

/** A stored answer that was not applied: another one won its suspension, or it ended before (C1). */
function tooLate(record: ContinuationRecord, message: SignedMessage, { suspensionId }: Given): Refused {
  const result = step(record, answeredEvent({ ...message, suspensionId }, new Date().toISOString()));
  if (!result.ok && result.refusal) return { ok: false, refusal: result.refusal };
  throw new ContinuationError('record_malformed', `${record.id} has passed an answer without a winner.`);
}

/** The turn that an answer resumed: answers and resumed turns are counted alike, but a denial runs none. */
function turnOf(record: ContinuationRecord, suspensionId: string): string | undefined {
  const index = record.answers.findIndex((one) => one.suspensionId === suspensionId);
  const [, ...resumed] = record.lineage;
  return resumed[index];
}
