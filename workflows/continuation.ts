/**
 * One continuation, from the pause to a terminal status. It registers handlers, waits, and calls activities; what may happen
 * is decided by `step`, what has to happen by `next`.
 *
 * C6  a turn ends once: while a turn or delivery runs the record is frozen, and what its activity committed is adopted.
 * C13 nothing waits without an owner: the deadline is this workflow's timer.
 */
import { CancellationScope, condition, isCancellation, log, sleep } from '@temporalio/workflow';
import type { Committed } from '../activities/contract.ts';
import { type Next, next } from '../src/continuation.ts';
import { digestJson } from '../src/digest.ts';
import type { ContinuationEvent, Sender } from '../src/events.ts';
import type { ContinuationRecord, ResumeTrigger, ResumingRecord } from '../src/schema.ts';
import { timerSummary } from '../src/summary.ts';
import { createEffects, type Effects } from './effects.ts';
import { drained, registerHandlers } from './handlers.ts';
import { Life, now } from './life.ts';
import type { ContinuationOutcome } from './messages.ts';
import { readStart } from './read.ts';

export async function continuation(given: unknown): Promise<ContinuationOutcome> {
  const start = readStart(given);
  const life = new Life(start);
  registerHandlers(life, start.options);
  // Cancellation from the Temporal UI is a stop like any other; the workflow still ends by its own rules.
  CancellationScope.current().cancelRequested.catch(() => life.stop({ reason: 'cancelled_by_user' }));
  return CancellationScope.nonCancellable(() => live(life, createEffects(start.options), start.options.announce));
}

async function live(life: Life, effects: Effects, announceFirst: boolean): Promise<ContinuationOutcome> {
  let opened = announceFirst ? undefined : life.record.suspension.id;
  const opening: Promise<void>[] = [];
  for (;;) {
    const todo = next(life.record);
    switch (todo.do) {
      case 'wait':
        if (opened !== life.record.suspension.id) {
          opened = life.record.suspension.id;
          opening.push(open(life, effects));
        }
        await waitUntil(life, todo);
        break;
      case 'runTurn':
        await interruptible(life, effects, todo.turnId, (record) => runTurn(life, effects, record, todo.startBy));
        break;
      case 'askOperator':
        await condition(() => life.stopRequest !== undefined);
        await close(life, effects, todo.turnId);
        break;
      case 'deliver':
        await interruptible(life, effects, todo.deliveryId, effects.deliver);
        break;
      case 'finish':
        if (!life.committed) {
          // After a reset the row may be further, and wait again.
          life.adopt(await effects.project(life.record));
          break;
        }
        await Promise.all(opening);
        await drained();
        return outcomeOf(life);
      default:
        return todo satisfies never;
    }
  }
}

/** Makes a new question visible while its answer may already be on the way. */
async function open(life: Life, effects: Effects): Promise<void> {
  try {
    await effects.open(life.record);
  } catch (error) {
    log.error('The question could not be announced', { error });
  }
}

/** Waits for an answer, a stop, or the instant; an extended deadline is seen when the old timer fires. */
async function waitUntil(life: Life, { at, then }: Extract<Next, { do: 'wait' }>): Promise<void> {
  const decided = () => life.record.status !== 'pending';
  if (!at || !then) return condition(decided);
  const ms = Math.max(1, Date.parse(at) - Date.now());
  if (await condition(decided, ms, { summary: timerSummary(life.record) })) return;
  life.apply(timerEvent(life.record, then, at));
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

/** Runs what a stop may interrupt. After an interruption the row decides under its lock which came first. */
async function interruptible(
  life: Life,
  effects: Effects,
  turnId: string,
  effect: (record: ResumingRecord) => Promise<Committed>,
): Promise<void> {
  // A stop can come with the answer, before anything runs.
  if (!life.stopRequest) await untilStopped(life, effect);
  if (life.stopRequest) await close(life, effects, turnId);
}

async function untilStopped(life: Life, effect: (record: ResumingRecord) => Promise<Committed>): Promise<void> {
  const scope = new CancellationScope();
  const record = life.record as ResumingRecord;
  try {
    const cancel = () => scope.cancel();
    life.adopt(await life.interruptible(cancel, () => scope.run(() => effect(record))));
  } catch (error) {
    if (!isCancellation(error)) {
      log.error('An activity failed for good; the turn is closed', { error });
      life.stop({ reason: 'resume_runtime_error' });
    }
  }
}

async function close(life: Life, effects: Effects, turnId: string): Promise<void> {
  const stop = life.stopRequest;
  if (!stop) return;
  life.adopt(await effects.closeTurn({ ...stop, record: life.record, turnId }));
  life.stopTaken();
  // The turn may have ended first and asked again; then the stop meets the new question.
  if (life.record.status === 'pending') life.stop(stop);
}

/** Consent goes stale: with a start window, an answer whose turn has not started by then expires (001). */
async function runTurn(
  life: Life,
  effects: Effects,
  record: ResumingRecord,
  startBy: string | undefined,
): Promise<Committed> {
  if (!startBy) return effects.runTurn(record);
  const window = new CancellationScope();
  const turn = new CancellationScope();
  const expiry = window.run(async () => {
    await sleep(Math.max(1, Date.parse(startBy) - Date.now()), { summary: 'Start window' });
    const { turnId } = record.resume;
    const closed = await effects.closeTurn({ record, turnId, reason: 'expired_ttl', onlyIfNotStarted: true });
    if (!closed.started) turn.cancel();
    return closed;
  });
  // A stop cancels both at once: nobody waits for the expiry then, and an unhandled rejection would fail the task for ever.
  expiry.catch(() => undefined);
  try {
    return await turn.run(() => effects.runTurn(record));
  } catch (error) {
    if (isCancellation(error) && life.stopRequest === undefined) return await expiry;
    throw error;
  } finally {
    window.cancel();
  }
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
