/**
 * Runs the resumed turn of an accepted answer, at most once to a recorded end, and makes the first attempt to deliver its follow-up.
 *
 * C6 every write goes through the locked turn row and compares the fence; what the row says is returned and adopted.
 * C7 a turn whose end was never recorded is not run again, unless its harness is replayable.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { closeTurn } from '../src/close.ts';
import { type Content, textOf } from '../src/content.ts';
import { next } from '../src/continuation.ts';
import { decidedCalls } from '../src/decision.ts';
import { isContinuationError } from '../src/errors.ts';
import { newToken } from '../src/ids.ts';
import { callerOfTurn, whyNotAllowed } from '../src/policy.ts';
import type { Begun, Harness, ResumedTurn, Stored } from '../src/ports.ts';
import { receipt } from '../src/receipts.ts';
import { resolution } from '../src/record.ts';
import type { ResumeTrigger, ResumingRecord } from '../src/schema.ts';
import { stateOf } from '../src/suspend.ts';
import { traceOf } from '../src/trace.ts';
import { createClock } from './clock.ts';
import type { Activities } from './contract.ts';
import { deliverOnce } from './deliver.ts';
import { type ActivityDeps, deliveryOf } from './deps.ts';
import { causeOf } from './failure.ts';
import { type Run, runHarness } from './harness-run.ts';
import { lastHeartbeat } from './heartbeat.ts';
import { persistently } from './persistently.ts';
import { endUncertain, recordRun } from './record-end.ts';
import { turnEffects } from './turn-effects.ts';

type Fresh = Extract<Begun, { found: 'fresh' }>;
type Clock = () => string;

export function createRunTurn(deps: ActivityDeps): Activities['runTurn'] {
  return async ({ record, now }) => {
    if (record.status !== 'resuming')
      throw ApplicationFailure.nonRetryable('only an accepted answer has a turn', 'invalid_input');
    const harness = deps.harnessFor(record.assistantId);
    // Without a harness nothing is begun: another worker may have one.
    if (harness instanceof Error) throw ApplicationFailure.retryable(harness.message, harness.code);
    const clock = createClock(now);
    return bringFollowUp(deps, await startTurn(deps, harness, record, clock), clock);
  };
}

/** What cannot be delivered now, or not by this worker, is left to `deliver`; after a throw not at once. */
async function bringFollowUp(deps: ActivityDeps, ended: Stored, clock: Clock): Promise<Stored> {
  const { record } = ended;
  if (next(record).do !== 'deliver' || !deliveryOf(deps, record)) return ended;
  const { stored, again } = await deliverOnce(deps, record as ResumingRecord, clock);
  // A stop, or a worker that shuts down, does not wait for it.
  if (again)
    await Context.current()
      .sleep(again.delayMs)
      .catch(() => undefined);
  return stored;
}

/** Authority is that of now, not that of the pause or the answer (000, 001): a turn whose sender may no longer start it is not begun. */
async function startTurn(deps: ActivityDeps, harness: Harness, record: ResumingRecord, clock: Clock): Promise<Stored> {
  const denied = await whyNotAllowed(deps.policy, 'start', callerOfTurn(record), record);
  if (!denied) return beginAndRun(deps, harness, record, clock);
  const error = { code: denied.refusal.code, message: denied.refusal.message };
  const stop = { at: clock(), reason: 'cancelled_by_product', error } as const;
  const closed = await closeTurn(deps, { record, turnId: record.resume.turnId, stop, onlyIfNotStarted: true });
  // One that had started may have had effects: what became of it is for the row to say.
  return closed.started ? beginAndRun(deps, harness, record, clock) : closed;
}

async function beginAndRun(
  deps: ActivityDeps,
  harness: Harness,
  record: ResumingRecord,
  clock: Clock,
): Promise<Stored> {
  const { turnId } = record.resume;
  const begun = await deps.store.beginTurn({
    record,
    token: newToken(),
    worker: deps.identity,
    at: clock(),
    replayable: harness.replayable === true,
    receipts: [receipt('admitted', record)],
  });
  switch (begun.found) {
    case 'finished':
      return begun;
    case 'gone':
      throw ApplicationFailure.nonRetryable(`the row of ${record.id} is gone`, 'not_found');
    case 'superseded': {
      const stop = { at: clock(), reason: 'superseded_by_newer_turn', supersededBy: begun.by } as const;
      return closeTurn(deps, { record, turnId, stop });
    }
    case 'lost': {
      const message = 'The worker that ran it was lost and its end was never recorded.';
      const { worker } = begun;
      const lastHeartbeatAt = lastHeartbeat();
      const evidence = { ...(worker && { worker }), ...(lastHeartbeatAt && { lastHeartbeatAt }) };
      return endUncertain(deps, begun, { cause: 'lost', at: clock(), message, ...evidence });
    }
    case 'fresh': {
      deps.trace?.emit(traceOf('continuation_resumed_turn_started', begun.record, clock()));
      return recordRun(deps, begun, await runFresh(deps, harness, begun), clock);
    }
    default:
      return begun satisfies never;
  }
}

/** What is stored and is not what was decided on is never run. */
async function runFresh(deps: ActivityDeps, harness: Harness, begun: Fresh): Promise<Run> {
  try {
    return await runHarness(harness, await turnOf(deps, begun), begun.record.bounds.turnTimeoutMs);
  } catch (error) {
    if (isContinuationError(error, 'record_malformed')) return { kind: 'permanent', error: causeOf(error) };
    throw error;
  }
}

/** The record with its state put back, the answer with the times that its sender left out, and what it decides about each call. */
async function turnOf({ store }: ActivityDeps, begun: Fresh): Promise<Omit<ResumedTurn, 'signal'>> {
  const { record, attempt } = begun;
  const state = stateOf(begun.state);
  const trigger = triggerOf(record, begun.input);
  const calls = await decidedCalls(record, trigger, (ref) => persistently(() => store.content(record.scope, ref)));
  return {
    continuation: { ...record, continuation: { ...record.continuation, state } },
    trigger,
    calls,
    resumedTurnId: record.resume.turnId,
    attempt,
    ...turnEffects(store, begun),
  };
}

function triggerOf(record: ResumingRecord, input: Content | undefined): ResumeTrigger {
  const answer = resolution(record);
  const given = answer?.input;
  if (!answer || !given)
    throw ApplicationFailure.nonRetryable('the record holds no answer to carry out', 'record_malformed');
  const trigger = 'trigger' in given ? given.trigger : (JSON.parse(input ? textOf(input) : '') as ResumeTrigger);
  const { receivedAt, messageId } = answer;
  switch (trigger.type) {
    case 'user_reply':
      return { receivedAt, ...trigger, message: { id: messageId, receivedAt, ...trigger.message } };
    case 'approval_resolution':
    case 'external_result':
      return { resolvedAt: receivedAt, ...trigger };
    case 'scheduled_wake':
      return { firedAt: receivedAt, ...trigger };
    default:
      return trigger;
  }
}
