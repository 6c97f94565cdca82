/** The record of a running continuation: the only place where the workflow changes it. */
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { Committed } from '../activities/contract.ts';
import { isTerminal, step } from '../src/continuation.ts';
import type { ContinuationEvent, Step } from '../src/events.ts';
import type { ContinuationRecord } from '../src/schema.ts';
import { currentDetails } from '../src/summary.ts';
import { attributesOf, shownStatus } from './attributes.ts';
import type { ContinuationStart, RefusedSignal, StopRequest } from './messages.ts';

const MAX_REFUSED_SIGNALS = 20;

/** Workflow time, ISO. */
export const now = (): string => new Date().toISOString();

export interface Life {
  readonly record: ContinuationRecord;
  readonly receiptsHead: string;
  /** The row knows this record: an activity committed it, or started from it. */
  readonly committed: boolean;
  /** A stop that waits until the running turn or delivery is closed under its lock (C6). */
  readonly stopRequest: StopRequest | undefined;
  readonly refusedSignals: readonly RefusedSignal[];
  /** Applies an event to a record that no activity holds. */
  apply(event: ContinuationEvent): Step;
  adopt(committed: Committed): void;
  /** Stops now if nothing runs; otherwise interrupts what runs and leaves `stopRequest`. */
  stop(request: StopRequest): void;
  /** Takes the stop that is waited for, once what ran has been closed. */
  takeStop(): StopRequest | undefined;
  /** What to call when a stop interrupts; it returns the function that takes it back. */
  onStop(interrupt: () => void): () => void;
  noteRefused(refused: RefusedSignal): void;
}

export function createLife({ record: first, receiptsHead: firstHead, options }: ContinuationStart): Life {
  let record = first;
  let receiptsHead = firstHead;
  let committed = true;
  let stopRequest: StopRequest | undefined;
  let interrupt: (() => void) | undefined;
  const refusedSignals: RefusedSignal[] = [];

  const become = (after: ContinuationRecord): void => {
    const before = record;
    record = after;
    setCurrentDetails(currentDetails(record));
    if (options.attributes && isShownDifferently(before, record)) upsertSearchAttributes(attributesOf(record));
  };
  const apply = (event: ContinuationEvent): Step => {
    const result = step(record, event);
    if (result.ok && result.record !== record) {
      committed = false;
      become(result.record);
    }
    return result;
  };
  setCurrentDetails(currentDetails(record));

  return {
    get record() {
      return record;
    },
    get receiptsHead() {
      return receiptsHead;
    },
    get committed() {
      return committed;
    },
    get stopRequest() {
      return stopRequest;
    },
    refusedSignals,
    apply,
    adopt(given) {
      committed = true;
      receiptsHead = given.receiptsHead;
      become(given.record);
    },
    stop(request) {
      if (record.status !== 'resuming') {
        apply({ type: 'stopped', at: now(), ...request });
        return;
      }
      const result = step(record, { type: 'stopped', at: now(), ...request });
      if (result.ok && result.record === record) return;
      stopRequest ??= request;
      interrupt?.();
    },
    takeStop() {
      const taken = stopRequest;
      stopRequest = undefined;
      return taken;
    },
    onStop(given) {
      interrupt = given;
      return () => {
        interrupt = undefined;
      };
    },
    noteRefused(refused) {
      refusedSignals.push(refused);
      if (refusedSignals.length > MAX_REFUSED_SIGNALS) refusedSignals.shift();
    },
  };
}

function isShownDifferently(before: ContinuationRecord, after: ContinuationRecord): boolean {
  if (shownStatus(before) !== shownStatus(after)) return true;
  if (isTerminal(after)) return false;
  return before.bounds.expiresAt !== after.bounds.expiresAt || before.waitFor.type !== after.waitFor.type;
}
