/** The feed of receipts, in an order that no later commit can get into. */
import { sql } from 'kysely';
import type { ContinuationEvent, Events } from '../access-ports.ts';
import type { Receipt } from '../ports.ts';
import type { Connection } from './retry.ts';
import { within } from './scope.ts';

type Row = {
  continuation_id: string | null;
  transaction_id: string | null;
  position: number | null;
  horizon: string;
} & Omit<Receipt, 'continuationId'>;

/** Of this transaction all numbers are still to come. */
const BEFORE_ALL = 0;

export function createEvents({ run }: Connection): Events {
  return {
    events: (scope, after, limit) =>
      run(async (db) => {
        const place = parsePlace(after);
        if (!place) {
          const { rows } = await sql<{ horizon: string }>`
            select pg_snapshot_xmin(pg_current_snapshot())::text as horizon`.execute(db);
          return { events: [], next: placeOf(rows[0]?.horizon ?? '0', BEFORE_ALL) };
        }
        // One statement, one snapshot: what is below its xmin is decided, and all that comes later is above.
        const { rows } = await sql<Row>`
          select h.horizon::text as horizon, e.* from pg_snapshot_xmin(pg_current_snapshot()) h (horizon)
          left join lateral (
            select r.continuation_id, r.transaction_id::text as transaction_id, r.position, r.sequence, r.kind, r.cause, r.at, r.body, r.digest
            from continuations.receipts r join continuations.continuations c on c.id = r.continuation_id
            where (r.transaction_id, r.position) > (${place.transaction}::xid8, ${place.position}::bigint)
              and r.transaction_id < h.horizon and ${within('c.scope', scope)}
            order by r.transaction_id, r.position limit ${limit}
          ) e on true order by e.transaction_id::xid8, e.position`.execute(db);
        const events = rows.flatMap(toEvent);
        const horizon = placeOf(rows[0]?.horizon ?? place.transaction, BEFORE_ALL);
        const last = events.at(-1)?.position;
        return { events, next: last !== undefined && events.length === limit ? last : horizon };
      }),
  };
}

function toEvent({ continuation_id, transaction_id, position, horizon: _, ...receipt }: Row): ContinuationEvent[] {
  if (continuation_id === null || transaction_id === null || position === null) return [];
  return [{ position: placeOf(transaction_id, position), continuationId: continuation_id, ...receipt }];
}

const placeOf = (transaction: string, position: number): string => `${transaction}-${position}`;

/** Anything that is not a place of ours is no place. */
function parsePlace(text: string | undefined): { transaction: string; position: string } | undefined {
  const [, transaction, position] = /^(\d{1,19})-(\d{1,18})$/.exec(text ?? '') ?? [];
  return transaction !== undefined && position !== undefined ? { transaction, position } : undefined;
}
