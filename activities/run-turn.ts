/**
 * Runs the resumed turn of an accepted answer, at most once to a recorded end.
 *
 * C6 every write goes through the locked turn row and compares the fence; what the row says is returned and adopted.
 * C7 a turn whose end was never recorded is not run again, unless its harness is replayable.
 */
import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { closeTurn } from '../src/close.ts';
import { step } from '../src/continuation.ts';
import type { TurnSettled } from '../src/events.ts';
import { newToken } from '../src/ids.ts';
import { MAX_INPUT_BYTES, utf8Length } from '../src/json.ts';
import type { Begun, Grant, Harness, Stored } from '../src/ports.ts';
import { receipt } from '../src/receipts.ts';
import { resolution } from '../src/record.ts';
import {
  type Cause,
  type HarnessResult,
  MAX_RECORD_BYTES,
  type ResumeTrigger,
  type ResumingRecord,
  type Uncertain,
} from '../src/schema.ts';
import { type Content, describePause, stateOf } from '../src/suspend.ts';
import { traceEnd, traceOf } from '../src/trace.ts';
import { createClock } from './clock.ts';
import type { Activities } from './contract.ts';
import type { ActivityDeps } from './deps.ts';
import { causeOf, retryDelayMs, tryAgain } from './failure.ts';
import { type Run, runHarness } from './harness-run.ts';
import { whileHeartbeating } from './heartbeat.ts';
import { persistently } from './persistently.ts';

type Fresh = Extract<Begun, { found: 'fresh' }>;
type Clock = () => string;

export function createRunTurn(deps: ActivityDeps): Activities['runTurn'] {
  return ({ record, now }) => {
    if (record.status !== 'resuming')
      throw ApplicationFailure.nonRetryable('only an accepted answer has a turn', 'invalid_input');
    const harness = deps.harnessFor(record.assistantId);
    // Without a harness nothing is begun: another worker may have one.
    if (harness instanceof Error) throw ApplicationFailure.retryable(harness.message, harness.code);
    // From the start: a begin that waits for the database must not be taken for a lost worker.
    return whileHeartbeating(() => beginAndRun(deps, harness, record, createClock(now)));
  };
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
      return endUncertain(deps, begun, { cause: 'lost', at: clock(), message });
    }
    case 'fresh': {
      deps.trace?.emit(traceOf('continuation_resumed_turn_started', begun.record, clock()));
      const run = await runHarness(harness, turnOf(begun), begun.record.bounds.turnTimeoutMs);
      return recordRun(deps, begun, run, clock);
    }
    default:
      return begun satisfies never;
  }
}

/** The record with its state put back, and the answer with the times that its sender left out. */
function turnOf(begun: Fresh): {
  continuation: ResumingRecord & { continuation: { state: unknown } };
  trigger: ResumeTrigger;
  resumedTurnId: string;
  attempt: number;
} {
  const { record, attempt } = begun;
  const state = stateOf(begun.state);
  return {
    continuation: { ...record, continuation: { ...record.continuation, state } },
    trigger: triggerOf(record, begun.input),
    resumedTurnId: record.resume.turnId,
    attempt,
  };
}

