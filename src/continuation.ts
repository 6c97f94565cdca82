/**
 * The rules of pausing and resuming. Pure: no clock, no ids, no I/O; times, ids and digests come in with the event.
 *
 * `step` answers what an event does to a record (`answer.ts` for answers), `next` says what has to happen now. The workflow
 * applies events while the record is `pending`; while a turn or a delivery runs, its activity does.
 *
 * C2  a wrong answer costs nothing: a refused event returns no record.
 * C9  re-pending never weakens the wait: the new wait comes from the new result alone, or the continuation fails.
 * C10 terminal is final: no event changes a terminal record.
 * C11 delivery is told truthfully: no terminal record keeps `pending_delivery`.
 */
import { accept, answered } from './answer.ts';
import type { ContinuationEvent, Extended, NewSuspension, Step, Stopped, TurnSettled } from './events.ts';
import {
  alreadyEnded,
  changed,
  deadline,
  deliveryAtEnd,
  end,
  finish,
  isPast,
  isTerminal,
  later,
  refuse,
  winnerOf,
} from './record.ts';
import type {
  Cause,
  ContinuationRecord,
  PendingRecord,
  Resume,
  ResumingRecord,
  TerminalRecord,
  Uncertain,
} from './schema.ts';

export const MAX_EXTENSIONS = 20;

/** What has to happen now. Instants are absolute; without `at` only a message ends the wait. */
export type Next =
  | { do: 'wait'; at?: string; then?: 'woke' | 'noAnswer' | 'expired' }
  | { do: 'runTurn'; turnId: string; startBy?: string }
  | { do: 'askOperator'; turnId: string }
  | { do: 'deliver'; deliveryId: string }
  | { do: 'finish' };

export function next(record: ContinuationRecord): Next {
  switch (record.status) {
    case 'pending':
      return nextWhilePending(record);
    case 'resuming': {
      const { turnId, outcome, uncertain } = record.resume;
      if (uncertain) return { do: 'askOperator', turnId };
      if (outcome) return { do: 'deliver', deliveryId: turnId };
      const { startWithinMs } = record.bounds;
      if (startWithinMs === undefined || !record.lastResumedAt) return { do: 'runTurn', turnId };
      return { do: 'runTurn', turnId, startBy: later(record.lastResumedAt, startWithinMs) };
    }
    default:
      return { do: 'finish' };
  }
}

function nextWhilePending({ waitFor, bounds }: PendingRecord): Next {
  if (waitFor.type === 'scheduled_wake' && waitFor.wakeAt) return { do: 'wait', at: waitFor.wakeAt, then: 'woke' };
  if (bounds.expiresAt === undefined) return { do: 'wait' };
  const resumes = bounds.onExpiry === 'resume' && bounds.resumeAttempts < bounds.maxResumeAttempts;
  return { do: 'wait', at: bounds.expiresAt, then: resumes ? 'noAnswer' : 'expired' };
}

/** What `event` does to `record`: the record after it, or why it is refused. A refused event changes nothing (C2). */
export function step(record: ContinuationRecord, event: ContinuationEvent): Step {
  switch (event.type) {
    case 'answered':
      return answered(record, event);
    case 'woke':
    case 'noAnswer':
    case 'expired':
      return deadlineReached(record, event);
    case 'stopped':
      return stopped(record, event);
    case 'extended':
      return extended(record, event);
    case 'attemptEnded':
    case 'turnSettled':
    case 'turnFailed':
    case 'turnUncertain':
    case 'turnClosed':
      return turnEvent(record, event);
    case 'delivered':
    case 'deliveryUncertain':
      return deliveryEvent(record, event);
    default:
      return event satisfies never;
  }
}

/* Deadlines and people who decide for the whole continuation */

type DeadlineReached = Extract<ContinuationEvent, { type: 'woke' | 'noAnswer' | 'expired' }>;

