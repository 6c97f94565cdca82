/** One whole stack for a test file: its own database and task queue on the shared servers, a real worker, a real client. */
import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, type Worker, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { inject } from 'vitest';
import {
  bundleWorkflows,
  type ContinuationClient,
  type ContinuationClientOptions,
  type ContinuationWorkerOptions,
  createClient,
  createWorker,
  ensureSearchAttributes,
  type Store,
} from '../../src/index.ts';
import { createTestDatabase } from './database.ts';

let bundle: Promise<{ code: string }> | undefined;

export interface Stack {
  readonly client: ContinuationClient;
  readonly store: Store;
  readonly connection: Connection;
  readonly native: NativeConnection;
  readonly taskQueue: string;
  readonly databaseUrl: string;
  /** Starts a worker in this process; stop it before the stack is closed. */
  startWorker(options: Partial<ContinuationWorkerOptions> & Pick<ContinuationWorkerOptions, 'harness'>): Promise<RunningWorker>;
  newClient(options?: Partial<ContinuationClientOptions>): ContinuationClient;
  close(): Promise<void>;
}
export interface RunningWorker {
  readonly worker: Worker;
  stop(): Promise<void>;
}

export async function startStack(options: Partial<ContinuationClientOptions> = {}): Promise<Stack> {
  const database = await createTestDatabase();
  const address = inject('temporalAddress');
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  await ensureSearchAttributes(connection);
  const taskQueue = `test-${randomUUID()}`;
  const { store } = database;
  const newClient = (more: Partial<ContinuationClientOptions> = {}) => createClient({ connection, store, taskQueue, ...options, ...more });
  const client = newClient();
  const running = new Set<RunningWorker>();
  return {
    client,
    store,
    connection,
    native,
    taskQueue,
    databaseUrl: database.url,
    newClient,
    async startWorker(workerOptions) {
      bundle ??= bundleWorkflows();
      const worker = await createWorker({
        connection: native,
        store,
        taskQueue,
        maintenance: false,
        workflowBundle: await bundle,
        ...workerOptions,
        worker: { shutdownGraceTime: 100, ...workerOptions.worker },
      });
      const run = worker.run();
      const started: RunningWorker = {
        worker,
        async stop() {
          if (!running.delete(started)) return;
          worker.shutdown();
          await run;
        },
      };
      running.add(started);
      return started;
    },
    async close() {
      for (const worker of [...running]) await worker.stop();
      await client.close();
      await connection.close();
      await native.close();
      await database.close();
    },
  };
}