function triggerOf(record: ResumingRecord, input: Content | undefined): ResumeTrigger {
  const answer = resolution(record);
  const given = answer?.input;
  if (!answer || !given)
    throw ApplicationFailure.nonRetryable('the record holds no answer to carry out', 'record_malformed');
  const trigger =
    'trigger' in given
      ? given.trigger
      : (JSON.parse(Buffer.from(input?.bytes ?? []).toString('utf8')) as ResumeTrigger);
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

/** Records how the run ended, and returns what the row says after it. */
async function recordRun(deps: ActivityDeps, grant: Grant, run: Run, clock: Clock): Promise<Stored> {
  const at = clock();
  switch (run.kind) {
    case 'result':
      return settle(deps, grant, run.result, at);
    case 'unknown':
      return endUncertain(deps, grant, { cause: 'unknown', at, message: run.error.message });
    case 'permanent':
      return fail(deps, grant, run.error, at);
    case 'transient':
      return endAttempt(deps, grant, run.error, at);
    case 'stopped':
      void run.late.then(async (late) => {
        const evidence =
          'value' in late ? { outcome: 'returned after it was stopped' } : { error: causeOf(late.error) };
        await deps.store.keepEvidence(grant.record.resume.turnId, grant.fence, evidence).catch(() => undefined);
      });
      throw new CancelledFailure('the turn was stopped');
    default:
      return run satisfies never;
  }
}

async function settle(deps: ActivityDeps, grant: Grant, result: HarnessResult, at: string): Promise<Stored> {
  const { record } = grant;
  const { turnId } = record.resume;
  const pause = 'continuation' in result ? describePause(result, { turnId, at }) : undefined;
  const asked = pause && 'asked' in pause ? pause : undefined;
  const event: TurnSettled = {
    type: 'turnSettled',
    at,
    ...attemptOf(grant),
    result,
    deliverable: deps.delivery !== undefined,
  };
  const settled = step(
    record,
    pause ? { ...event, suspension: asked?.asked ?? (pause as Exclude<typeof pause, { asked: unknown }>) } : event,
  );
  if (!settled.ok) return notDecided(deps, record);
  const tooLarge = whatIsTooLarge(settled.record, asked?.contents ?? []);
  if (tooLarge) return fail(deps, grant, { code: 'too_large', message: tooLarge }, at);
  const failed = settled.record.status === 'failed' && settled.record.resume?.outcome === undefined;
  return end(deps, grant, settled.record, {
    state: failed ? 'failed' : 'settled',
    result: withoutState(result),
    ...(asked && !failed && { contents: asked.contents }),
    receipt: receipt('settled', settled.record),
  });
}

function whatIsTooLarge(record: Stored['record'], contents: readonly Content[]): string | undefined {
  const state = contents.find((content) => content.ref.bytes > MAX_INPUT_BYTES);
  if (state) return `The turn's state has ${state.ref.bytes} bytes; at most ${MAX_INPUT_BYTES} can be kept.`;
  const bytes = utf8Length(JSON.stringify(record));
  return bytes > MAX_RECORD_BYTES
    ? `The record would have ${bytes} bytes; at most ${MAX_RECORD_BYTES} are kept.`
    : undefined;
}

/** The state is content; the stored result is everything else. */
function withoutState(result: HarnessResult): HarnessResult {
  if (!('continuation' in result)) return result;
  const { state, ...continuation } = result.continuation;
  return { ...result, continuation } as HarnessResult;
}

/** A harness error that may be tried again: the answer is kept, nobody is asked again, until the budget is used up. */
async function endAttempt(deps: ActivityDeps, grant: Grant, error: Cause, at: string): Promise<Stored> {
  const { bounds } = grant.record;
  const delayMs = retryDelayMs(grant.attempt);
  const spentMs = grant.spentMs + Math.max(0, Date.parse(at) - Date.parse(grant.startedAt)) + delayMs;
  if (spentMs > bounds.resumeBudgetMs) return fail(deps, grant, error, at, true);
  const after = step(grant.record, { type: 'attemptEnded', at, ...attemptOf(grant), error });
  if (!after.ok) return notDecided(deps, grant.record);
  const ended = await persistently(() =>
    deps.store.endTurn({
      turnId: grant.record.resume.turnId,
      fence: grant.fence,
      state: 'ended',
      record: after.record,
      spentMs,
      receipt: receipt('attempt_ended', after.record),
    }),
  );
  if (!ended.accepted) return ended;
  throw tryAgain(error, delayMs);
}

async function fail(deps: ActivityDeps, grant: Grant, error: Cause, at: string, exhausted = false): Promise<Stored> {
  const failed = step(grant.record, { type: 'turnFailed', at, ...attemptOf(grant), error, exhausted });
  if (!failed.ok) return notDecided(deps, grant.record);
  const held = failed.record.status === 'resuming';
  return end(deps, grant, failed.record, {
    state: held ? 'uncertain' : 'failed',
    receipt: receipt(held ? 'uncertain' : 'settled', failed.record),
  });
}

async function endUncertain(deps: ActivityDeps, grant: Grant, uncertain: Uncertain): Promise<Stored> {
  const after = step(grant.record, { type: 'turnUncertain', at: uncertain.at, ...attemptOf(grant), uncertain });
  if (!after.ok) return notDecided(deps, grant.record);
  return end(deps, grant, after.record, { state: 'uncertain', receipt: receipt('uncertain', after.record) });
}

type Ending = Pick<Parameters<ActivityDeps['store']['endTurn']>[0], 'state' | 'result' | 'contents' | 'receipt'>;

async function end(deps: ActivityDeps, grant: Grant, record: Stored['record'], ending: Ending): Promise<Stored> {
  const { turnId } = grant.record.resume;
  const end = { turnId, fence: grant.fence, record, spentMs: grant.spentMs, ...ending };
  const ended = await persistently(() => deps.store.endTurn(end));
  if (ended.accepted) {
    deps.trace?.emit(traceOf('continuation_resumed_turn_finished', ended.record, record.updatedAt));
    traceEnd(deps.trace, ended.record, record.updatedAt);
  } else if (ending.result) {
    await deps.store.keepEvidence(turnId, grant.fence, { outcome: ending.result.outcome });
  }
  return ended;
}

const attemptOf = (grant: Grant) => ({
  turnId: grant.record.resume.turnId,
  attempt: grant.attempt,
  startedAt: grant.startedAt,
});

/** The rules refuse what this execution came to: the row was decided by another. */
async function notDecided(deps: ActivityDeps, record: ResumingRecord): Promise<Stored> {
  const stored = await deps.store.getAcrossScopes(record.id);
  if (!stored) throw ApplicationFailure.nonRetryable(`the row of ${record.id} is gone`, 'not_found');
  Context.current().log.warn('The turn had been decided before', { continuationId: record.id });
  return stored;
}