/** A timer fired. It was armed for what `next` said then, so `next` must still say it, and the instant must have come. */
function deadlineReached(record: ContinuationRecord, event: DeadlineReached): Step {
  if (isTerminal(record)) return alreadyEnded(record);
  if (record.status !== 'pending') return refuse(record, 'already_resumed', 'the answer came before the deadline');
  const due = next(record);
  if (due.do !== 'wait' || due.then !== event.type || !due.at || event.at < due.at) {
    return refuse(record, 'wrong_trigger', `${event.type} is not due`);
  }
  if (event.type === 'expired') return { ok: true, record: end(record, event.at, 'expired_ttl') };
  const type = event.type === 'woke' ? 'scheduled_wake' : 'no_answer';
  return accept(record, { ...event.answer, suspensionId: record.suspension.id, type, acceptedAt: event.at }, event.at);
}

/** Idempotent; the first reason is kept (002 §stop). A running turn is not stopped here but closed under its lock (C6). */
function stopped(record: ContinuationRecord, event: Stopped): Step {
  if (isTerminal(record)) return { ok: true, record };
  if (record.status === 'pending')
    return { ok: true, record: end(record, event.at, event.reason, stopFields(record, event)) };
  if (next(record).do !== 'deliver') return refuse(record, 'already_resumed', 'a turn is running: it has to be closed');
  const suppressed = event.reason === 'superseded_by_newer_turn' || event.reason === 'session_no_longer_deliverable';
  if (!suppressed) return { ok: true, record };
  return {
    ok: true,
    record: finish(record, event.at, { status: deliveryAtEnd(event.reason) }, stopFields(record, event)),
  };
}

function stopFields(
  record: ContinuationRecord,
  event: Pick<Stopped, 'metadata' | 'supersededBy' | 'error'>,
): Partial<TerminalRecord> {
  return {
    ...(event.metadata && { metadata: { ...record.metadata, ...event.metadata } }),
    ...(event.supersededBy && { supersededBy: event.supersededBy }),
    ...(event.error && { error: event.error }),
  };
}

function extended(record: ContinuationRecord, event: Extended): Step {
  const { bounds } = record;
  if (isTerminal(record)) return alreadyEnded(record);
  if (record.status !== 'pending')
    return refuse(record, 'already_resumed', 'this was already answered', record.answers.at(-1));
  if (bounds.expiresAt === undefined) return refuse(record, 'invalid_input', 'this continuation never expires');
  if (isPast(bounds, event.at)) return refuse(record, 'expired', `the time to answer ended at ${bounds.expiresAt}`);
  if (event.expiresAt <= bounds.expiresAt) {
    return refuse(record, 'invalid_input', `a deadline only moves later: it is ${bounds.expiresAt}`);
  }
  if (bounds.extensions >= MAX_EXTENSIONS)
    return refuse(record, 'invalid_input', `a deadline moves at most ${MAX_EXTENSIONS} times`);
  const { expiresAt } = event;
  return changed<PendingRecord>(record, event.at, {
    bounds: { ...bounds, expiresAt, extensions: bounds.extensions + 1 },
  });
}

/* The turn */

type TurnEvent = Extract<
  ContinuationEvent,
  { type: 'attemptEnded' | 'turnSettled' | 'turnFailed' | 'turnUncertain' | 'turnClosed' }
>;

function turnEvent(record: ContinuationRecord, event: TurnEvent): Step {
  if (isTerminal(record)) return alreadyEnded(record);
  if (record.status !== 'resuming' || record.resume.turnId !== event.turnId || record.resume.outcome) {
    return refuse(record, 'already_resumed', `turn ${event.turnId} is not running`);
  }
  if (event.type === 'turnClosed') {
    return { ok: true, record: end(record, event.at, event.reason, stopFields(record, event)) };
  }
  if (record.resume.uncertain)
    return refuse(record, 'already_resumed', `the outcome of turn ${event.turnId} is unknown (C8)`);
  const resume: Resume = { turnId: event.turnId, attempt: event.attempt, startedAt: event.startedAt };
  switch (event.type) {
    case 'attemptEnded':
      return changed<ResumingRecord>(record, event.at, { resume: { ...resume, error: event.error } });
    case 'turnUncertain':
      return changed<ResumingRecord>(record, event.at, { resume: { ...resume, uncertain: event.uncertain } });
    case 'turnFailed':
      return turnFailed(record, event.at, resume, event);
    case 'turnSettled':
      return turnSettled(record, event, resume);
    default:
      return event satisfies never;
  }
}

