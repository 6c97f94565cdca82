/** Connections to PostgreSQL. */
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { ContinuationError } from '../errors.ts';
import type { Database } from './tables.ts';

const DEFAULT_POOL_SIZE = 10;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize?: number | undefined;
  readonly applicationName?: string | undefined;
  /** How long to wait for a connection, a free one of the pool included. */
  readonly connectTimeoutMs?: number | undefined;
}

/** Queries over a pool that connects with the first of them. */
export function openDatabase(options: DatabaseOptions): Kysely<Database> {
  return queriesOver(openPool(options));
}

export function queriesOver(pool: pg.Pool): Kysely<Database> {
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}

export function openPool(options: DatabaseOptions): pg.Pool {
  const pool = new pg.Pool({
    ...connectionConfig(options),
    max: options.poolSize ?? DEFAULT_POOL_SIZE,
    allowExitOnIdle: true,
  });
  // A connection that dies is replaced by the next query. Without listeners its death would end the process: the pool listens
  // while it is idle only, and a query while it runs only.
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  return pool;
}

function ignore(): void {}

/** Settings of one connection. */
export function connectionConfig({ url, applicationName, connectTimeoutMs }: DatabaseOptions): pg.ClientConfig {
  assertUrl(url);
  return {
    connectionString: url,
    application_name: applicationName ?? 'temporal-continuations',
    connectionTimeoutMillis: connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: { getTypeParser },
  };
}

/** Checked here, because the driver's own error carries the address with its password. */
function assertUrl(url: string): void {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new ContinuationError(
      'invalid_configuration',
      'the database address must be a URL such as postgres://user@host:5432/name',
    );
  }
}

const { INT8, TIMESTAMPTZ } = pg.types.builtins;

function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8) return Number;
  if (oid === TIMESTAMPTZ) return toInstant;
  return pg.types.getTypeParser(oid, format as 'text');
}

function toInstant(value: string): string {
  const parse = pg.types.getTypeParser(TIMESTAMPTZ) as (text: string) => Date;
  return parse(value).toISOString();
}
