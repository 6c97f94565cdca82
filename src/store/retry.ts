/** Waits out what passes: lost connections, restarts of PostgreSQL, deadlocks. Every call of the store may be repeated. */
import { setMaxListeners } from 'node:events';
import type { Kysely } from 'kysely';
import pRetry from 'p-retry';
import type pg from 'pg';
import { ContinuationError } from '../errors.ts';
import { isMigrated } from './migrate.ts';
import { SCHEMA } from './migrations.ts';
import { queriesOver } from './open.ts';
import type { Database } from './tables.ts';

/** Work on the database; `attempt` is more than 1 when an earlier one may have been done without our hearing of it. */
export type Work<T> = (db: Kysely<Database>, attempt: number) => Promise<T>;

/** How the parts of the store reach the database. */
export interface Connection {
  run<T>(work: Work<T>): Promise<T>;
  /** Calls one of our functions; its statement is planned once for each connection. `attempt`: as in `Work`. */
  call<Row>(name: string, args: readonly unknown[]): Promise<{ readonly row?: Row; readonly attempt: number }>;
  close(): Promise<void>;
}

/** Repeats work that failed for a passing reason, for at most `waitMs`. */
export function createConnection(pool: pg.Pool, waitMs: number): Connection {
  const db = queriesOver(pool);
  const closing = new AbortController();
  // Every waiting call listens.
  setMaxListeners(0, closing.signal);
  let migrated: Promise<void> | undefined;
  const assertOnce = (): Promise<void> => {
    migrated ??= assertMigrated(db).catch((error: unknown) => {
      migrated = undefined;
      throw error;
    });
    return migrated;
  };
  const persist = async <T>(work: (attempt: number) => Promise<T>): Promise<T> => {
    const started = Date.now();
    try {
      return await pRetry(
        async (attempt) => {
          await assertOnce();
          return await work(attempt);
        },
        {
          retries: Number.POSITIVE_INFINITY,
          minTimeout: 50,
          maxTimeout: 2_000,
          randomize: true,
          signal: closing.signal,
          shouldRetry: ({ error }) => isPassing(error) && Date.now() - started < waitMs,
        },
      );
    } catch (error) {
      throw explained(error, Date.now() - started);
    }
  };
  return {
    run: (work) => persist((attempt) => work(db, attempt)),
    call<Row>(name: string, args: readonly unknown[]) {
      const text = `select * from ${SCHEMA}.${name}(${args.map((_, index) => `$${index + 1}`).join(', ')})`;
      return persist(async (attempt) => {
        const { rows } = await pool.query({ name, text, values: [...args] });
        return { row: rows[0] as Row, attempt };
      });
    },
    async close() {
      closing.abort(new ContinuationError('database_unavailable', 'the store was closed'));
      await db.destroy();
    },
  };
}

async function assertMigrated(db: Kysely<Database>): Promise<void> {
  if (await isMigrated(db)) return;
  throw new ContinuationError(
    'database_not_migrated',
    `the database lacks tables of schema "${SCHEMA}": run \`continuations migrate\` once, then start again`,
  );
}

const PASSING_STATES = /^(08...|57P0[1235]|53300|40001|40P01|25006)$/;
const PASSING_ERRNO =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOTFOUND)$/;
const PASSING_MESSAGE =
  /connection terminated|timeout exceeded when trying to connect|connection error and is not queryable|timeout expired/i;

/** Whether the same call may succeed a little later. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isPassing);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (code) return PASSING_STATES.test(code) || PASSING_ERRNO.test(code);
  return PASSING_MESSAGE.test(error.message);
}

function explained(error: unknown, waitedMs: number): unknown {
  if (!(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (isPassing(error)) {
    const why = code ?? 'no connection';
    const message = `PostgreSQL did not answer within ${Math.round(waitedMs / 1000)} s (${why}): check that it runs and can be reached`;
    return new ContinuationError('database_unavailable', message, { cause: error });
  }
  if (code && /^(28...|3D000)$/.test(code)) {
    return new ContinuationError('invalid_configuration', `PostgreSQL refused the connection: ${error.message}`, {
      cause: error,
    });
  }
  return error;
}
