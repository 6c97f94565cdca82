/** Servers, worker processes and clients of one run; nothing is left of them. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { startPostgres } from '../src/dev/postgres.ts';
import { findTemporalCli } from '../src/dev/temporal-cli.ts';
import { startTemporalServer } from '../src/dev/temporal-server.ts';
import { type ContinuationClient, createClient, createStore, ensureSearchAttributes, migrate } from '../src/index.ts';
import { createBareSide, createOurSide, type Sides } from './sides.ts';
import { startWorkerProcess } from './worker-process.ts';

export interface Bed {
  readonly address: string;
  readonly connection: Connection;
  readonly temporal: Client;
  readonly client: ContinuationClient;
  readonly databaseUrl: string;
  readonly sides: Sides;
  close(): Promise<void>;
}

export interface BedOptions {
  readonly progress: (text: string) => void;
  /** More arguments of node for the workers, such as `--cpu-prof`. */
  readonly workerArgv?: string[];
}

/** Starts everything; what was started is stopped again when something fails. */
export async function openBed(options: BedOptions): Promise<Bed> {
  const closers: Array<() => unknown> = [];
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closeAll(closers);
    return closing;
  };
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => {
      // What is under way loses its servers.
      process.on('uncaughtException', () => undefined);
      void close().finally(() => process.exit(code));
    });
  }
  try {
    return { ...(await start(options, (closer) => closers.push(closer))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function closeAll(closers: Array<() => unknown>): Promise<void> {
  for (let closer = closers.pop(); closer; closer = closers.pop()) {
    try {
      await closer();
    } catch (error) {
      console.error(error);
    }
  }
}

type OnClose = (closer: () => unknown) => void;

async function start({ progress, workerArgv }: BedOptions, onClose: OnClose): Promise<Omit<Bed, 'close'>> {
  progress('Starting Temporal and PostgreSQL');
  const { address, databaseUrl } = await startServers(progress, onClose);
  const connection = await Connection.connect({ address });
  onClose(() => connection.close());
  await ensureSearchAttributes(connection);
  await migrate({ url: databaseUrl });
  const store = createStore({ url: databaseUrl });
  onClose(() => store.close());
  const temporal = new Client({ connection });
  const client = createClient({ connection, store, taskQueue: 'ours' });
  onClose(() => client.close());

  progress('Starting the workers');
  const [bareWorker, ourWorker] = await Promise.all(
    [
      ['bare', address, 'bare'],
      ['ours', address, 'ours', databaseUrl],
    ].map(async (args) => {
      const worker = await startWorkerProcess(args, workerArgv);
      onClose(() => worker.stop());
      return worker;
    }),
  );
  if (!bareWorker || !ourWorker) throw new Error('a worker is missing');
  const sides = { bare: createBareSide(temporal, 'bare', bareWorker), ours: createOurSide(client, ourWorker) };
  return { address, connection, temporal, client, databaseUrl, sides };
}

async function startServers(progress: (text: string) => void, onClose: OnClose) {
  const folder = mkdtempSync(join(tmpdir(), 'continuations-bench-'));
  onClose(() => rmSync(folder, { recursive: true, force: true }));
  // PostgreSQL may run as another user than we do, and has to get to its data.
  chmodSync(folder, 0o755);
  const cliPath = await findTemporalCli({ onProgress: progress });
  const temporal = await startTemporalServer({ cliPath });
  onClose(() => temporal.stop());
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), persistent: false });
  onClose(() => postgres.stop());
  return { address: temporal.address, databaseUrl: postgres.url };
}
