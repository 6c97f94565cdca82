/** How a follow-up is delivered; the decisions are made in `sql/deliveries.ts`, under the lock of the continuation's row. */
import { sql } from 'kysely';
import { ContinuationError } from '../errors.ts';
import type { BeginDelivery, DeliveryBegun, EndDelivery, Stored, Turns } from '../ports.ts';
import type { HarnessResult, ResumingRecord } from '../schema.ts';
import { json } from './parameters.ts';
import { type StoredRow, toStored } from './records.ts';
import type { Connection } from './retry.ts';

export type Deliveries = Pick<Turns, 'beginDelivery' | 'endDelivery'>;

export function createDeliveries(connection: Connection): Deliveries {
  return {
    beginDelivery: (input) => beginDelivery(connection, input),
    endDelivery: (input) => endDelivery(connection, input),
  };
}

interface BegunRow extends StoredRow {
  found: 'fresh' | 'lost' | 'suppressed_superseded' | 'suppressed_session_reengaged' | 'finished';
  result: HarnessResult | null;
  spent_ms: number;
  attempt: number;
}

async function beginDelivery({ run }: Connection, input: BeginDelivery): Promise<DeliveryBegun> {
  const { deliveryId, continuationId, token, at, idempotent } = input;
  const row = await run(async (db) => {
    const { rows } = await sql<BegunRow>`
      select * from continuations.begin_delivery(${deliveryId}, ${continuationId}, ${token}, ${at}, ${idempotent})`.execute(
      db,
    );
    return rows[0];
  });
  if (!row?.record) return { found: 'gone' };
  const { found, receipts_head: receiptsHead } = row;
  if (found === 'finished') return { found, record: row.record, receiptsHead };
  const record = row.record as ResumingRecord;
  if (found === 'lost') return { found, record };
  if (found !== 'fresh') return { found: 'suppressed', status: found, record };
  if (!row.result) throw new ContinuationError('record_malformed', `the result of turn ${deliveryId} is missing`);
  return { found, record, result: row.result, spentMs: row.spent_ms, attempt: row.attempt };
}

async function endDelivery({ run }: Connection, input: EndDelivery): Promise<Stored | null> {
  const { deliveryId, continuationId, token, record, spentMs, receipt } = input;
  return await run(async (db) => {
    const { rows } = await sql<StoredRow>`
      select * from continuations.end_delivery(${deliveryId}, ${continuationId}, ${token}, ${json(record)}::jsonb,
        ${Math.round(spentMs)}::bigint, ${json(receipt)}::jsonb)`.execute(db);
    return toStored(rows[0]);
  });
}
