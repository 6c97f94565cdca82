/**
 * One continuation, from the pause to a terminal status. It registers handlers, waits, and calls activities; what may happen
 * is decided by `step`, what has to happen by `next`.
 *
 * C6  a turn ends once: while a turn or delivery runs the record is frozen, and what its activity committed is adopted.
 * C13 nothing waits without an owner: the deadline is this workflow's timer.
 */
import { allHandlersFinished, CancellationScope, condition, isCancellation, log } from '@temporalio/workflow';
import { type Next, next } from '../src/continuation.ts';
import { digestJson } from '../src/digest.ts';
import type { ContinuationEvent, Sender } from '../src/events.ts';
import type { ContinuationRecord, ResumeTrigger, ResumingRecord } from '../src/schema.ts';
import { timerSummary } from '../src/summary.ts';
import { createEffects, type Effects } from './effects.ts';
import { registerHandlers } from './handlers.ts';
import { Life, now } from './life.ts';
import type { ContinuationOutcome, ReconcileRequest } from './messages.ts';
import { readStart } from './read.ts';
import { Execution, Timer } from './under-way.ts';

export async function continuation(given: unknown): Promise<ContinuationOutcome> {
  const start = readStart(given);
  const life = new Life(start);
  registerHandlers(life, start.options);
  // Cancellation from the Temporal UI is a stop like any other; the workflow still ends by its own rules.
  CancellationScope.current().cancelRequested.catch(() => life.stop({ reason: 'cancelled_by_user' }));
  // What the client stored is shown already; a message may have changed the record before this line.
  const shown = start.options.announce ? undefined : start.record;
  return CancellationScope.nonCancellable(() => live(life, createEffects(start.options), shown));
}

/** `shown` is what the row showed when the workflow was started, when nobody has to be told about it. */
async function live(life: Life, effects: Effects, shown?: ContinuationRecord): Promise<ContinuationOutcome> {
  const showing: Promise<void>[] = [];
  for (;;) {
    const todo = next(life.record);
    switch (todo.do) {
      case 'wait':
        if (shown !== life.record) {
          const isNew = shown?.suspension.id !== life.record.suspension.id;
          shown = life.record;
          showing.push(show(effects, shown, isNew));
        }
        await waitUntil(life, todo);
        break;
      case 'runTurn':
      case 'deliver':
        await carryOut(life, effects, todo);
        break;
      case 'askOperator':
        if (shown !== life.record) {
          shown = life.record;
          showing.push(show(effects, shown, true));
        }
        await condition(() => life.stopRequest !== undefined || life.reconciliation !== undefined);
        await (life.reconciliation ? reconcile(life, effects, life.reconciliation) : close(life, effects));
        break;
      case 'finish':
        if (life.committed) return leave(life, showing);
        // After a reset the row may be further, and wait again.
        life.adopt(await effects.project(life.record));
        break;
      default:
        return todo satisfies never;
    }
  }
}

async function leave(life: Life, showing: readonly Promise<void>[]): Promise<ContinuationOutcome> {
  if (showing.length > 0) await Promise.all(showing);
  if (!allHandlersFinished()) await condition(allHandlersFinished);
  return outcomeOf(life);
}

/** An operator's decision is carried out as a turn ends: under its lock, once (C6, C8). */
async function reconcile(life: Life, effects: Effects, request: ReconcileRequest): Promise<void> {
  life.adopt(await effects.reconcile({ ...request, record: life.record as ResumingRecord }));
  life.reconciled();
}

/** Makes a new question, an unknown outcome, or its new deadline, visible; the answer may already be on its way. */
async function show(effects: Effects, record: ContinuationRecord, announce: boolean): Promise<void> {
  try {
    await effects.open(record, announce);
  } catch (error) {
    log.error('The question could not be announced', { error });
  }
}

/** Waits for an answer, a stop, a new deadline, or the instant. */
async function waitUntil(life: Life, { at, then }: Extract<Next, { do: 'wait' }>): Promise<void> {
  const { record } = life;
  const changed = () => life.record !== record;
  if (!at || !then) return condition(changed);
  const timer = new Timer(at, timerSummary(record));
  await condition(() => timer.fired || changed());
  timer.cancel();
  if (!changed()) life.apply(timerEvent(record, then, at));
}

/** What a timer says: a wake and "no answer in time" are answers of the system. */
function timerEvent(record: ContinuationRecord, type: 'woke' | 'noAnswer' | 'expired', due: string): ContinuationEvent {
  const at = now();
  if (type === 'expired') return { type, at };
  const { waitFor, suspension } = record;
  const wakes = type === 'woke' && waitFor.type === 'scheduled_wake';
  const trigger: ResumeTrigger = wakes
    ? { type: 'scheduled_wake', wakeUpId: waitFor.wakeUpId, firedAt: due }
    : { type: 'no_answer', firedAt: due };
  const answer: Sender = {
    messageId: `${trigger.type}:${suspension.id}`,
    contentDigest: digestJson(trigger),
    subject: 'system',
    verified: true,
    channel: 'timer',
    receivedAt: due,
    input: { trigger },
  };
  return { type, at, answer };
}