/** A harness that threw: the answer is used up, unless its creator wants to be asked when retries run out. */
function turnFailed(
  record: ResumingRecord,
  at: string,
  resume: Resume,
  failure: { error: Cause; exhausted?: boolean },
): Step {
  const { error } = failure;
  if (!failure.exhausted || record.bounds.onExhausted === 'fail') {
    return { ok: true, record: end(record, at, 'resume_runtime_error', { resume: { ...resume, error } }) };
  }
  const uncertain: Uncertain = { cause: 'exhausted', at, message: error.message };
  return changed<ResumingRecord>(record, at, { resume: { ...resume, error, uncertain } });
}

function turnSettled(record: ResumingRecord, event: TurnSettled, resume: Resume): Step {
  const { at, result, suspension } = event;
  if (result.outcome === 'completed' || result.outcome === 'failed') {
    const settled: ResumingRecord = { ...record, resume: { ...resume, outcome: result.outcome } };
    if (record.delivery.status === 'pending_delivery' && event.deliverable)
      return changed<ResumingRecord>(settled, at, {});
    return { ok: true, record: finish(settled, at, { status: 'not_applicable' }) };
  }
  const failed = (reason: 'resume_runtime_error' | 'max_resume_attempts_reached', error: Cause): Step => ({
    ok: true,
    record: end(record, at, reason, { resume: { ...resume, error } }),
  });
  if (!suspension?.ok) {
    const message = suspension?.refusal.message ?? 'the result holds nothing to wait for';
    return failed('resume_runtime_error', { code: 'invalid_input', message });
  }
  const { maxResumeAttempts } = record.bounds;
  if (record.bounds.resumeAttempts >= maxResumeAttempts) {
    const message = `the turn asks again, but all ${maxResumeAttempts} attempts are used up`;
    return failed('max_resume_attempts_reached', { code: 'attempts_exhausted', message });
  }
  return repended(record, at, result.outcome, suspension);
}

/** A fresh pending state (002 §9.5): its own suspension, wait and deadline; attempts, terms and answers are carried (C9). */
function repended(
  record: ResumingRecord,
  at: string,
  outcome: PendingRecord['origin']['outcome'],
  asked: NewSuspension,
): Step {
  const { waitFor, suspension, continuation, stopReason } = asked;
  const { resume, ...rest } = record;
  const pending: PendingRecord = {
    ...rest,
    status: 'pending',
    origin: { turnId: resume.turnId, outcome, stopReason, createdAt: at },
    waitFor,
    suspension,
    continuation,
    bounds: { ...record.bounds, ...deadline(record.bounds, waitFor, at) },
    answers: record.answers.map(winnerOf),
  };
  return changed<PendingRecord>(pending, at, {});
}

/* Delivery */

type DeliveryEvent = Extract<ContinuationEvent, { type: 'delivered' | 'deliveryUncertain' }>;

function deliveryEvent(record: ContinuationRecord, event: DeliveryEvent): Step {
  if (isTerminal(record)) return alreadyEnded(record);
  if (record.status !== 'resuming' || record.resume.turnId !== event.deliveryId || next(record).do !== 'deliver') {
    return refuse(record, 'already_resumed', `nothing of ${event.deliveryId} is being delivered`);
  }
  if (event.type === 'deliveryUncertain') {
    return {
      ok: true,
      record: finish(record, event.at, { status: 'delivery_failed', uncertain: true, error: event.error }),
    };
  }
  const { status, deliveredAt, attemptedAt, error, metadata } = event;
  const delivery = {
    status,
    ...(attemptedAt && { lastDeliveryAttemptAt: attemptedAt }),
    ...(status === 'delivered' && { deliveredAt: deliveredAt ?? event.at }),
    ...(error && { error }),
    ...(metadata && { metadata }),
  };
  return { ok: true, record: finish(record, event.at, delivery) };
}
