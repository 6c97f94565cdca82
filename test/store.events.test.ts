/** The order of all receipts on a real PostgreSQL: what commits late comes late, and nothing is passed. */
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { follow } from '../src/feed.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.close());

const SCOPE = 'app=default';
/** A row with one receipt, as an open transaction of another process would write it. */
async function writeRow(client: pg.Client, id: string): Promise<void> {
  await client.query(
    `insert into continuations.continuations (id, scope, assistant_id, status, wait_type, revision, record, idempotency_key, input_digest,
       seen_at, created_at, updated_at) values ($1, $2, 'a', 'pending', 'user_reply', 1, '{}', $1, '', now(), now(), now())`,
    [id, SCOPE],
  );
}
async function writeReceipt(client: pg.Client, id: string): Promise<void> {
  await client.query(
    `insert into continuations.receipts (continuation_id, sequence, kind, cause, at, body, digest)
       values ($1, 1, 'created', 'created', now(), '{}', '')`,
    [id],
  );
}
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  return client;
}

test('a transaction that numbers early and commits late is not passed, whatever the order of numbers', async () => {
  const { store } = database;
  const { next: start } = await store.events(SCOPE, undefined, 10);
  const [early, late] = [await connect(), await connect()];
  try {
    for (const client of [early, late]) await client.query('begin');
    // `early` is the older transaction, `late` takes the lower number and commits first.
    await writeRow(early, 'early');
    await writeRow(late, 'late');
    await writeReceipt(late, 'late');
    await writeReceipt(early, 'early');
    await late.query('commit');
    const before = await store.events(SCOPE, start, 10);
    expect(before.events).toEqual([]);
    await early.query('commit');
    const after = await store.events(SCOPE, before.next, 10);
    expect(after.events.map((one) => one.continuationId)).toEqual(['early', 'late']);
    expect((await store.events(SCOPE, after.next, 10)).events).toEqual([]);
  } finally {
    await early.end();
    await late.end();
  }
});

test('readers that come and go lose nothing and see nothing twice while forty writers commit in any order', async () => {
  const { store } = database;
  const start = (await store.events(SCOPE, undefined, 10)).next;
  const ids = Array.from({ length: 40 }, (_, index) => `w${String(index).padStart(2, '0')}`);
  const write = async (id: string, index: number) => {
    const client = await connect();
    try {
      await client.query('begin');
      await writeRow(client, id);
      if (index % 2) await client.query('select pg_sleep(random() * 0.2)');
      await writeReceipt(client, id);
      if (index % 3) await client.query('select pg_sleep(random() * 0.3)');
      await client.query(`select pg_notify('continuations', '${id} pending')`);
      await client.query('commit');
    } finally {
      await client.end();
    }
  };
  const seen: string[] = [];
  const reading = (async () => {
    let after = start;
    while (seen.length < ids.length) {
      // A connection that breaks after each third event.
      let taken = 0;
      for await (const event of follow({ store, pollMs: 2_000 }, SCOPE, { after })) {
        seen.push(event.continuationId);
        after = event.position;
        if (++taken === 3 || seen.length === ids.length) break;
      }
    }
  })();
  for (let batch = 0; batch < ids.length; batch += 10)
    await Promise.all(ids.slice(batch, batch + 10).map((id, index) => write(id, batch + index)));
  await reading;
  expect([...seen].sort()).toEqual(ids);
});