type Running = Extract<Next, { do: 'runTurn' | 'deliver' }>;

/** Runs a turn to its end and brings its follow-up, or delivers one that is still to be brought. */
async function carryOut(life: Life, effects: Effects, todo: Running): Promise<void> {
  // A stop can come with the answer, before anything runs.
  if (life.stopRequest) return close(life, effects);
  const record = life.record as ResumingRecord;
  const execution = new Execution(() => (todo.do === 'deliver' ? effects.deliver(record) : effects.runTurn(record)));
  if (todo.do === 'runTurn') await untilTurnEnds(life, effects, execution, todo);
  if (!execution.end && next(life.record).do === 'deliver') {
    await condition(() => execution.end !== undefined || life.stopRequest !== undefined);
    // An attempt under way may have arrived: a stop that suppresses it hears first what it comes to (C7).
    if (!execution.end) execution.cancel();
    await condition(() => execution.end !== undefined);
  }
  if (execution.end) hear(life, execution.end);
  else execution.cancel();
  if (life.stopRequest) await close(life, effects);
}

/** Consent goes stale: with a start window, an answer whose turn has not started by its end expires (001). */
const START_WINDOW_OVER = { reason: 'expired_ttl', onlyIfNotStarted: true } as const;

/** A stop, or the end of the start window, is decided by the row under its lock: the turn is closed, or it had ended before (C6). */
async function untilTurnEnds(
  life: Life,
  effects: Effects,
  execution: Execution,
  { turnId, startBy }: Extract<Running, { do: 'runTurn' }>,
): Promise<void> {
  const { record } = life;
  let window = startBy === undefined ? undefined : new Timer(startBy, 'Start window');
  for (;;) {
    await condition(() => execution.end !== undefined || life.stopRequest !== undefined || window?.fired === true);
    if (execution.end) break;
    if (!life.stopRequest) window = undefined;
    const why = life.stopRequest ?? START_WINDOW_OVER;
    const closing = effects.closeTurn({ ...why, record, turnId, leaveFollowUp: true });
    const closed = await (life.stopRequest ? closedOrInterrupted(closing, execution) : closing);
    if (execution.end && 'committed' in execution.end) break;
    if (closed.started) continue;
    life.adopt(closed);
    const stop = life.stopRequest;
    life.stopTaken();
    // It may have asked again, or bring its follow-up: the stop meets that.
    if (stop) life.stop(stop);
    break;
  }
  window?.cancel();
}

/** What runs may hold the only free place of a worker, or the database be away: then it is told to stop before the row has decided. */
async function closedOrInterrupted<T>(closing: Promise<T>, execution: Execution): Promise<T> {
  let closed = false;
  const heard = closing.finally(() => {
    closed = true;
  });
  if (!(await condition(() => closed || execution.end !== undefined, CLOSE_PATIENCE_MS))) execution.cancel();
  return heard;
}
const CLOSE_PATIENCE_MS = 5_000;

/** How what ran has ended: with what it committed, stopped, or failed where it should not. */
function hear(life: Life, end: NonNullable<Execution['end']>): void {
  if ('committed' in end) life.adopt(end.committed);
  else if (!isCancellation(end.error)) failedForGood(life, end.error);
}

/** The turn is to be closed, or the delivery may have arrived. */
function failedForGood(life: Life, error: unknown): void {
  const todo = next(life.record);
  log.error('An activity failed for good', { error, activity: todo.do });
  if (todo.do !== 'deliver') {
    life.stop({ reason: 'resume_runtime_error' });
    return;
  }
  const message = 'Its activity failed; it may have arrived.';
  life.apply({ type: 'deliveryUncertain', at: now(), deliveryId: todo.deliveryId, error: message });
}

async function close(life: Life, effects: Effects): Promise<void> {
  const { record, stopRequest: stop } = life;
  if (!stop) return;
  // What ran may have ended in the same moment; then there is nothing to close.
  if (record.status === 'resuming') {
    life.adopt(await effects.closeTurn({ ...stop, record, turnId: record.resume.turnId }));
  }
  life.stopTaken();
  // It may have asked again; then the stop meets the new question.
  if (life.record.status === 'pending') life.stop(stop);
}

function outcomeOf({ record, receiptsHead, refusedSignals }: Life): ContinuationOutcome {
  const answer = record.answers.at(-1);
  return {
    status: record.status,
    ...(record.terminalReason && { reason: record.terminalReason }),
    ...(answer?.decision && { decision: answer.decision }),
    ...(answer && { answeredBy: answer.subject, answeredAt: answer.receivedAt }),
    delivery: record.delivery.status,
    receiptsHead,
    ...(refusedSignals.length > 0 && { refusedSignals }),
  };
}
