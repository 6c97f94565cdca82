/** `npm run bench:list`: the first page of lists with 1,000 and with 100,000 continuations, and the numbers of `/metrics`, over HTTP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { startPostgres } from '../../src/dev/postgres.ts';
import { createAccess, createHttpApp } from '../../src/http/index.ts';
import { createClient, createKey, createStore, migrate } from '../../src/index.ts';
import { aligned } from '../aligned.ts';
import { median } from '../numbers.ts';
import { addCopies, addKinds } from './rows.ts';

const SIZES = [1_000, 100_000] as const;
const ROUNDS = 100;
const MOST = 1.5;

const LISTS = [
  '?status=open',
  '?status=open&order=deadline',
  '?status=open&order=deadline&scope=app%3Ddefault%2Ftenant%3Dt3',
  '?status=open&order=deadline&text=refund',
  '?status=open&order=deadline&text=parcel',
  '?status=pending&waitFor=user_reply',
  // So few of 1,000 that a whole page would compare two records with fifty.
  '?status=pending&waitFor=external_result&limit=1',
  '?status=uncertain&order=deadline',
  '?status=resuming',
  '?scope=app%3Ddefault%2Ftenant%3Dt3&status=open',
  '?status=ended&order=latest',
  '',
].map((query) => `/v1/continuations${query}`);
/** Counts, so their time grows; told, not judged. */
const COUNTS = ['/metrics'];

const dataDir = mkdtempSync(join(tmpdir(), 'bench-list-'));
const postgres = await startPostgres({ dataDir, persistent: false });
const { url } = postgres;
await migrate({ url });
const store = createStore({ url });
const connection = Connection.lazy({ address: '127.0.0.1:1' });
const client = createClient({ connection, store, startTimeoutMs: 1 });
const app = createHttpApp({ client, access: createAccess(store), store, requestsPerMinute: 1_000_000 });
const made = await createKey(store, { subject: 'bench', scope: 'app=default', permissions: ['read'] });
if (!made.ok) throw new Error(made.refusal.message);
const headers = { authorization: `Bearer ${made.token}` };
const database = new pg.Client({ connectionString: url });
await database.connect();

async function medianMs(path: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    const response = await app.request(path, { headers });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
    times.push(performance.now() - started);
  }
  return median(times);
}

await addKinds(client, store);
const measured: number[][] = [];
let filled = 0;
for (const size of SIZES) {
  await addCopies(database, filled, size);
  filled = size;
  const paths = [...LISTS, ...COUNTS];
  for (const path of paths) await medianMs(path);
  const times: number[] = [];
  for (const path of paths) times.push(await medianMs(path));
  measured.push(times);
}
const ms = (value: number) => `${value.toFixed(2)} ms`;
let failed = false;
const rows = [...LISTS, ...COUNTS].map((path, index) => {
  const [small = 0, large = 0] = measured.map((times) => times[index]);
  failed ||= LISTS.includes(path) && large / small > MOST;
  return [`GET ${path}`, ms(small), ms(large), `${(large / small).toFixed(2)}x`];
});
console.log(aligned([['', ...SIZES.map(String), ''], ...rows]));
await database.end();
await client.close();
await connection.close().catch(() => undefined);
await store.close();
await postgres.stop();
rmSync(dataDir, { recursive: true, force: true });
if (failed) console.error(`A list takes more than ${MOST}x.`);
process.exit(failed ? 1 : 0);
