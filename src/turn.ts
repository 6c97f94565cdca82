/**
 * How a resumed turn ends: what its execution came to, what closed it, what an operator says of it. Pure.
 *
 * C6 a turn ends once: nothing is taken from a turn that is not running.
 * C8 unknown is neither success nor failure: only an operator or a stop ends it.
 * C9 re-pending never weakens the wait: the new wait comes from the new result alone, or the continuation fails.
 */
import type { ContinuationEvent, NewSuspension, Reconciled, Step, TurnSettled } from './events.ts';
import { alreadyEnded, changed, deadline, end, finish, isTerminal, refuse, stopFields, winnerOf } from './record.ts';
import type { Cause, ContinuationRecord, PendingRecord, Resume, ResumingRecord, Uncertain } from './schema.ts';

export type TurnEvent = Extract<
  ContinuationEvent,
  { type: 'attemptEnded' | 'turnSettled' | 'turnFailed' | 'turnUncertain' | 'turnClosed' }
>;

export function turnEvent(record: ContinuationRecord, event: TurnEvent): Step {
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

/** An operator says what came of an execution that nobody heard the end of (C8): it counts, it runs again, or it is closed. */
export function reconciled(record: ContinuationRecord, event: Reconciled): Step {
  const { at, turnId, attempt, reconciliation, settled } = event;
  if (isTerminal(record)) return alreadyEnded(record);
  const { resume } = record;
  if (!resume?.uncertain || resume.turnId !== turnId || resume.attempt !== attempt)
    return refuse(record, 'already_resumed', `the outcome of ${turnId}, attempt ${attempt}, is not in question`);
  const { uncertain, ...known } = resume;
  const decided: Resume = { ...known, reconciled: reconciliation };
  switch (reconciliation.action) {
    case 'did_not_happen':
      return changed<ResumingRecord>(record, at, { resume: decided });
    case 'close_incomplete': {
      const message = `closed as incomplete by ${reconciliation.actor}: ${uncertain.message}`;
      const error: Cause = { code: 'closed_incomplete', message };
      return { ok: true, record: end(record, at, 'resume_runtime_error', { resume: { ...decided, error } }) };
    }
    case 'happened':
      // Of an effect: the turn goes on with what it came to.
      if (reconciliation.effect !== undefined) return changed<ResumingRecord>(record, at, { resume: decided });
      if (settled) return turnSettled(record, { at, ...settled }, decided);
      return refuse(record, 'invalid_input', 'what the turn came to is missing');
    default:
      return reconciliation.action satisfies never;
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

type Settled = Pick<TurnSettled, 'at' | 'result' | 'suspension' | 'deliverable'>;
function turnSettled(record: ResumingRecord, event: Settled, resume: Resume): Step {
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
