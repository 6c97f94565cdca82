/** Servers, worker processes and clients of one run; nothing is left of them. */
import { Client, type Connection } from '@temporalio/client';
import { type ContinuationClient, createClient, createStore } from '../src/index.ts';
import { createClosing, type OnClose } from './closing.ts';
import { startServers } from './servers.ts';
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
  const { onClose, close } = createClosing();
  try {
    return { ...(await start(options, onClose)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function start({ progress, workerArgv }: BedOptions, onClose: OnClose): Promise<Omit<Bed, 'close'>> {
  const { address, connection, databaseUrl } = await startServers({ progress }, onClose);
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
