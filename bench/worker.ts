/** A worker in a process of its own, of either side: `worker.ts bare|ours <address> <task queue> [<database URL>]`. */
import { fileURLToPath } from 'node:url';
import { Context } from '@temporalio/activity';
import {
  bundleWorkflowCode,
  DefaultLogger,
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { createStore, createWorker } from '../src/index.ts';
import type { BareActivities } from './bare.workflow.ts';
import type { WorkerMessage, WorkerRequest } from './worker-process.ts';

/** The same for both sides: what our worker chooses by itself. */
const OPTIONS: Partial<WorkerOptions> = {
  stickyQueueScheduleToStartTimeout: '1s',
  maxCachedWorkflows: 300,
  maxConcurrentWorkflowTaskPolls: 16,
  nonStickyToStickyPollRatio: 0.5,
  shutdownGraceTime: '100ms',
};

const tell = (message: WorkerMessage): void => {
  process.send?.(message);
};
/** The clock that all processes of a machine share, milliseconds. */
const started = (id: string): void => tell({ started: id, at: Number(process.hrtime.bigint()) / 1e6 });

interface Running {
  readonly worker: Worker;
  close(): Promise<void>;
}

async function bareWorker(connection: NativeConnection, taskQueue: string): Promise<Running> {
  const activities: BareActivities = {
    async runTurn({ text }) {
      started(Context.current().info.workflowExecution?.workflowId ?? '');
      return text;
    },
    deliver: async () => 'delivered',
  };
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./bare.workflow.ts', import.meta.url)),
    logger: new DefaultLogger('WARN'),
  });
  const worker = await Worker.create({ ...OPTIONS, connection, taskQueue, activities, workflowBundle });
  return { worker, close: async () => undefined };
}

async function ourWorker(connection: NativeConnection, taskQueue: string, url: string): Promise<Running> {
  const store = createStore({ url });
  const worker = await createWorker({
    connection,
    taskQueue,
    store,
    harness: {
      async runResumedTurn({ continuation }) {
        started(continuation.id);
        return { outcome: 'completed', assistantMessage: { text: 'done' } };
      },
    },
    delivery: { deliver: async () => ({ status: 'delivered' }) },
    maintenance: false,
    worker: OPTIONS,
  });
  return { worker, close: () => store.close() };
}

async function main([side = '', address = '', taskQueue = '', databaseUrl = '']: string[]): Promise<void> {
  Runtime.install({
    logger: new DefaultLogger('WARN'),
    telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'WARN', other: 'WARN' }) } },
  });
  const connection = await NativeConnection.connect({ address });
  const { worker, close } =
    side === 'ours' ? await ourWorker(connection, taskQueue, databaseUrl) : await bareWorker(connection, taskQueue);
  const stop = (): void => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  process.on('message', (request: WorkerRequest) => {
    if (request === 'stop') stop();
    else tell({ residentBytes: process.memoryUsage.rss() });
  });
  process.once('disconnect', stop);
  // The terminal interrupts us too: who started us decides when to stop.
  process.on('SIGINT', () => undefined);
  const run = worker.run();
  tell({ ready: true });
  await run;
  await close();
  await connection.close();
  if (process.connected) process.disconnect();
}

await main(process.argv.slice(2));
