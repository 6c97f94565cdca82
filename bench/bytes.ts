/** What a paused continuation takes in PostgreSQL. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createClient, createStore, migrate } from '../src/index.ts';
import type { Bed } from './bed.ts';
import type { Load } from './options.ts';
import { pause } from './sides.ts';

const DATABASE = 'bench_bytes';
/** Nobody polls it: the continuations stay as they were created. */
const TASK_QUEUE = 'nobody';

/** Bytes of tables, indexes and toast for each, in a database of their own. */
export async function measureBytes(bed: Bed, load: Load): Promise<number> {
  await query(bed.databaseUrl, `create database ${DATABASE}`);
  const url = new URL(bed.databaseUrl);
  url.pathname = `/${DATABASE}`;
  await migrate({ url: url.href });
  const before = await size(url.href);
  const store = createStore({ url: url.href });
  const client = createClient({ connection: bed.connection, store, taskQueue: TASK_QUEUE });
  try {
    for (let left = load.rows; left > 0; left -= load.clients) {
      const clients = Array.from({ length: Math.min(left, load.clients) }, () => pause(client, pauseOf(load)));
      await Promise.all(clients);
    }
  } finally {
    await client.close();
    await store.close();
  }
  return ((await size(url.href)) - before) / load.rows;
}

/** State that cannot be compressed and is like no other's. */
function pauseOf({ stateBytes }: Load) {
  const around = JSON.stringify({ text: '' }).length;
  const text = randomBytes(stateBytes)
    .toString('base64url')
    .slice(0, stateBytes - around);
  return { harnessResult: { outcome: 'needs_clarification' as const, continuation: { state: { text } } } };
}

async function size(url: string): Promise<number> {
  await query(url, 'vacuum analyze');
  await query(url, 'checkpoint');
  const [row] = await query(
    url,
    `select sum(pg_total_relation_size(oid)) as bytes from pg_class
      where relnamespace = 'continuations'::regnamespace and relkind = 'r'`,
  );
  return Number(row?.bytes);
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
