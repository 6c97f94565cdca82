/** Rows of continuations. */
import { sql } from 'kysely';
import type { Created, NewContinuation, Records, Stored } from '../ports.ts';
import type { ContinuationRecord } from '../schema.ts';
import { list } from './list.ts';
import type { Notifier } from './notify.ts';
import { arrays, json } from './parameters.ts';
import { parseRecord } from './parse.ts';
import type { Connection } from './retry.ts';

/** A row as functions return it; null members when there is none. */
export interface StoredRow {
  record: ContinuationRecord | null;
  receipts_head: string;
}

/** What a function found, unchecked: the store wrote it. */
export function toStored(row: StoredRow | undefined): Stored | null {
  return row?.record ? { record: row.record, receiptsHead: row.receipts_head } : null;
}

export function createRecords(connection: Connection, notifier: Notifier): Omit<Records, 'onChange'> {
  const { run, call } = connection;
  return {
    create: (input) => create(connection, notifier, input),
    async get(scope, id) {
      return readStored(id, (await call<StoredRow>('find_record', [scope, id])).row);
    },
    async getAcrossScopes(id) {
      return readStored(id, (await call<StoredRow>('find_record_across_scopes', [id])).row);
    },
    list: (query) => list(connection, query),
    async write(record, receipts) {
      const args = [json(record), json(receipts)];
      const { row, attempt } = await call<StoredRow & { written: boolean }>('write_record', args);
      // An earlier attempt whose acknowledgement got lost may have written it.
      if (row?.record && (row.written || attempt > 1)) notifier.changed(row.record);
      return toStored(row);
    },
    markStarted: (ids) =>
      run(async (db) => {
        await sql`
          update continuations.continuations set started = true where id = any (${[...ids]}::text[]) and not started`.execute(
          db,
        );
      }),
    async delete(scope, id) {
      const { row } = await call<{ delete_record: boolean }>('delete_record', [scope, id]);
      return row?.delete_record === true;
    },
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

async function create({ call }: Connection, notifier: Notifier, input: NewContinuation): Promise<Created> {
  const { record, inputDigest, contents, receipt, supersede } = input;
  const { digests, bodies } = arrays(contents);
  const superseding = supersede && record.sessionId !== undefined;
  const args = [json(record), inputDigest, digests, bodies, json(receipt), superseding];
  const { row, attempt } = await call<CreatedRow>('create_continuation', args);
  if (!row) throw new Error('create_continuation returned nothing');
  // An earlier attempt whose acknowledgement got lost is ours.
  const created = row.created || (attempt > 1 && row.record.id === record.id);
  if (created) {
    notifier.changed(row.record);
    for (const id of row.superseded) notifier.marked(id);
  }
  return {
    created,
    record: row.record,
    receiptsHead: row.receipts_head,
    inputDigest: row.input_digest,
    superseded: row.superseded,
  };
}

/** What a reader asked for, checked. */
function readStored(id: string, row: StoredRow | undefined): Stored | null {
  return row?.record ? { record: parseRecord(id, row.record), receiptsHead: row.receipts_head } : null;
}
