/**
 * Whether an answer is accepted: the checks in their order, which is part of the contract (002 §9.1). Pure.
 *
 * C1 one winner: an answer is accepted only while `pending`, and every refusal after that carries who won.
 * C4 in time is in time: an answer counts at the moment it was received, within the suspension's life.
 */
import type { Answered, Step } from './events.ts';
import { changed, end, isPast, isTerminal, refusal, refuse, winnerFor, winnerOf } from './record.ts';
import type {
  Answer,
  CallVerdict,
  ContinuationRecord,
  Refusal,
  ResumingRecord,
  StatedVerdict,
  Trigger,
  WaitCondition,
} from './schema.ts';

export function answered(record: ContinuationRecord, event: Answered): Step {
  const { answer, message } = event;
  const earlier = record.answers.find((a) => a.subject === answer.subject && a.messageId === answer.messageId);
  if (earlier?.contentDigest === answer.contentDigest) return { ok: false, repeated: winnerOf(earlier) };
  if (earlier)
    return refuse(
      record,
      'message_conflict',
      `message ${answer.messageId} was already used with other content`,
      earlier,
    );

  const refusal = whyNotAnswerable(record, event) ?? whyNotMatching(record, event) ?? whyNotDecided(record, event);
  if (refusal) return { ok: false, refusal };

  const { trigger } = message;
  const accepted: Answer = { ...answer, suspensionId: record.suspension.id, type: trigger.type, acceptedAt: event.at };
  const calls = verdictsInOrder(record, event.verdicts);
  if (calls.length > 0) accepted.calls = calls;
  const decision = decisionOf(trigger, event.verdicts);
  if (decision) accepted.decision = decision;
  const answers = [...record.answers, accepted];
  if (decision === 'denied' && record.bounds.onDenied === 'stop')
    return { ok: true, record: end(record, event.at, 'approval_denied', { answers }) };
  if (event.type === 'answered') return accept(record, accepted, event.at);
  const bounds = { ...record.bounds, resumeAttempts: record.bounds.resumeAttempts + 1 };
  return { ok: true, record: end(record, event.at, 'completed', { answers, bounds, lastResumedAt: event.at }) };
}

/** State, suspension and time; the order is part of the contract (002 §9.1). */
function whyNotAnswerable(record: ContinuationRecord, event: Answered): Refusal | undefined {
  const { message } = event;
  const winner = winnerFor(record, message.suspensionId);
  if (isTerminal(record)) {
    const code = record.status === 'expired' ? 'expired' : 'already_terminal';
    return refusal(record, code, `the continuation has ended: ${record.terminalReason}`, winner);
  }
  if (record.status !== 'pending') return refusal(record, 'already_resumed', 'this was already answered', winner);
  if (message.suspensionId === undefined && record.answers.length > 0) {
    return refusal(record, 'suspension_required', 'the continuation asks again: name the suspension that is answered');
  }
  if (message.suspensionId !== undefined && message.suspensionId !== record.suspension.id) {
    return refusal(record, 'stale_suspension', `suspension ${message.suspensionId} no longer waits`, winner);
  }
  if (message.suspensionDigest !== undefined && message.suspensionDigest !== record.suspension.digest) {
    return refusal(record, 'digest_mismatch', 'what was answered is not what is asked now');
  }
  if (isPast(record.bounds, countsAt(record, event.answer.receivedAt, event.at))) {
    return refusal(record, 'expired', `the time to answer ended at ${record.bounds.expiresAt}`);
  }
  return undefined;
}

function whyNotMatching(record: ContinuationRecord, { message: { trigger } }: Answered): Refusal | undefined {
  const { waitFor, bounds } = record;
  if (trigger.type !== waitFor.type) {
    return refusal(record, 'wrong_trigger', `this continuation waits for ${waitFor.type}, not ${trigger.type}`);
  }
  const key = CORRELATION[waitFor.type];
  const expected = (waitFor as Record<string, unknown>)[key];
  const received = (trigger as Record<string, unknown>)[key];
  if (expected !== undefined && received !== expected) {
    return refusal(record, 'wrong_correlation', `${key} must be ${String(expected)}, not ${String(received)}`);
  }
  if (trigger.type === 'agent_reply' && trigger.performative === 'agreed')
    return refusal(record, 'wrong_trigger', 'agreed announces an answer and is none (001): the question still waits');
  if (bounds.resumeAttempts >= bounds.maxResumeAttempts) {
    return refusal(record, 'attempts_exhausted', `all ${bounds.maxResumeAttempts} attempts are used up`);
  }
  return undefined;
}

