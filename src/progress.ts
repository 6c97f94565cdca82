/** Waiting until a continuation has got somewhere: told by the database, checked by a slow poll. */

import { ContinuationError } from './errors.ts';
import type { Store, Stored } from './ports.ts';
import { isTerminal, type ShownStatus } from './record.ts';
import type { Answer, ContinuationRecord } from './schema.ts';

export interface WaitOptions {
  readonly timeoutMs: number;
  /** Poolers can swallow notifications, so the row is also read this often. */
  readonly pollMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Changes that cannot have reached it are not worth a read. */
  readonly heedless?: ((status: ShownStatus) => boolean) | undefined;
}

/** Resolves with the row once `reached` is true of it; throws `wait_timed_out`, or the signal's reason. */
export async function waitForRow(
  store: Store,
  at: { scope: string; id: string },
  reached: (record: ContinuationRecord) => boolean,
  options: WaitOptions,
): Promise<Stored> {
  const changes = listen(store, at.id, options.heedless);
  const deadline = Date.now() + options.timeoutMs;
  try {
    for (;;) {
      options.signal?.throwIfAborted();
      const change = changes.next();
      const row = await store.get(at.scope, at.id);
      if (!row) throw new ContinuationError('wait_timed_out', `${at.id} was deleted while it was waited for.`);
      if (reached(row.record)) return row;
      const left = deadline - Date.now();
      if (left <= 0)
        throw new ContinuationError(
          'wait_timed_out',
          `${at.id} is still ${row.record.status} after ${options.timeoutMs} ms. The answer stands; ask again with get.`,
        );
      await change(Math.min(left, options.pollMs), options.signal);
    }
  } finally {
    changes.close();
  }
}

/**
 * Changes of one continuation, or of all. `next()` before a read makes sure that a change during the read is not missed; what it
 * returns waits and tells whether there was a change.
 */
export function listen(store: Store, id: string | undefined, heedless: (status: ShownStatus) => boolean = () => false) {
  let changed = 0;
  let wake: (() => void) | undefined;
  const look = (): void => {
    changed += 1;
    wake?.();
  };
  const subscription = store.onChange((other, status) => {
    if ((id === undefined || other === id) && !(status && heedless(status))) look();
  }, look);
  return {
    next() {
      const seen = changed;
      return (ms: number, signal?: AbortSignal): Promise<boolean> =>
        new Promise((resolve) => {
          if (changed !== seen || signal?.aborted) return resolve(changed !== seen);
          const done = () => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', done);
            wake = undefined;
            resolve(changed !== seen);
          };
          const timer = setTimeout(done, ms);
          signal?.addEventListener('abort', done, { once: true });
          wake = done;
        });
    },
    close: () => subscription.close(),
  };
}

/** An answer as it is found again: its identity, and the suspension that it was given to. */
export interface Given {
  readonly messageId: string;
  readonly contentDigest: string;
  readonly suspensionId: string;
}

/** The answer as it was accepted. */
export function acceptedOf(record: ContinuationRecord, { messageId, contentDigest }: Given): Answer | undefined {
  return record.answers.findLast((one) => one.messageId === messageId && one.contentDigest === contentDigest);
}

/** The turn of an answer has ended: its suspension is behind, and no turn of it runs. Or it will have none: it came too late. */
export function isSettled(record: ContinuationRecord, given: Given): boolean {
  const accepted = acceptedOf(record, given);
  if (!accepted) return isTerminal(record) || record.answers.some((one) => one.suspensionId === given.suspensionId);
  if (record.status !== 'resuming' || isBehind(record, accepted)) return true;
  return record.resume.outcome !== undefined || record.resume.uncertain !== undefined;
}

/** Nothing more happens because of this answer: the end, a new question, or an unknown outcome. */
export function isFinished(record: ContinuationRecord, given: Given): boolean {
  if (!isSettled(record, given)) return false;
  const accepted = acceptedOf(record, given);
  if (record.status !== 'resuming' || !accepted || isBehind(record, accepted)) return true;
  return record.resume.uncertain !== undefined;
}

function isBehind(record: ContinuationRecord, accepted: Answer): boolean {
  return accepted.suspensionId !== record.suspension.id;
}
