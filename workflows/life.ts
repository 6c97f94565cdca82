/** The record of a running continuation: the only place where the workflow changes it. */
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { Committed } from '../activities/contract.ts';
import { step } from '../src/continuation.ts';
import type { ContinuationEvent, Step } from '../src/events.ts';
import type { ContinuationRecord } from '../src/schema.ts';
import { currentDetails } from '../src/summary.ts';
import { changedAttributes } from './attributes.ts';
import type { ContinuationStart, ReconcileRequest, RefusedSignal, StopRequest } from './messages.ts';

const MAX_REFUSED_SIGNALS = 20;

/** Workflow time, ISO. */
export const now = (): string => new Date().toISOString();

export class Life {
  #record: ContinuationRecord;
  #receiptsHead: string;
  #committed = true;
  #stopRequest: StopRequest | undefined;
  #reconciliation: ReconcileRequest | undefined;
  readonly #refusedSignals: RefusedSignal[] = [];
  readonly #showsAttributes: boolean;

  constructor({ record, receiptsHead, options }: ContinuationStart) {
    this.#record = record;
    this.#receiptsHead = receiptsHead;
    this.#showsAttributes = options.attributes;
    setCurrentDetails(currentDetails(record));
  }

  get record(): ContinuationRecord {
    return this.#record;
  }
  get receiptsHead(): string {
    return this.#receiptsHead;
  }
  /** The row knows this record: an activity committed it, or the workflow started from it. */
  get committed(): boolean {
    return this.#committed;
  }
  /** A stop that waits until the running turn or delivery is closed under its lock (C6). */
  get stopRequest(): StopRequest | undefined {
    return this.#stopRequest;
  }
  /** An operator's decision about the unknown outcome, until it is carried out under the turn's lock (C6). */
  get reconciliation(): ReconcileRequest | undefined {
    return this.#reconciliation;
  }
  get refusedSignals(): readonly RefusedSignal[] {
    return this.#refusedSignals;
  }

  /** Applies an event to a record that no activity holds. */
  apply(event: ContinuationEvent): Step {
    const result = step(this.#record, event);
    if (result.ok && result.record !== this.#record) {
      this.#committed = false;
      this.#become(result.record);
    }
    return result;
  }

  /** Takes over what an activity committed, verbatim: a new build and an old one cannot disagree about it. */
  adopt({ record, receiptsHead }: Committed): void {
    this.#committed = true;
    this.#receiptsHead = receiptsHead;
    this.#become(record);
  }

  /** Stops now if nothing runs; otherwise leaves `stopRequest`. */
  stop(request: StopRequest): void {
    const event: ContinuationEvent = { type: 'stopped', at: now(), ...request };
    if (this.#record.status !== 'resuming') {
      this.apply(event);
      return;
    }
    const result = step(this.#record, event);
    if (result.ok && result.record === this.#record) return;
    this.#stopRequest ??= request;
  }

  /** What ran has been closed: nobody waits for the stop any more. */
  stopTaken(): void {
    this.#stopRequest = undefined;
  }

  reconcile(request: ReconcileRequest): void {
    this.#reconciliation = request;
  }

  reconciled(): void {
    this.#reconciliation = undefined;
  }

  noteRefused(refused: RefusedSignal): void {
    this.#refusedSignals.push(refused);
    if (this.#refusedSignals.length > MAX_REFUSED_SIGNALS) this.#refusedSignals.shift();
  }

  #become(after: ContinuationRecord): void {
    const before = this.#record;
    this.#record = after;
    setCurrentDetails(currentDetails(after));
    const shown = this.#showsAttributes ? changedAttributes(before, after) : [];
    if (shown.length > 0) upsertSearchAttributes(shown);
  }
}
