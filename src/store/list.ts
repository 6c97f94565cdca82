/** Lists of continuations, page by page. */
import { type SelectQueryBuilder, sql } from 'kysely';
import type { ListQuery, MalformedRow, Page } from '../ports.ts';
import type { ContinuationRecord } from '../schema.ts';
import { json } from './parameters.ts';
import { readRecord } from './parse.ts';
import type { Connection } from './retry.ts';
import { within } from './scope.ts';
import type { Database } from './tables.ts';

/** A frequent word is among the first rows of an order; a rare one is found by the index of words, not by reading on. */
const FIRST_ROWS = 500;
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 256;
const OPEN_STATUSES: readonly string[] = ['open', 'pending', 'resuming', 'uncertain'];

const shown = sql<unknown>`continuations.shown(record, superseded_by)`.as('record');

interface Row {
  readonly id: string;
  readonly expires_at: string | null;
  readonly updated_at: string;
  readonly record: unknown;
}
type Rows = SelectQueryBuilder<Database, 'continuations.continuations', Row>;

export async function list({ run }: Connection, query: ListQuery): Promise<Page> {
  const limit = Math.min(Math.max(Math.trunc(query.limit ?? DEFAULT_LIMIT), 1), MAX_LIMIT);
  const order = ORDERS[query.order ?? 'created'];
  const { text, after } = query;
  const rows = await run(async (db) => {
    const all = db.selectFrom('continuations.continuations').select(['id', 'expires_at', 'updated_at', shown]);
    const some = filtered(all, query);
    const most = limit + 1;
    if (text === undefined) return order.apply(some, after).limit(most).execute();
    const first = order.apply(some, after).limit(FIRST_ROWS).as('first');
    const among = order.apply(db.selectFrom(first).selectAll().where(hasWords(text)) as unknown as Rows, undefined);
    const near = await among.limit(most).execute();
    return near.length === most
      ? near
      : order
          .apply(some.where(isFoundBy(text)), after)
          .limit(most)
          .execute();
  });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { ...pageOf(page), ...(rows.length > limit && last && { next: order.cursor(last) }) };
}

/** A row that cannot be read is named, and keeps nobody from the others. */
function pageOf(rows: readonly Row[]): Page {
  const records: ContinuationRecord[] = [];
  const malformed: MalformedRow[] = [];
  for (const row of rows) {
    const read = readRecord(row.id, row.record);
    if ('record' in read) records.push(read.record);
    else malformed.push(read);
  }
  return { records, ...(malformed.length > 0 && { malformed }) };
}

function filtered(all: Rows, query: ListQuery): Rows {
  const { scope, status, waitFor, sessionId, assistantId, answeredBy } = query;
  let rows = withStatus(all.where(within('scope', scope)), status);
  if (waitFor !== undefined) rows = rows.where('wait_type', '=', waitFor);
  if (sessionId !== undefined) rows = rows.where('session_id', '=', sessionId);
  if (assistantId !== undefined) rows = rows.where(sql<boolean>`assistant_id = ${assistantId}`);
  if (answeredBy !== undefined) rows = rows.where(sql<boolean>`record -> 'answers' @> ${json([answeredBy])}::jsonb`);
  return rows;
}

/** Asked of each row: as a join it would be planned over all rows. */
const hasWords = (text: string) =>
  sql<boolean>`(select q.words from continuations.questions q where q.continuation_id = id) @@ continuations.search_query(${text})`;
const isFoundBy = (text: string) =>
  sql<boolean>`id = any (array(select q.continuation_id from continuations.questions q where q.words @@ continuations.search_query(${text})))`;

/** In the words of the partial indexes, so that they apply. */
function withStatus(all: Rows, status: ListQuery['status']): Rows {
  if (status === undefined) return all;
  const open = OPEN_STATUSES.includes(status);
  const rows = open
    ? all.where(sql<boolean>`status in ('pending', 'resuming')`)
    : all.where(sql<boolean>`status not in ('pending', 'resuming')`);
  if (status === 'open' || status === 'ended') return rows;
  return status === 'uncertain' ? rows.where(sql<boolean>`uncertain`) : rows.where('status', '=', status);
}

interface Order {
  /** The rows after a cursor, in this order. */
  apply(rows: Rows, after: string | undefined): Rows;
  cursor(last: Row): string;
}

const deadline = sql<string>`coalesce(expires_at, 'infinity'::timestamptz)`;

const ORDERS: Record<NonNullable<ListQuery['order']> | 'created', Order> = {
  /** Ids sort by creation, so a row that is added later never moves a page. */
  created: {
    apply: (rows, after) => (after === undefined ? rows : rows.where('id', '>', after)).orderBy('id'),
    cursor: ({ id }) => id,
  },
  deadline: {
    apply(rows, after) {
      const place = placeOf(after);
      const rest = place
        ? rows.where(sql<boolean>`(${deadline}, id) > (${place.instant}::timestamptz, ${place.id})`)
        : rows;
      return rest.orderBy(deadline).orderBy('id');
    },
    cursor: ({ id, expires_at }) => `${expires_at ?? 'infinity'}~${id}`,
  },
  latest: {
    apply(rows, after) {
      const place = placeOf(after);
      const rest = place
        ? rows.where(sql<boolean>`(updated_at, id) < (${place.instant}::timestamptz, ${place.id})`)
        : rows;
      return rest.orderBy(sql`updated_at`, 'desc').orderBy('id', 'desc');
    },
    cursor: ({ id, updated_at }) => `${updated_at}~${id}`,
  },
};

/** A cursor of another order is none. */
function placeOf(cursor: string | undefined): { instant: string; id: string } | undefined {
  const [, instant, id] = /^([\d:.TZ-]{24}|infinity)~(.+)$/.exec(cursor ?? '') ?? [];
  return instant !== undefined && id !== undefined ? { instant, id } : undefined;
}
