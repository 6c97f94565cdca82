/**
 * The rules of pausing and resuming. Pure: no clock, no ids, no I/O; times, ids and digests come in with the event.
 *
 * `firstRecord` builds a continuation, `step` answers what an event does to it, `next` says what has to happen now. The
 * workflow applies events while the record is `pending`; while a turn or a delivery runs, its activity does.
 *
 * C1  one winner: an answer is accepted only while `pending`, and every refusal after that carries who won.
 * C2  a wrong answer costs nothing: a refused event returns no record.
 * C4  in time is in time: an answer counts at the moment it was received, within the suspension's life.
 * C9  re-pending never weakens the wait: the new wait comes from the new result alone, or the continuation fails.
 * C10 terminal is final: no event changes a terminal record.
 * C11 delivery is told truthfully: no terminal record keeps `pending_delivery`.
 */
import type { Answered, ContinuationEvent, Extended, NewSuspension, Step, Stopped, TurnSettled } from './events.ts';
import type {
  Answer,
  Bounds,
  Cause,
  ContinuationRecord,
  FinalDeliveryStatus,
  PendingRecord,
  Refusal,
  RefusalCode,
  Resume,
  ResumingRecord,
  TerminalReason,
  TerminalRecord,
  Uncertain,
  WaitCondition,
  Winner,
} from './schema.ts';

const HOUR = 3_600_000;
export const MAX_EXTENSIONS = 20;
export const DEFAULT_BOUNDS = {
  maxResumeAttempts: 3,
  onDenied: 'stop',
  onExhausted: 'fail',
  resumeBudgetMs: HOUR / 4,
  turnTimeoutMs: HOUR / 6,
  deliveryBudgetMs: HOUR,
} as const;
export const DEFAULT_TTL: Record<WaitCondition['type'], number> = {
  user_reply: HOUR,
  approval_resolution: 24 * HOUR,
  external_result: HOUR,
  agent_reply: HOUR,
  scheduled_wake: HOUR,
};

/** What has to happen now. `expireAt`-like instants are absolute; an absent `at` means: wait for a message only. */
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

/* Answers */

function answered(record: ContinuationRecord, event: Answered): Step {
  const { answer, message } = event;
  const earlier = record.answers.find((a) => a.subject === answer.subject && a.messageId === answer.messageId);
  if (earlier?.contentDigest === answer.contentDigest) return { ok: false, repeated: winnerOf(earlier) };
  if (earlier) return refuse(record, 'message_conflict', `message ${answer.messageId} was already used with other content`, earlier);

  const refusal = whyNotAnswerable(record, event) ?? whyNotMatching(record, event);
  if (refusal) return { ok: false, refusal };

  const { trigger } = message;
  const accepted: Answer = { ...answer, suspensionId: record.suspension.id, type: trigger.type, acceptedAt: event.at };
  if (trigger.type === 'approval_resolution') accepted.decision = trigger.decision;
  if (trigger.type === 'agent_reply') accepted.decision = trigger.performative;
  if (accepted.decision === 'denied' && record.bounds.onDenied === 'stop') {
    return { ok: true, record: end(record, event.at, 'approval_denied', { answers: [...record.answers, accepted] }) };
  }
  return accept(record, accepted, event.at);
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
  if (bounds.resumeAttempts >= bounds.maxResumeAttempts) {
    return refusal(record, 'attempts_exhausted', `all ${bounds.maxResumeAttempts} attempts are used up`);
  }
  return undefined;
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
  const received = receivedAt < now ? receivedAt : now;
  return received > record.suspension.createdAt ? received : record.suspension.createdAt;
}

function accept(record: ContinuationRecord, answer: Answer, at: string): Step {
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
  if (record.status === 'pending') return { ok: true, record: end(record, event.at, event.reason, stopFields(record, event)) };
  if (next(record).do !== 'deliver') return refuse(record, 'already_resumed', 'a turn is running: it has to be closed');
  const suppressed = event.reason === 'superseded_by_newer_turn' || event.reason === 'session_no_longer_deliverable';
  if (!suppressed) return { ok: true, record };
  return { ok: true, record: finish(record, event.at, { status: deliveryAtEnd(event.reason) }, stopFields(record, event)) };
}

function stopFields(record: ContinuationRecord, event: Pick<Stopped, 'metadata' | 'supersededBy' | 'error'>): Partial<TerminalRecord> {
  return {
    ...(event.metadata && { metadata: { ...record.metadata, ...event.metadata } }),
    ...(event.supersededBy && { supersededBy: event.supersededBy }),
    ...(event.error && { error: event.error }),
  };
}

