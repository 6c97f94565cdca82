/**
 * Brings the follow-up of a finished turn to the user, or truthfully suppresses it (C11).
 *
 * C7 a delivery that started and has no recorded end is repeated only by an adapter that recognises its id.
 */
import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { step } from '../src/continuation.ts';
import type { ContinuationEvent } from '../src/events.ts';
import { newToken } from '../src/ids.ts';
import type { DeliveryBegun, Stored } from '../src/ports.ts';
import { receipt } from '../src/receipts.ts';
import { type Cause, DeliveryResult, type ResumingRecord } from '../src/schema.ts';
import { traceEnd, traceOf } from '../src/trace.ts';
import { createClock } from './clock.ts';
import type { Activities } from './contract.ts';
import type { ActivityDeps } from './deps.ts';
import { classify, retryDelayMs, tryAgain } from './failure.ts';
import { whileHeartbeating } from './heartbeat.ts';

type Fresh = Extract<DeliveryBegun, { found: 'fresh' }>;
type DeliveryEnd =
  | Omit<Extract<ContinuationEvent, { type: 'delivered' }>, 'type' | 'deliveryId'>
  | { at: string; uncertain: string };

export function createDeliver(deps: ActivityDeps): Activities['deliver'] {
  return async ({ record, now }) => {
    if (record.status !== 'resuming')
      throw ApplicationFailure.nonRetryable('only a finished turn has a follow-up', 'invalid_input');
    const clock = createClock(now);
    const token = newToken();
    const deliveryId = record.resume.turnId;
    const begun = await deps.store.beginDelivery({
      deliveryId,
      continuationId: record.id,
      token,
      at: clock(),
      idempotent: deps.delivery?.idempotent === true,
    });
    const end = (from: ResumingRecord, ending: DeliveryEnd) => endDelivery(deps, from, token, ending);
    switch (begun.found) {
      case 'finished':
        return begun;
      case 'gone':
        throw ApplicationFailure.nonRetryable(`the row of ${record.id} is gone`, 'not_found');
      case 'suppressed':
        return end(begun.record, { at: clock(), status: begun.status });
      case 'lost':
        return end(begun.record, {
          at: clock(),
          uncertain: 'The worker that delivered it was lost; it may have arrived.',
        });
      case 'fresh':
        return whileHeartbeating(async () => {
          const startedAt = clock();
          const outcome = await attempt(deps, begun, deliveryId, startedAt, clock);
          return 'retry' in outcome
            ? retry(deps, begun, { deliveryId, token, startedAt, at: clock() }, outcome.retry)
            : end(begun.record, outcome);
        });
      default:
        return begun satisfies never;
    }
  };
}

async function attempt(
  deps: ActivityDeps,
  begun: Fresh,
  deliveryId: string,
  attemptedAt: string,
  clock: () => string,
): Promise<DeliveryEnd | { retry: Cause }> {
  const { delivery, trace } = deps;
  if (!delivery) return { at: clock(), status: 'not_applicable' };
  trace?.emit(traceOf('continuation_delivery_attempted', begun.record, attemptedAt));
  try {
    const signal = Context.current().cancellationSignal;
    const given = await delivery.deliver({
      continuation: begun.record,
      harnessResult: begun.result,
      deliveryId,
      signal,
    });
    const parsed = DeliveryResult.safeParse(given);
    if (parsed.success) return { at: clock(), attemptedAt, ...parsed.data } as DeliveryEnd;
    // It returned, so it did something: what it says about it is of no use.
    return { at: clock(), uncertain: 'The delivery adapter returned no valid result.' };
  } catch (error) {
    const thrown = classify(error);
    if (thrown.kind === 'unknown') return { at: clock(), uncertain: thrown.error.message };
    return { retry: thrown.error };
  }
}

/** A throw is a recorded end: tried again until the budget is used up, then told as failed. */
async function retry(
  deps: ActivityDeps,
  begun: Fresh,
  own: { deliveryId: string; token: string; startedAt: string; at: string },
  error: Cause,
): Promise<Stored> {
  const { deliveryId, token, startedAt, at } = own;
  const delayMs = retryDelayMs(begun.attempt);
  const spentMs = begun.spentMs + Math.max(0, Date.parse(at) - Date.parse(startedAt)) + delayMs;
  if (spentMs > begun.record.bounds.deliveryBudgetMs) {
    return endDelivery(deps, begun.record, token, {
      at,
      attemptedAt: startedAt,
      status: 'delivery_failed',
      error: error.message,
    });
  }
  await deps.store.endDelivery({ deliveryId, continuationId: begun.record.id, token, spentMs });
  const { cancellationSignal, cancellationDetails } = Context.current();
  if (cancellationSignal.aborted && !cancellationDetails?.workerShutdown)
    throw new CancelledFailure('the delivery was stopped');
  throw tryAgain(error, delayMs);
}

async function endDelivery(
  deps: ActivityDeps,
  record: ResumingRecord,
  token: string,
  ending: DeliveryEnd,
): Promise<Stored> {
  const deliveryId = record.resume.turnId;
  const after =
    'uncertain' in ending
      ? step(record, { type: 'deliveryUncertain', at: ending.at, deliveryId, error: ending.uncertain })
      : step(record, { type: 'delivered', deliveryId, ...ending });
  if (!after.ok) throw ApplicationFailure.nonRetryable(after.refusal?.message ?? 'nothing to deliver', 'invalid_input');
  const stored = await deps.store.endDelivery({
    deliveryId,
    continuationId: record.id,
    token,
    record: after.record,
    spentMs: 0,
    receipt: receipt('delivered', after.record),
  });
  if (!stored) throw ApplicationFailure.nonRetryable(`the row of ${record.id} is gone`, 'not_found');
  deps.trace?.emit(traceOf('continuation_delivery_finalized', stored.record, ending.at));
  traceEnd(deps.trace, stored.record, ending.at);
  return stored;
}
