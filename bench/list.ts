/** `npm run bench:list`: the first page of a list with 1,000 and with 100,000 continuations, over HTTP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { startPostgres } from '../src/dev/postgres.ts';
import { createAccess, createHttpApp } from '../src/http/index.ts';
import { createClient, createKey, createStore, migrate } from '../src/index.ts';

const SIZES = [1_000, 100_000] as const;
const ROUNDS = 300;
const MOST = 1.5;

/** Copies of one waiting continuation, in scopes of their own: a tenth each. */
const COPY = `
  insert into continuations.continuations (id, scope, assistant_id, session_id, status, wait_type, expires_at, revision, record,
    idempotency_key, input_digest, started, seen_at, created_at, updated_at)
  select n.id, n.scope, assistant_id, session_id, status, wait_type, expires_at, revision,
    record || jsonb_build_object('id', n.id, 'scope', n.scope, 'idempotencyKey', n.id), n.id, input_digest, true, now(), created_at, updated_at
  from continuations.continuations c, (select 'cont_' || lpad(i::text, 26, '0') as id, 'app=default/tenant=t' || i % 10 as scope
    from generate_series($1::int, $2::int) i) n where c.idempotency_key = 'first'`;

const dataDir = mkdtempSync(join(tmpdir(), 'bench-list-'));
const postgres = await startPostgres({ dataDir, persistent: false });
const { url } = postgres;
await migrate({ url });
const store = createStore({ url });
const connection = Connection.lazy({ address: '127.0.0.1:1' });
const client = createClient({ connection, store, startTimeoutMs: 1 });
await client.create({
  assistantId: 'support',
  originTurnId: 'first',
  harnessResult: { outcome: 'needs_clarification', continuation: { state: { order: '1042' } } },
});
const app = createHttpApp({ client, access: createAccess(store), store, requestsPerMinute: 1_000_000 });
const made = await createKey(store, { subject: 'bench', scope: 'app=default', permissions: ['read'] });
if (!made.ok) throw new Error(made.refusal.message);
const headers = { authorization: `Bearer ${made.token}` };
const database = new pg.Client({ connectionString: url });
await database.connect();

async function medianMs(query: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    const response = await app.request(`/v1/continuations${query}`, { headers });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`list answered ${response.status}`);
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b)[ROUNDS / 2] ?? 0;
}

const QUERIES = [
  '?status=open',
  '',
  '?status=pending&waitFor=user_reply',
  '?scope=app%3Ddefault%2Ftenant%3Dt3&status=open',
];
const measured: number[][] = [];
let filled = 1;
for (const size of SIZES) {
  await database.query(COPY, [filled, size - 1]);
  filled = size;
  await database.query('vacuum analyze');
  for (const query of QUERIES) await medianMs(query);
  const times: number[] = [];
  for (const query of QUERIES) times.push(await medianMs(query));
  measured.push(times);
}
let failed = false;
for (const [index, query] of QUERIES.entries()) {
  const [small = 0, large = 0] = measured.map((times) => times[index]);
  const ratio = large / small;
  failed ||= ratio > MOST;
  console.log(
    `GET /v1/continuations${query}: ${small.toFixed(2)} ms with 1,000, ${large.toFixed(2)} ms with 100,000 (${ratio.toFixed(2)}x)`,
  );
}
await database.end();
await client.close();
await connection.close().catch(() => undefined);
await store.close();
await postgres.stop();
rmSync(dataDir, { recursive: true, force: true });
if (failed) console.error(`More than ${MOST}x.`);
process.exit(failed ? 1 : 0);
