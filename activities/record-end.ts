/** Records how a run of a turn ended, under the fence of its grant (C6), and returns what the row says after it. */
import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { step } from '../src/continuation.ts';
import type { Grant, Stored } from '../src/ports.ts';
import { receipt } from '../src/receipts.ts';
import type { Cause, HarnessResult, ResumingRecord, Uncertain } from '../src/schema.ts';
import { settlementOf, withoutState } from '../src/settlement.ts';
import { traceEnd, traceOf } from '../src/trace.ts';
import { type ActivityDeps, deliveryOf } from './deps.ts';
import { causeOf, retryDelayMs, tryAgain } from './failure.ts';
import type { Run } from './harness-run.ts';
import { persistently } from './persistently.ts';

/** Records how the run ended, and returns what the row says after it. */
export async function recordRun(deps: ActivityDeps, grant: Grant, run: Run, clock: () => string): Promise<Stored> {
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
  const { settled, contents, tooLarge } = settlementOf(result, {
    turnId: record.resume.turnId,
    at,
    stateKinds: deps.stateKinds,
  });
  const deliverable = deliveryOf(deps, record) !== undefined;
  const after = step(record, { type: 'turnSettled', at, ...attemptOf(grant), ...settled, deliverable });
  if (!after.ok) return notDecided(deps, record);
  const error = tooLarge(after.record);
  if (error) return fail(deps, grant, error, at);
  const failed = after.record.status === 'failed' && after.record.resume?.outcome === undefined;
  return end(deps, grant, after.record, {
    state: failed ? 'failed' : 'settled',
    result: withoutState(result),
    ...(!failed && { contents }),
    receipt: receipt('settled', after.record),
  });
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

export async function endUncertain(deps: ActivityDeps, grant: Grant, uncertain: Uncertain): Promise<Stored> {
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
