/** Ends a turn from outside, under the lock of its row: either it had ended already, or it is closed and can write no more (C6). */
import { next, step } from './continuation.ts';
import type { Step, Stopped } from './events.ts';
import { newToken } from './ids.ts';
import type { Store, Stored, Trace } from './ports.ts';
import { decisionReceipts, receipt } from './receipts.ts';
import type { ContinuationRecord, ResumingRecord } from './schema.ts';
import { traceEnd } from './trace.ts';

export interface CloseDeps {
  readonly store: Store;
  readonly trace?: Trace | undefined;
}
export interface Closing {
  /** The record as the caller knows it; the row may be further. */
  readonly record: ContinuationRecord;
  readonly turnId: string;
  /** Why it is closed, and when. */
  readonly stop: Omit<Stopped, 'type'>;
  /** Leave a turn alone that has started. */
  readonly onlyIfNotStarted?: boolean;
  /** Leave the follow-up of a turn alone that had ended. */
  readonly leaveFollowUp?: boolean;
}

/** Closes a turn, or answers how it had ended; `started`: it runs and was left alone. */
export async function closeTurn(deps: CloseDeps, closing: Closing): Promise<Stored & { readonly started?: true }> {
  const { record, turnId, stop, onlyIfNotStarted = false } = closing;
  for (;;) {
    // The answer is recorded before what became of it; the row says what counts now.
    const base = (await deps.store.write(record, decisionReceipts(record))) ?? { record, receiptsHead: '' };
    const after = step(base.record, { type: 'turnClosed', turnId, ...stop });
    if (!after.ok) return hadEnded(deps, base, closing);
    const closed = await deps.store.closeTurn({
      turnId,
      record: after.record,
      basedOn: base.record.revision,
      onlyIfNotStarted,
      receipt: receipt(after.record.status === 'expired' ? 'expired' : 'stopped', after.record),
    });
    if (closed.closed) {
      traceEnd(deps.trace, closed.record, stop.at);
      return closed;
    }
    if (closed.because === 'started')
      return { record: closed.record, receiptsHead: closed.receiptsHead, started: true };
    if (closed.because === 'ended') return hadEnded(deps, closed, closing);
  }
}

/** The turn had ended first. Where its follow-up is still to be delivered, some stops suppress that (C11). */
async function hadEnded(deps: CloseDeps, ended: Stored, { stop, leaveFollowUp }: Closing): Promise<Stored> {
  const { record } = ended;
  if (leaveFollowUp || next(record).do !== 'deliver') return ended;
  const wanted = step(record, { type: 'stopped', ...stop });
  if (!wanted.ok || wanted.record === record) return ended;
  return (await endFollowUp(deps, record as ResumingRecord, stop.at, wanted)) ?? ended;
}

/** Ends a follow-up that nobody is going to deliver; where an attempt was under way, it may have arrived (C7). */
export async function endFollowUp(
  deps: CloseDeps,
  record: ResumingRecord,
  at: string,
  wanted: Step,
): Promise<Stored | null> {
  const { turnId } = record.resume;
  const delivery = { deliveryId: turnId, continuationId: record.id, token: newToken() };
  const begun = await deps.store.beginDelivery({ ...delivery, at, idempotent: false });
  if (begun.found === 'finished') return begun;
  if (begun.found === 'gone') return null;
  const error = 'An attempt to deliver was under way when it was stopped; it may have arrived.';
  const after =
    begun.found === 'lost' ? step(begun.record, { type: 'deliveryUncertain', at, deliveryId: turnId, error }) : wanted;
  if (!after.ok) return null;
  const fact = receipt('delivered', after.record);
  const stored = await deps.store.endDelivery({ ...delivery, record: after.record, spentMs: 0, receipt: fact });
  traceEnd(deps.trace, after.record, at);
  return stored;
}