/** Every pending call is decided, each once, in any order, as it was seen (000, 001). */
function whyNotDecided(record: ContinuationRecord, { verdicts }: Answered): Refusal | undefined {
  const { pending } = record.suspension;
  const mismatch = (message: string) => refusal(record, 'calls_mismatch', message);
  const [first] = verdicts;
  if (!first) return undefined;
  if (first.id === undefined) {
    if (pending.length > 1) return mismatch(`${pending.length} calls wait: decide each of them in calls`);
    if (pending.length === 0 && first.editedDigest) return mismatch('no call waits whose arguments could be edited');
    return undefined;
  }
  const named = new Set(verdicts.map(({ id }) => id));
  const extra = verdicts.find(({ id }) => !pending.some((call) => call.id === id));
  if (extra) return mismatch(`no call ${extra.id} waits here`);
  if (named.size < verdicts.length) return mismatch('a call is decided more than once');
  const missing = pending.find((call) => !named.has(call.id));
  if (missing) return mismatch(`call ${missing.id} (${missing.name}) is not decided`);
  const changed = verdicts.find(({ id, argumentsDigest }) => {
    const call = pending.find((one) => one.id === id);
    return argumentsDigest !== undefined && argumentsDigest !== call?.argumentsDigest;
  });
  return changed && refusal(record, 'digest_mismatch', `call ${changed.id} has other arguments than were decided on`);
}

/** In the order in which the calls were made. */
function verdictsInOrder({ suspension }: ContinuationRecord, verdicts: readonly StatedVerdict[]): CallVerdict[] {
  return suspension.pending.flatMap(({ id }) => {
    const verdict = verdicts.find((one) => (one.id ?? id) === id);
    if (!verdict) return [];
    const { decision, editedDigest } = verdict;
    return [{ id, decision, ...(editedDigest && { editedDigest }) }];
  });
}

/** In one word; several calls with mixed decisions are `mixed`, and always resume. */
function decisionOf(trigger: Trigger, verdicts: readonly StatedVerdict[]): string | undefined {
  if (trigger.type === 'agent_reply') return trigger.performative;
  if (trigger.type !== 'approval_resolution') return undefined;
  const [first] = verdicts;
  return verdicts.every(({ decision }) => decision === first?.decision) ? first?.decision : 'mixed';
}

/** The field that ties a trigger to its wait condition; only `user_reply` may leave it unset. */
const CORRELATION = {
  user_reply: 'correlationKey',
  approval_resolution: 'approvalId',
  external_result: 'operationId',
  agent_reply: 'replyWith',
  scheduled_wake: 'wakeUpId',
} as const satisfies Record<WaitCondition['type'], string>;

/** C4: not later than handled, not before the suspension began. */
function countsAt(record: ContinuationRecord, receivedAt: string, now: string): string {
  if (receivedAt <= record.suspension.createdAt) return record.suspension.createdAt;
  if (receivedAt < now) return receivedAt;
  return now;
}

/** Takes an answer: it uses one attempt and has a turn of its own (002 §9.3). */
export function accept(record: ContinuationRecord, answer: Answer, at: string): Step {
  const resumeAttempts = record.bounds.resumeAttempts + 1;
  const turnId = `${record.id}:resume:${resumeAttempts}`;
  return changed<ResumingRecord>(record, at, {
    status: 'resuming',
    bounds: { ...record.bounds, resumeAttempts },
    answers: [...record.answers, answer],
    lineage: [...record.lineage, turnId],
    resume: { turnId, attempt: 1 },
    lastResumedAt: at,
  });
}
