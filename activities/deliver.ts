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
import { type ActivityDeps, deliveryOf } from './deps.ts';
import { classify, retryDelayMs, tryAgain } from './failure.ts';
import { persistently } from './persistently.ts';

type Fresh = Extract<DeliveryBegun, { found: 'fresh' }>;
type Delivered = Extract<ContinuationEvent, { type: 'delivered' }>;
type Outcome = Omit<Delivered, 'type' | 'deliveryId' | 'at'> | { readonly uncertain: string };

/** One execution: which delivery, by which token, on which clock. */
interface Execution {
  readonly deliveryId: string;
  readonly continuationId: string;
  readonly token: string;
  readonly clock: () => string;
}

/** What the row says after one execution; `again`: the adapter threw, and may be called again after a while. */
interface Attempted {
  readonly stored: Stored;
  readonly again?: { readonly error: Cause; readonly delayMs: number };
}

export function createDeliver(deps: ActivityDeps): Activities['deliver'] {
  return async ({ record, now }) => {
    if (record.status !== 'resuming') {
      throw ApplicationFailure.nonRetryable('only a finished turn has a follow-up', 'invalid_input');
    }
    const { stored, again } = await deliverOnce(deps, record, createClock(now));
    if (!again) return stored;
    const { cancellationSignal, cancellationDetails } = Context.current();
    const stopped = cancellationSignal.aborted && !cancellationDetails?.workerShutdown;
    throw stopped ? new CancelledFailure('the delivery was stopped') : tryAgain(again.error, again.delayMs);
  };
}

/** Makes one attempt to deliver, unless there is nothing to deliver any more. */
export async function deliverOnce(deps: ActivityDeps, asked: ResumingRecord, clock: () => string): Promise<Attempted> {
  const own = { deliveryId: asked.resume.turnId, continuationId: asked.id, token: newToken() };
  const execution = { ...own, clock };
  const idempotent = deliveryOf(deps, asked)?.idempotent === true;
  const begun = await deps.store.beginDelivery({ ...own, at: clock(), idempotent });
  switch (begun.found) {
    case 'finished':
      return { stored: begun };
    case 'gone':
      throw gone(execution);
    case 'suppressed':
      return end(deps, execution, begun.record, { status: begun.status });
    case 'lost': {
      const uncertain = 'The worker that delivered it was lost; it may have arrived.';
      return end(deps, execution, begun.record, { uncertain });
    }
    case 'fresh': {
      const attemptedAt = clock();
      const outcome = await attempt(deps, begun, execution.deliveryId, attemptedAt);
      if ('retry' in outcome) return retry(deps, execution, begun, { attemptedAt, error: outcome.retry });
      return end(deps, execution, begun.record, outcome);
    }
    default:
      return begun satisfies never;
  }
}

async function attempt(
  deps: ActivityDeps,
  { record, result }: Fresh,
  deliveryId: string,
  attemptedAt: string,
): Promise<Outcome | { readonly retry: Cause }> {
  const delivery = deliveryOf(deps, record);
  if (!delivery) return { status: 'not_applicable' };
  deps.trace?.emit(traceOf('continuation_delivery_attempted', record, attemptedAt));
  try {
    const signal = Context.current().cancellationSignal;
    const given = await delivery.deliver({ continuation: record, harnessResult: result, deliveryId, signal });
    const parsed = DeliveryResult.safeParse(given);
    if (parsed.success) return { attemptedAt, ...parsed.data } as Outcome;
    // It returned, so it did something: what it says about that is of no use.
    return { uncertain: 'The delivery adapter returned no valid result.' };
  } catch (error) {
    const thrown = classify(error);
    return thrown.kind === 'unknown' ? { uncertain: thrown.error.message } : { retry: thrown.error };
  }
}

/** A throw is a recorded end: tried again until the budget is used up, then told as failed. */
async function retry(
  deps: ActivityDeps,
  execution: Execution,
  begun: Fresh,
  failed: { attemptedAt: string; error: Cause },
): Promise<Attempted> {
  const { clock, ...own } = execution;
  const { attemptedAt, error } = failed;
  const delayMs = retryDelayMs(begun.attempt);
  const spentMs = begun.spentMs + Math.max(0, Date.parse(clock()) - Date.parse(attemptedAt)) + delayMs;
  if (spentMs > begun.record.bounds.deliveryBudgetMs) {
    return end(deps, execution, begun.record, { attemptedAt, status: 'delivery_failed', error: error.message });
  }
  const stored = await persistently(() => deps.store.endDelivery({ ...own, spentMs }));
  if (!stored) throw gone(execution);
  return { stored, again: { error, delayMs } };
}

async function end(
  deps: ActivityDeps,
  execution: Execution,
  record: ResumingRecord,
  outcome: Outcome,
): Promise<Attempted> {
  const { clock, ...own } = execution;
  const at = clock();
  const { deliveryId } = own;
  const after =
    'uncertain' in outcome
      ? step(record, { type: 'deliveryUncertain', at, deliveryId, error: outcome.uncertain })
      : step(record, { type: 'delivered', at, deliveryId, ...outcome });
  if (!after.ok) throw ApplicationFailure.nonRetryable(after.refusal?.message ?? 'nothing to deliver', 'invalid_input');
  const fact = receipt('delivered', after.record);
  const stored = await persistently(() =>
    deps.store.endDelivery({ ...own, record: after.record, spentMs: 0, receipt: fact }),
  );
  if (!stored) throw gone(execution);
  deps.trace?.emit(traceOf('continuation_delivery_finalized', stored.record, at));
  traceEnd(deps.trace, stored.record, at);
  return { stored };
}

const gone = ({ continuationId }: Execution): ApplicationFailure =>
  ApplicationFailure.nonRetryable(`the row of ${continuationId} is gone`, 'not_found');
