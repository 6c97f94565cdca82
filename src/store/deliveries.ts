/** How a follow-up is delivered; the decisions are made in `sql/deliveries.ts`, under the lock of the continuation's row. */
import { ContinuationError } from '../errors.ts';
import type { BeginDelivery, DeliveryBegun, EndDelivery, Stored, Turns } from '../ports.ts';
import type { HarnessResult, ResumingRecord } from '../schema.ts';
import type { Notifier } from './notify.ts';
import { json } from './parameters.ts';
import { type StoredRow, toStored } from './records.ts';
import type { Connection } from './retry.ts';

export type Deliveries = Pick<Turns, 'beginDelivery' | 'endDelivery'>;

export function createDeliveries(connection: Connection, notifier: Notifier): Deliveries {
  return {
    beginDelivery: (input) => beginDelivery(connection, notifier, input),
    endDelivery: (input) => endDelivery(connection, notifier, input),
  };
}

interface BegunRow extends StoredRow {
  found: 'fresh' | 'lost' | 'suppressed_superseded' | 'suppressed_session_reengaged' | 'finished';
  result: HarnessResult | null;
  spent_ms: number;
  attempt: number;
}

async function beginDelivery({ call }: Connection, notifier: Notifier, input: BeginDelivery): Promise<DeliveryBegun> {
  const { deliveryId, continuationId, token, at, idempotent } = input;
  const { row } = await call<BegunRow>('begin_delivery', [deliveryId, continuationId, token, at, idempotent]);
  if (!row?.record) return { found: 'gone' };
  const { found, receipts_head: receiptsHead } = row;
  if (found === 'finished') {
    // Whoever finished it may not have come to tell.
    notifier.changed(row.record);
    return { found, record: row.record, receiptsHead };
  }
  const record = row.record as ResumingRecord;
  if (found === 'lost') return { found, record };
  if (found !== 'fresh') return { found: 'suppressed', status: found, record };
  if (!row.result) throw new ContinuationError('record_malformed', `the result of turn ${deliveryId} is missing`);
  return { found, record, result: row.result, spentMs: row.spent_ms, attempt: row.attempt };
}

async function endDelivery({ call }: Connection, notifier: Notifier, input: EndDelivery): Promise<Stored | null> {
  const { deliveryId, continuationId, token, record, spentMs, receipt } = input;
  const end = [deliveryId, continuationId, token, json(record), Math.round(spentMs), json(receipt)];
  const { row } = await call<StoredRow>('end_delivery', end);
  if (row?.record) notifier.changed(row.record);
  return toStored(row);
}
