/** Brings a database to the present tables and functions. */
import { type Kysely, sql, type Transaction } from 'kysely';
import { MIGRATIONS, type Migration, SCHEMA } from './migrations.ts';
import { type DatabaseOptions, openDatabase } from './open.ts';
import type { Database } from './tables.ts';

export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly missing: readonly string[];
}

/** Applies what is missing, each step in its own transaction, one process at a time; returns the names of what it applied. */
export async function migrate(
  options: DatabaseOptions,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<string[]> {
  const db = openDatabase({ ...options, poolSize: 1 });
  try {
    const applied: string[] = [];
    for (const migration of migrations) {
      if (await db.transaction().execute((transaction) => apply(transaction, migration))) applied.push(migration.name);
    }
    return applied;
  } finally {
    await db.destroy();
  }
}

/** What has been applied to a database and what has not. */
export async function migrationStatus(options: DatabaseOptions): Promise<MigrationStatus> {
  const db = openDatabase({ ...options, poolSize: 1 });
  try {
    return await statusOf(db);
  } finally {
    await db.destroy();
  }
}

/** Whether nothing is missing. Steps that only a newer version knows do no harm. */
export async function isMigrated(db: Kysely<Database>): Promise<boolean> {
  return (await statusOf(db)).missing.length === 0;
}

async function statusOf(db: Kysely<Database>): Promise<MigrationStatus> {
  const applied = await appliedNames(db);
  return { applied, missing: MIGRATIONS.map(({ name }) => name).filter((name) => !applied.includes(name)) };
}

async function appliedNames(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{
    known: boolean;
  }>`select to_regclass(${`${SCHEMA}.migrations`}) is not null as known`.execute(db);
  if (!rows[0]?.known) return [];
  const names = await sql<{
    name: string;
  }>`select name from ${sql.table(`${SCHEMA}.migrations`)} order by name`.execute(db);
  return names.rows.map(({ name }) => name);
}

async function apply(db: Transaction<Database>, { name, sql: text }: Migration): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`temporal-continuations:${SCHEMA}:migrate`}, 0))`.execute(
    db,
  );
  const applied = await appliedNames(db);
  if (applied.includes(name)) return false;
  await sql`create schema if not exists ${sql.id(SCHEMA)}`.execute(db);
  // The functions remember this path: they find our tables whatever the caller's path is.
  await sql`set local search_path = ${sql.id(SCHEMA)}, pg_temp`.execute(db);
  await sql`create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())`.execute(
    db,
  );
  await sql.raw(text).execute(db);
  await sql`insert into migrations (name) values (${name})`.execute(db);
  return true;
}
