/** API keys, and what named requests were answered. */
import { type Insertable, type Selectable, sql } from 'kysely';
import type { ApiKey, ClaimedRequest, Keys, RequestAnswer, Requests, StoredKey } from '../access-ports.ts';
import { json } from './parameters.ts';
import type { Connection } from './retry.ts';
import { within } from './scope.ts';
import type { ApiKeyTable } from './tables.ts';

export function createKeys({ run }: Connection): Keys {
  return {
    addKey: (key) =>
      run(async (db) => {
        const insert = db.insertInto('continuations.api_keys').values(rowOf(key));
        await insert.onConflict((on) => on.doNothing()).execute();
      }),
    keyAcrossScopes: (id) =>
      run(async (db) => {
        const row = await db.selectFrom('continuations.api_keys').selectAll().where('id', '=', id).executeTakeFirst();
        return row ? { ...shown(row), secretDigest: row.secret_digest } : null;
      }),
    keys: (scope) =>
      run(async (db) => {
        const rows = await db
          .selectFrom('continuations.api_keys')
          .selectAll()
          .where(within('scope', scope))
          .orderBy('id')
          .execute();
        return rows.map(shown);
      }),
    revokeKey: (scope, id, at) =>
      run(async (db) => {
        const row = await db
          .updateTable('continuations.api_keys')
          .set({ revoked_at: sql<string>`coalesce(revoked_at, ${at}::timestamptz)` })
          .where('id', '=', id)
          .where(within('scope', scope))
          .returningAll()
          .executeTakeFirst();
        return row ? shown(row) : null;
      }),
    hasKeysAcrossScopes: () =>
      run(async (db) => (await db.selectFrom('continuations.api_keys').select('id').limit(1).execute()).length > 0),
  };
}

function rowOf(key: StoredKey): Insertable<ApiKeyTable> {
  return {
    id: key.id,
    subject: key.subject,
    scope: key.scope,
    permissions: [...key.permissions],
    secret_digest: key.secretDigest,
    created_at: key.createdAt,
    expires_at: key.expiresAt ?? null,
    revoked_at: null,
  };
}

function shown(row: Selectable<ApiKeyTable>): ApiKey {
  return {
    id: row.id,
    subject: row.subject,
    scope: row.scope,
    permissions: row.permissions,
    createdAt: row.created_at,
    ...(row.expires_at && { expiresAt: row.expires_at }),
    ...(row.revoked_at && { revokedAt: row.revoked_at }),
  };
}

export function createRequests({ run, call }: Connection): Requests {
  return {
    async claimRequest({ owner, key, digest }, { leaseMs, keepMs }) {
      type Row = { found: ClaimedRequest['found']; answer: RequestAnswer | null };
      const { row, attempt } = await call<Row>('claim_request', [owner, key, digest, leaseMs, keepMs]);
      const { found = 'running', answer } = row ?? {};
      if (found === 'answered' && answer) return { found, answer };
      // An earlier attempt whose acknowledgement got lost is ours.
      return { found: found === 'running' && attempt > 1 ? 'fresh' : found } as ClaimedRequest;
    },
    answerRequest: ({ owner, key, digest }, answer) =>
      run(async (db) => {
        const { table, mine } = { table: sql`continuations.requests`, mine: sql`owner = ${owner} and key = ${key}` };
        const open = sql`${mine} and digest = ${digest} and answer is null`;
        await (answer
          ? sql`update ${table} set answer = ${json(answer)}::jsonb where ${open}`
          : sql`delete from ${table} where ${open}`
        ).execute(db);
      }),
  };
}
