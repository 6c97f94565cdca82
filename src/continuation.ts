/**
 * The rules of pausing and resuming. Pure: no clock, no ids, no I/O; times, ids and digests come in with the event.
 *
 * `step` answers what an event does to a record (`answer.ts` for answers, `turn.ts` for turns), `next` says what has to happen now. The workflow
 * applies events while the record is `pending`; while a turn or a delivery runs, its activity does.
 *
 * C2  a wrong answer costs nothing: a refused event returns no record.
 * C10 terminal is final: no event changes a terminal record.
 * C11 delivery is told truthfully: no terminal record keeps `pending_delivery`.
 */
import { accept, answered } from './answer.ts';
import type { ContinuationEvent, Extended, Step, Stopped } from './events.ts';
import {
  alreadyEnded,
  changed,
  deliveryAtEnd,
  end,
  finish,
  isPast,
  isTerminal,
  later,
  refuse,
  stopFields,
} from './record.ts';
import type { ContinuationRecord, PendingRecord } from './schema.ts';
import { reconciled, turnEvent } from './turn.ts';

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
    case 'taken':
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
    case 'reconciled':
      return reconciled(record, event);
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
