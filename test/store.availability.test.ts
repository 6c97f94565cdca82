/** Migrations, outages and a small pool. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type PostgresServer, startPostgres } from '../src/dev/postgres.ts';
import { freePort } from '../src/dev/tcp-port.ts';
import { migrate, migrationStatus } from '../src/store/migrate.ts';
import { MIGRATIONS } from '../src/store/migrations.ts';
import { createStore } from '../src/store/store.ts';
import { later, MINUTE } from './support/builders.ts';
import { createEmptyDatabase, createTestDatabase, query, type TestDatabase } from './support/database.ts';
import { answered, beginning, chained, completing, fresh, granted, paused, SCOPE } from './support/stored.ts';

describe('migrations', () => {
  let empty: Awaited<ReturnType<typeof createEmptyDatabase>>;
  beforeAll(async () => {
    empty = await createEmptyDatabase();
  });
  afterAll(() => empty?.drop());
  const names = MIGRATIONS.map(({ name }) => name);

  test('a store on a database without them says what to do, and works once it is done', async () => {
    const store = createStore({ url: empty.url });
    const call = store.get(SCOPE, 'cont_x');
    await expect(call).rejects.toMatchObject({
      code: 'database_not_migrated',
      message: expect.stringContaining('continuations migrate'),
    });
    expect(await migrationStatus({ url: empty.url })).toEqual({ applied: [], missing: names });
    // Started by several processes at once.
    const applied = await Promise.all(Array.from({ length: 5 }, () => migrate({ url: empty.url })));
    expect(applied.flat().sort()).toEqual(names);
    expect(await migrationStatus({ url: empty.url })).toEqual({ applied: names, missing: [] });
    expect(await store.get(SCOPE, 'cont_x')).toBeNull();
    await store.close();
  });

  test('one that fails leaves nothing of itself behind', async () => {
    const broken = { name: '9999-broken', sql: 'create table continuations.half (a int); select 1 / 0;' };
    await expect(migrate({ url: empty.url }, [...MIGRATIONS, broken])).rejects.toThrow(/division by zero/);
    expect(await query(empty.url, `select to_regclass('continuations.half') as half`)).toEqual([{ half: null }]);
    expect(await migrate({ url: empty.url })).toEqual([]);
  });

  test('steps of a newer version do no harm', async () => {
    await migrate({ url: empty.url }, [
      ...MIGRATIONS,
      { name: '9998-newer', sql: 'create table continuations.newer (a int)' },
    ]);
    const store = createStore({ url: empty.url });
    expect((await store.list({ scope: SCOPE })).records).toEqual([]);
    await store.close();
  });

  test('keep apart from other tables of the database, whatever the search path', async () => {
    await query(empty.url, 'create table sessions (mine int)');
    await query(
      empty.url,
      `do $$ begin execute format('alter database %I set search_path = pg_catalog', current_database()); end $$`,
    );
    const store = createStore({ url: empty.url });
    const record = await paused(store);
    await store.sessionActive(SCOPE, 's', later(0));
    const begun = granted(await store.beginTurn(beginning(answered(record))));
    expect(await store.endTurn(completing(begun))).toMatchObject({ accepted: true });
    expect(await query(empty.url, 'select * from public.sessions')).toEqual([]);
    await store.close();
  });
});

describe('configuration', () => {
  test.each([
    '',
    'localhost:5432',
    'mysql://u:secret@h/d',
    'postgres://user:secret@ho st:1/x',
    'postgres://u:secret@h:99999/x',
  ])('%s is refused without showing it', (url) => {
    expect(() => createStore({ url })).toThrow(
      expect.objectContaining({ code: 'invalid_configuration', message: expect.not.stringContaining('secret') }),
    );
  });

  test('a wrong password or database fails at once', async () => {
    const wrong = { password: 'wrong', pathname: '/nothing' };
    for (const [part, value] of Object.entries(wrong)) {
      const url = Object.assign(new URL(inject('databaseUrl')), { [part]: value });
      const store = createStore({ url: url.href, waitMs: 30_000 });
      const started = Date.now();
      await expect(store.censusAcrossScopes()).rejects.toMatchObject({ code: 'invalid_configuration' });
      expect(Date.now() - started).toBeLessThan(5_000);
      await store.close();
    }
  });

  test('a database that is not there is waited for, then reported without its address', async () => {
    const store = createStore({ url: `postgres://user:secret@127.0.0.1:${await freePort()}/x`, waitMs: 700 });
    const started = Date.now();
    const error = await store.censusAcrossScopes().catch((thrown: unknown) => thrown as Error & { code: string });
    expect(error).toMatchObject({ code: 'database_unavailable', message: expect.stringContaining('ECONNREFUSED') });
    expect((error as Error).message).not.toContain('secret');
    expect((error as Error).cause).toBeInstanceOf(Error);
    expect(Date.now() - started).toBeGreaterThan(600);
    expect(Date.now() - started).toBeLessThan(5_000);
    await store.close();
  });

  test('closing a store ends the waiting', async () => {
    const store = createStore({ url: `postgres://user@127.0.0.1:${await freePort()}/x`, waitMs: 60_000 });
    const call = store.censusAcrossScopes().catch((thrown: unknown) => thrown as Error);
    await sleep(300);
    await store.close();
    expect(await call).toMatchObject({ code: 'database_unavailable', message: 'the store was closed' });
  });
});

test('a pool of one serves fifty calls at once', async () => {
  const database = await createTestDatabase({ poolSize: 1 });
  const records = await Promise.all(Array.from({ length: 50 }, () => paused(database.store)));
  expect((await database.store.list({ scope: SCOPE, limit: 256 })).records).toHaveLength(50);
  expect(new Set(records.map(({ id }) => id)).size).toBe(50);
  await database.close();
});

test('a full pool makes calls wait, also longer than for a connection', async () => {
  const database = await createTestDatabase({ poolSize: 1, waitMs: 1_500 });
  const record = await paused(database.store);
  // The row is locked by somebody else for a while, so that the only connection is in use.
  const locking = query(
    database.url,
    `begin; select from continuations.continuations where id = '${record.id}' for update; select pg_sleep(2.5); commit`,
  );
  await sleep(300);
  const writing = database.store.write(answered(record), []);
  await sleep(50);
  const waiting = database.store.censusAcrossScopes().catch((error: unknown) => error);
  expect(await writing).toMatchObject({ record: { status: 'resuming' } });
  expect(await waiting).toMatchObject({ code: 'database_unavailable' });
  await locking;
  expect(await database.store.censusAcrossScopes()).toMatchObject({ open: 1 });
  await database.close();
});

describe('a restart of PostgreSQL', () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-outage-'));
  chmodSync(folder, 0o755);
  const options = { dataDir: join(folder, 'postgres'), persistent: true };
  let server: PostgresServer;
  let port: number;
  let database: TestDatabase;
  beforeAll(async () => {
    server = await startPostgres(options);
    port = Number(new URL(server.url).port);
    database = await createTestDatabase({ url: server.url, waitMs: 30_000 });
  });
  afterAll(async () => {
    await database?.close().catch(() => {});
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function crash(): Promise<void> {
    process.kill(server.pid, 'SIGKILL');
    await server.stop().catch(() => {});
  }
  async function startAgain(): Promise<void> {
    server = await startPostgres({ ...options, port });
  }

  test('in the middle of calls is waited out, and nothing is done twice', async () => {
    const { store } = database;
    const before = await paused(store);
    const inputs = Array.from({ length: 40 }, () => fresh());
    const creating = inputs.map(async (input, i) => {
      await sleep(i * 10);
      return store.create(input);
    });
    await sleep(150);
    await crash();
    await expect(query(database.url, 'select')).rejects.toThrow();
    const begin = beginning(answered(before));
    const beginningTurn = store.beginTurn(begin);
    await sleep(500);
    await startAgain();
    const created = await Promise.all(creating);
    expect(created.every((each) => each.created)).toBe(true);
    for (const { record } of inputs) {
      const receipts = await store.receipts(SCOPE, record.id);
      expect(receipts?.map(({ kind }) => kind)).toEqual(['created']);
      expect(receipts?.map(({ digest }) => digest)).toEqual(chained(receipts!));
    }
    const begun = granted(await beginningTurn);
    expect(begun.fence).toBe(1);
    expect(await store.endTurn(completing(begun))).toMatchObject({ accepted: true });
  });

  test('is survived by onChange, which tells when changes may have gone unheard', async () => {
    const { store } = database;
    const heard: string[] = [];
    let missed = 0;
    const listening = store.onChange(
      (id) => heard.push(id),
      () => missed++,
    );
    // From then on nothing goes unheard, so one change each time is enough.
    const hears = async () => {
      const { id } = await paused(store);
      await expect.poll(() => heard, { timeout: 5_000 }).toContain(id);
    };
    await expect.poll(() => missed, { timeout: 10_000 }).toBe(1);
    await hears();
    await crash();
    await startAgain();
    await expect.poll(() => missed, { timeout: 10_000 }).toBe(2);
    await hears();
    listening.close();
  });

  test('connections that an administrator ends are replaced', async () => {
    const { store } = database;
    const record = await paused(store);
    for (let round = 0; round < 3; round++) {
      await query(
        database.url,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      expect(await store.get(SCOPE, record.id)).not.toBeNull();
    }
    // Also in the middle of a statement.
    const locking = query(
      database.url,
      `begin; select from continuations.continuations where id = '${record.id}' for update; select pg_sleep(1); commit`,
    );
    await sleep(300);
    const writing = store.write(answered(record), []);
    await sleep(200);
    await query(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where query like '%write_record%' and pid <> pg_backend_pid()`,
    );
    expect(await writing).toMatchObject({ record: { status: 'resuming' } });
    await locking;
  });
});

test('the size of a paused continuation with 1 KiB of state', async () => {
  const database = await createTestDatabase();
  const pad = 'x'.repeat(1024);
  for (let i = 0; i < 1000; i += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, j) => {
        const noise = Array.from({ length: 64 }, () => Math.random().toString(36).slice(2)).join('');
        return paused(database.store, {
          sessionId: `session-${i + j}`,
          state: { question: 'May I?', noise: (noise + pad).slice(0, 990) },
          at: later(i * MINUTE),
        });
      }),
    );
  }
  const [row] = await database.query(`select sum(pg_total_relation_size(c.oid))::bigint as bytes from pg_class c
    where relnamespace = 'continuations'::regnamespace and relkind = 'r'`);
  const each = Number(row?.bytes) / 1000;
  console.log(`a paused continuation takes ${Math.round(each)} bytes`);
  expect(each).toBeLessThan(8 * 1024);
  await database.close();
});
