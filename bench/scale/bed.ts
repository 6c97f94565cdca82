/** Servers that keep everything on disk, one worker with a bounded cache, and the client and store of one run. */
import { Client, type Connection } from '@temporalio/client';
import pg from 'pg';
import { type ContinuationClient, createClient, createStore, type Store } from '../../src/index.ts';
import { createClosing, type OnClose } from '../closing.ts';
import { startServers } from '../servers.ts';
import { startWorkerProcess, type WorkerProcess } from '../worker-process.ts';

export interface Bed {
  readonly connection: Connection;
  readonly temporal: Client;
  readonly temporalFile: string;
  readonly database: pg.Client;
  readonly store: Store;
  readonly client: ContinuationClient;
  readonly worker: WorkerProcess;
  close(): Promise<void>;
}

export const TASK_QUEUE = 'scale';
const PATIENCE_MS = 120_000;

/** Starts everything; what was started is stopped again when something fails. */
export async function openBed(progress: (text: string) => void): Promise<Bed> {
  const { onClose, close } = createClosing();
  try {
    return { ...(await start(progress, onClose)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(progress: (text: string) => void, onClose: OnClose): Promise<Omit<Bed, 'close'>> {
  const { address, connection, databaseUrl, temporalFile } = await startServers({ progress, onDisk: true }, onClose);
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  onClose(() => database.end());
  const store = createStore({ url: databaseUrl });
  onClose(() => store.close());
  // On a busy machine a slow server is measured, not given up.
  const patience = { startTimeoutMs: PATIENCE_MS, answerTimeoutMs: PATIENCE_MS };
  const client = createClient({ connection, store, taskQueue: TASK_QUEUE, ...patience });
  onClose(() => client.close());
  progress('Starting the worker');
  const worker = await startWorkerProcess(['ours', address, TASK_QUEUE, databaseUrl]);
  onClose(() => worker.stop());
  return { connection, temporal: new Client({ connection }), temporalFile, database, store, client, worker };
}