function extended(record: ContinuationRecord, event: Extended): Step {
  const { bounds } = record;
  if (isTerminal(record)) return alreadyEnded(record);
  if (record.status !== 'pending') return refuse(record, 'already_resumed', 'this was already answered', record.answers.at(-1));
  if (bounds.expiresAt === undefined) return refuse(record, 'invalid_input', 'this continuation never expires');
  if (isPast(bounds, event.at)) return refuse(record, 'expired', `the time to answer ended at ${bounds.expiresAt}`);
  if (event.expiresAt <= bounds.expiresAt) {
    return refuse(record, 'invalid_input', `a deadline only moves later: it is ${bounds.expiresAt}`);
  }
  if (bounds.extensions >= MAX_EXTENSIONS) return refuse(record, 'invalid_input', `a deadline moves at most ${MAX_EXTENSIONS} times`);
  const { expiresAt } = event;
  return changed<PendingRecord>(record, event.at, { bounds: { ...bounds, expiresAt, extensions: bounds.extensions + 1 } });
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
  if (record.resume.uncertain) return refuse(record, 'already_resumed', `the outcome of turn ${event.turnId} is unknown (C8)`);
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
function turnFailed(record: ResumingRecord, at: string, resume: Resume, failure: { error: Cause; exhausted?: boolean }): Step {
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
    if (record.delivery.status === 'pending_delivery' && event.deliverable) return changed<ResumingRecord>(settled, at, {});
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
function repended(record: ResumingRecord, at: string, outcome: PendingRecord['origin']['outcome'], asked: NewSuspension): Step {
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
    return { ok: true, record: finish(record, event.at, { status: 'delivery_failed', uncertain: true, error: event.error }) };
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

/* Building records */

/** The parts of a create that are decided outside: parsed input, ids, digests. */
export interface FirstRecordInput {
  readonly identity: Pick<
    PendingRecord,
    'id' | 'scope' | 'assistantId' | 'sessionId' | 'threadId' | 'userId' | 'idempotencyKey' | 'metadata'
  >;
  readonly originTurnId: string;
  readonly outcome: PendingRecord['origin']['outcome'];
  readonly delivery: PendingRecord['delivery'];
  readonly bounds: { readonly [K in keyof Bounds]?: Bounds[K] | undefined };
  readonly asked: NewSuspension;
}

/** The record of a fresh pause, or why there is nothing to wait for. `now` is the moment of the pause. */
export function firstRecord(input: FirstRecordInput, now: string): Step {
  const { asked } = input;
  const { waitFor, suspension, continuation } = asked;
  const onExpiry = waitFor.type === 'agent_reply' ? ('resume' as const) : ('expire' as const);
  const bounds: Bounds = { ...DEFAULT_BOUNDS, onExpiry, resumeAttempts: 0, extensions: 0, ...defined<Bounds>(input.bounds) };
  if (bounds.expiresAt === undefined) Object.assign(bounds, deadline(bounds, waitFor, now));
  const record: PendingRecord = {
    schemaVersion: 1,
    ...input.identity,
    revision: 1,
    status: 'pending',
    origin: { turnId: input.originTurnId, outcome: input.outcome, stopReason: asked.stopReason, createdAt: now },
    lineage: [input.originTurnId],
    waitFor,
    continuation,
    suspension,
    delivery: input.delivery,
    bounds,
    answers: [],
    createdAt: now,
    updatedAt: now,
  };
  const invalid = (path: string, message: string): Step => ({ ok: false, refusal: { code: 'invalid_input', path, message } });
  if (isPast(bounds, now)) return invalid('bounds.expiresAt', `must be in the future, not ${bounds.expiresAt}`);
  if (bounds.resumeAttempts >= bounds.maxResumeAttempts) return invalid('bounds.resumeAttempts', 'leaves no attempt to use an answer');
  const wakeAt = waitFor.type === 'scheduled_wake' ? waitFor.wakeAt : undefined;
  if (wakeAt && isPast(bounds, wakeAt)) return invalid('bounds.expiresAt', `must be after the wake at ${wakeAt}`);
  return { ok: true, record };
}

/** A fresh deadline for a wait: its type's TTL, for a wake counted from the wake. */
function deadline(bounds: Bounds, waitFor: WaitCondition, at: string): Pick<Bounds, 'expiresAt'> {
  if (bounds.neverExpires) return {};
  const wakeAt = waitFor.type === 'scheduled_wake' ? waitFor.wakeAt : undefined;
  const from = wakeAt && wakeAt > at ? wakeAt : at;
  return { expiresAt: later(from, bounds.ttl?.[waitFor.type] ?? DEFAULT_TTL[waitFor.type]) };
}

type WithoutRevision<R> = Partial<Omit<R, 'revision' | 'updatedAt'>>;

function changed<R extends ContinuationRecord>(record: ContinuationRecord, at: string, changes: WithoutRevision<R>): Step {
  const updatedAt = at > record.updatedAt ? at : record.updatedAt;
  return { ok: true, record: { ...record, ...changes, revision: record.revision + 1, updatedAt } as ContinuationRecord };
}

export const STATUS_OF: Record<TerminalReason, TerminalRecord['status']> = {
  completed: 'completed',
  cancelled_by_user: 'cancelled',
  cancelled_by_product: 'cancelled',
  approval_denied: 'cancelled',
  expired_ttl: 'expired',
  superseded_by_newer_turn: 'superseded',
  invalid_resume_trigger: 'failed',
  max_resume_attempts_reached: 'failed',
  resume_runtime_error: 'failed',
  delivery_failed: 'failed',
  session_no_longer_deliverable: 'failed',
};

/** Ends a continuation without a follow-up to deliver (C11). */
function end(record: ContinuationRecord, at: string, reason: TerminalReason, changes: Partial<TerminalRecord> = {}): TerminalRecord {
  const { delivery } = record;
  const status = delivery.status === 'pending_delivery' ? deliveryAtEnd(reason) : delivery.status;
  return ended(record, at, reason, { delivery: { ...delivery, status }, ...changes });
}

/** Ends a continuation whose turn had ended, with what became of its follow-up. */
function finish(
  record: ResumingRecord,
  at: string,
  delivery: Omit<TerminalRecord['delivery'], 'target'>,
  changes: Partial<TerminalRecord> = {},
): TerminalRecord {
  const reason = record.resume.outcome === 'completed' ? 'completed' : 'resume_runtime_error';
  return ended(record, at, reason, { delivery: { ...record.delivery, ...delivery }, ...changes });
}

function ended(record: ContinuationRecord, at: string, reason: TerminalReason, changes: Partial<TerminalRecord>): TerminalRecord {
  const updatedAt = at > record.updatedAt ? at : record.updatedAt;
  const revision = record.revision + 1;
  return { ...record, ...changes, status: STATUS_OF[reason], terminalReason: reason, revision, updatedAt } as TerminalRecord;
}

function deliveryAtEnd(reason: TerminalReason): FinalDeliveryStatus {
  switch (reason) {
    case 'expired_ttl':
      return 'suppressed_expired';
    case 'superseded_by_newer_turn':
      return 'suppressed_superseded';
    case 'session_no_longer_deliverable':
      return 'suppressed_session_reengaged';
    case 'delivery_failed':
      return 'delivery_failed';
    default:
      return 'not_applicable';
  }
}

/* Reading records */

export function isTerminal(record: ContinuationRecord): record is TerminalRecord {
  return record.status !== 'pending' && record.status !== 'resuming';
}

/** The answer that is being carried out. */
export function resolution(record: ContinuationRecord): Answer | undefined {
  return record.status === 'resuming' ? record.answers.at(-1) : undefined;
}

/** An answer as others are told about it: without what it said. */
export function winnerOf({ input, metadata, ...winner }: Answer): Winner {
  return winner;
}

/** Who won the suspension that an answer names; without a name, the last one (C1). */
function winnerFor(record: ContinuationRecord, suspensionId: string | undefined): Answer | undefined {
  if (suspensionId === undefined) return record.answers.at(-1);
  return record.answers.find((answer) => answer.suspensionId === suspensionId);
}

/** At the deadline is after it (001, 002). */
function isPast(bounds: Bounds, instant: string): boolean {
  return bounds.expiresAt !== undefined && instant >= bounds.expiresAt;
}

function refusal(record: ContinuationRecord, code: RefusalCode, message: string, winner?: Answer): Refusal {
  return { code, message, status: record.status, ...(winner && { winner: winnerOf(winner) }) };
}

function refuse(record: ContinuationRecord, code: RefusalCode, message: string, winner?: Answer): Step {
  return { ok: false, refusal: refusal(record, code, message, winner) };
}

function alreadyEnded(record: TerminalRecord): Step {
  return refuse(record, 'already_terminal', `the continuation has ended: ${record.terminalReason}`, record.answers.at(-1));
}

/** The last instant that has a four-digit year: a later one is neither ISO 8601 as we write it nor in order as text. */
const END_OF_TIME = Date.parse('9999-12-31T23:59:59.999Z');

function later(instant: string, ms: number): string {
  return new Date(Math.min(Date.parse(instant) + ms, END_OF_TIME)).toISOString();
}

/** Without members that are present but undefined, so that they do not hide defaults. */
function defined<T extends object>(value: { readonly [K in keyof T]?: T[K] | undefined }): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<T>;
}
