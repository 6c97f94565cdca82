/** A migrated database of one's own on the server of the test run. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import type { Store } from '../../src/ports.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createStore, type StoreOptions } from '../../src/store/store.ts';

export interface TestDatabase {
  readonly url: string;
  readonly store: Store;
  /** Runs a statement past the store. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Makes a database and opens a store on it; `close` drops it. */
export async function createTestDatabase(options: Partial<StoreOptions> = {}): Promise<TestDatabase> {
  const { url, drop } = await createEmptyDatabase(options.url);
  await migrate({ url });
  const store = createStore({ waitMs: 10_000, ...options, url });
  return {
    url,
    store,
    query: (text, values) => query(url, text, values),
    async close() {
      await store.close();
      await drop();
    },
  };
}

/** A database without our tables. */
export async function createEmptyDatabase(
  server = inject('databaseUrl'),
): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await query(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async drop() {
      await query(server, `drop database ${name} with (force)`);
    },
  };
}

export async function query(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
