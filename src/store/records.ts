/** Rows of continuations. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Created, ListQuery, NewContinuation, Page, Records, Stored } from '../ports.ts';
import type { ContinuationRecord } from '../schema.ts';
import { arrays, json } from './parameters.ts';
import { parseRecord } from './parse.ts';
import type { Connection } from './retry.ts';
import type { Database } from './tables.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 256;
const OPEN_STATUSES: readonly string[] = ['open', 'pending', 'resuming', 'uncertain'];

/** A row as functions return it; null members when there is none. */
export interface StoredRow {
  record: ContinuationRecord | null;
  receipts_head: string;
}

/** What a function found, unchecked: the store wrote it. */
export function toStored(row: StoredRow | undefined): Stored | null {
  return row?.record ? { record: row.record, receiptsHead: row.receipts_head } : null;
}

/** A scope and those below it, as one range of the bytewise order: '0' follows '/' (C16). */
export function within(column: 'scope' | 'c.scope', scope: string): RawBuilder<boolean> {
  const ref = sql.ref(column);
  return sql<boolean>`(${ref} = ${scope} or (${ref} >= ${`${scope}/`} and ${ref} < ${`${scope}0`}))`;
}

const shown = sql<unknown>`continuations.shown(record, superseded_by)`.as('record');

export function createRecords(connection: Connection): Omit<Records, 'onChange'> {
  const { run } = connection;
  return {
    create: (input) => run((db, attempt) => create(db, input, attempt)),
    get: (scope, id) => find(connection, id, within('scope', scope)),
    getAcrossScopes: (id) => find(connection, id, sql<boolean>`true`),
    list: (query) => list(connection, query),
    write: (record, receipts) =>
      run(async (db) => {
        const { rows } = await sql<StoredRow>`
          select * from continuations.write_record(${json(record)}::jsonb, ${json(receipts)}::jsonb)`.execute(db);
        return toStored(rows[0]);
      }),
    markStarted: (ids) =>
      run(async (db) => {
        await sql`
          update continuations.continuations set started = true where id = any (${[...ids]}::text[]) and not started`.execute(
          db,
        );
      }),
    delete: (scope, id) =>
      run(async (db) => {
        const { rows } = await sql<{ deleted: boolean }>`
          select continuations.delete_record(${scope}, ${id}) as deleted`.execute(db);
        return rows[0]?.deleted === true;
      }),
    sessionActive: (scope, sessionId, at) =>
      run(async (db) => {
        await sql`
          insert into continuations.sessions as s (scope, session_id, active_at) values (${scope}, ${sessionId}, ${at}::timestamptz)
          on conflict (scope, session_id) do update set active_at = excluded.active_at where s.active_at < excluded.active_at`.execute(
          db,
        );
      }),
  };
}

type CreatedRow = {
  created: boolean;
  record: ContinuationRecord;
  receipts_head: string;
  input_digest: string;
  superseded: string[];
};

async function create(db: Kysely<Database>, input: NewContinuation, attempt: number): Promise<Created> {
  const { record, inputDigest, contents, receipt, supersede } = input;
  const { digests, bodies } = arrays(contents);
  const { rows } = await sql<CreatedRow>`
    select * from continuations.create_continuation(${json(record)}::jsonb, ${inputDigest}, ${digests}::text[], ${bodies}::bytea[],
      ${json(receipt)}::jsonb, ${supersede && record.sessionId !== undefined})`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('create_continuation returned nothing');
  return {
    // An earlier attempt whose acknowledgement got lost is ours.
    created: row.created || (attempt > 1 && row.record.id === record.id),
    record: row.record,
    receiptsHead: row.receipts_head,
    inputDigest: row.input_digest,
    superseded: row.superseded,
  };
}

function find({ run }: Connection, id: string, reachable: RawBuilder<boolean>): Promise<Stored | null> {
  return run(async (db) => {
    const row = await db
      .selectFrom('continuations.continuations')
      .select([shown, 'receipts_head'])
      .where('id', '=', id)
      .where(reachable)
      .executeTakeFirst();
    return row ? { record: parseRecord(id, row.record), receiptsHead: row.receipts_head } : null;
  });
}

/** Oldest first: ids sort by creation, so a row that is added later never moves a page. */
async function list({ run }: Connection, query: ListQuery): Promise<Page> {
  const limit = Math.min(Math.max(Math.trunc(query.limit ?? DEFAULT_LIMIT), 1), MAX_LIMIT);
  const { scope, status, waitFor, sessionId, assistantId, answeredBy, after } = query;
  const rows = await run((db) => {
    let select = db.selectFrom('continuations.continuations').select(['id', shown]).where(within('scope', scope));
    if (status === 'uncertain') select = select.where('uncertain', '=', true);
    else if (status !== undefined && status !== 'open') select = select.where('status', '=', status);
    // In these words, so that the partial indexes of open rows apply.
    if (status !== undefined && OPEN_STATUSES.includes(status))
      select = select.where(sql<boolean>`status in ('pending', 'resuming')`);
    if (waitFor !== undefined) select = select.where('wait_type', '=', waitFor);
    if (sessionId !== undefined) select = select.where('session_id', '=', sessionId);
    if (assistantId !== undefined) select = select.where(sql<boolean>`assistant_id = ${assistantId}`);
    if (answeredBy !== undefined)
      select = select.where(sql<boolean>`record -> 'answers' @> ${json([answeredBy])}::jsonb`);
    if (after !== undefined) select = select.where('id', '>', after);
    return select
      .orderBy('id')
      .limit(limit + 1)
      .execute();
  });
  const records = rows.slice(0, limit).map((row) => parseRecord(row.id, row.record));
  const last = records.at(-1);
  return rows.length > limit && last ? { records, next: last.id } : { records };
}
