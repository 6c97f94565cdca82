/** Rows of continuations. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Created, NewContinuation, Records, Stored } from '../ports.ts';
import type { ContinuationRecord } from '../schema.ts';
import { list, shown } from './list.ts';
import { arrays, json } from './parameters.ts';
import { parseRecord } from './parse.ts';
import type { Connection } from './retry.ts';
import { within } from './scope.ts';
import type { Database } from './tables.ts';

/** A row as functions return it; null members when there is none. */
export interface StoredRow {
  record: ContinuationRecord | null;
  receipts_head: string;
}

/** What a function found, unchecked: the store wrote it. */
export function toStored(row: StoredRow | undefined): Stored | null {
  return row?.record ? { record: row.record, receiptsHead: row.receipts_head } : null;
}

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
