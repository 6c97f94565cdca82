/** The servers of a development stack: those that the environment names, else our own. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Config } from '../config.ts';
import { ContinuationError, isContinuationError, migrate } from '../index.ts';
import type { Cleanup } from './cleanup.ts';
import { DevError } from './dev-error.ts';
import { startPostgres } from './postgres.ts';
import type { Progress } from './progress.ts';
import { removeStackFile, writeStackFile } from './stack-file.ts';
import { findTemporalCli } from './temporal-cli.ts';
import { startTemporalServer } from './temporal-server.ts';

export interface StackOptions {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  /** Where data stays; without it in a temporary folder that is deleted at the end. */
  readonly dataDir?: string;
  readonly ports?: { readonly temporal?: number; readonly ui?: number; readonly database?: number };
}

export interface DevStack {
  readonly temporal: Config['temporal'];
  /** Of our own server. */
  readonly uiUrl?: string;
  /** The `temporal` command, when one was needed. */
  readonly temporalCli?: string;
  readonly databaseUrl: string;
  /** Which servers are ours. */
  readonly own: { readonly temporal: boolean; readonly database: boolean };
}

/** Starts what is missing and brings the database to its tables. Everything started is added to `cleanup`. */
export async function startStack(options: StackOptions, progress: Progress, cleanup: Cleanup): Promise<DevStack> {
  const { config } = options;
  const folder = options.dataDir ? resolve(options.dataDir) : temporaryFolder(cleanup);
  // At once, because each takes seconds; both are waited for, so that both can be ended.
  const [temporal, databaseUrl] = await bothOf(
    config.temporal.named ? { temporal: config.temporal } : startTemporal(options, folder, progress, cleanup),
    config.databaseUrl ?? startDatabase(options, folder, progress, cleanup),
  );
  await progress.step('Bringing the database to its tables', () => bringUp(databaseUrl));
  return {
    ...temporal,
    databaseUrl,
    own: { temporal: !config.temporal.named, database: config.databaseUrl === undefined },
  };
}

/** A database of the user's may be away, or not for us; the driver's words alone do not say whose it is. */
async function bringUp(url: string): Promise<void> {
  try {
    await migrate({ url });
  } catch (cause) {
    if (isContinuationError(cause)) throw cause;
    const { code, message } = cause as { code?: string; message?: string };
    const where = new URL(url);
    const what = `The database at ${where.host}${where.pathname} cannot be used (${message || code})`;
    throw new ContinuationError('database_unavailable', `${what}: check that it runs, and DATABASE_URL.`, { cause });
  }
}

async function bothOf<A, B>(a: A | Promise<A>, b: B | Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([a, b]);
  return await Promise.all([a, b]);
}

function temporaryFolder(cleanup: Cleanup): string {
  const folder = mkdtempSync(join(tmpdir(), 'continuations-'));
  // PostgreSQL may run as another user than we do, and has to get to its data.
  chmodSync(folder, 0o755);
  cleanup.add(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function startDatabase(
  { ports, dataDir }: StackOptions,
  folder: string,
  progress: Progress,
  cleanup: Cleanup,
): Promise<string> {
  const postgres = await progress.step('Starting PostgreSQL', () =>
    startPostgres({
      dataDir: join(folder, 'postgres'),
      persistent: dataDir !== undefined,
      ...(ports?.database !== undefined && { port: ports.database }),
    }),
  );
  cleanup.add(postgres.stop);
  return postgres.url;
}

async function startTemporal(
  { env, ports, dataDir }: StackOptions,
  folder: string,
  progress: Progress,
  cleanup: Cleanup,
): Promise<Pick<DevStack, 'temporal' | 'uiUrl' | 'temporalCli'>> {
  const dbFilename = join(folder, 'temporal.db');
  assertDatabaseFile(dbFilename);
  const cliPath = await progress.step("Looking for Temporal's command line", () =>
    findTemporalCli({ env, onProgress: progress.note }),
  );
  const server = await progress.step('Starting the Temporal server', () =>
    startTemporalServer({
      cliPath,
      ...(dataDir !== undefined && { dbFilename }),
      ...(ports?.temporal !== undefined && { port: ports.temporal }),
      ...(ports?.ui !== undefined && { uiPort: ports.ui }),
    }),
  );
  cleanup.add(server.stop);
  return {
    temporal: { connection: { address: server.address }, namespace: server.namespace, named: true },
    ...(server.uiUrl && { uiUrl: server.uiUrl }),
    temporalCli: cliPath,
  };
}

/** Only what is ours is written down: other addresses may carry secrets, and stay where they are. */
export function announceStack(dataDir: string, { temporal, databaseUrl, own }: DevStack, cleanup: Cleanup): void {
  const { address } = temporal.connection;
  writeStackFile(dataDir, {
    pid: process.pid,
    startedAt: new Date().toISOString(),
    ...(own.temporal && address && { temporalAddress: address }),
    ...(own.database && { databaseUrl }),
  });
  cleanup.add(async () => removeStackFile(dataDir, process.pid));
}

const SQLITE_HEADER = 'SQLite format 3\0';

/** Temporal's own words about such a file are many, and do not name it. */
function assertDatabaseFile(path: string): void {
  if (!existsSync(path)) return;
  const bytes = readFileSync(path);
  if (bytes.length === 0 || bytes.subarray(0, SQLITE_HEADER.length).toString('latin1') === SQLITE_HEADER) return;
  const what = `The file ${path} is no whole Temporal database`;
  throw new DevError(
    'temporal-start-failed',
    `${what}: delete it (what waits is kept in PostgreSQL), or choose another folder.`,
  );
}
