/** A client and a worker on a development stack, in this process. */
import { Connection } from '@temporalio/client';
import { makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import type { Config } from '../config.ts';
import {
  bundleWorkflows,
  type ContinuationClient,
  ContinuationError,
  createClient,
  createStore,
  createWorker,
  type Delivery,
  type Harness,
} from '../index.ts';
import { registerSearchAttributes } from '../search-attributes.ts';
import type { Cleanup } from './cleanup.ts';
import type { Progress } from './progress.ts';

export interface ServiceOptions {
  readonly temporal: Config['temporal'];
  readonly databaseUrl: string;
  readonly taskQueue: string;
  readonly scope?: string;
  readonly harness: Harness;
  readonly delivery: Delivery;
  readonly workflowBundle: ReturnType<typeof bundleWorkflows>;
  /** Where a person can answer a continuation. */
  readonly linkTo?: (id: string) => string;
  /** Called when the worker ends without being asked to. */
  readonly onFailure: (error: unknown) => void;
}
export interface Service {
  readonly client: ContinuationClient;
  readonly connection: Connection;
  /** Starts the worker: what was cut off before goes on, and may end at once. */
  work(): Promise<void>;
}

/**
 * Lets the Temporal SDK speak only about what goes wrong, one line each, and leaves signals to us: the order in which things
 * end matters. To be called before anything else of the SDK.
 */
export function quietTemporal(print: (line: string) => void): void {
  const say = (message: string, meta?: object) => print(`Temporal: ${message}${causeOf(meta)}`);
  const silent = () => undefined;
  Runtime.install({
    shutdownSignals: [],
    logger: { log: silent, trace: silent, debug: silent, info: silent, warn: say, error: say },
    telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
  });
}

function causeOf(meta: object | undefined): string {
  const error = meta && 'error' in meta ? meta.error : undefined;
  return error instanceof Error ? ` (${error.message})` : '';
}

/** Bundling takes a second or two of work: it goes on while servers start. */
export function startBundling(): ReturnType<typeof bundleWorkflows> {
  const bundle = bundleWorkflows();
  // Whoever waits for it is told; until then a failure is nobody's.
  bundle.catch(() => undefined);
  return bundle;
}

export async function startService(options: ServiceOptions, progress: Progress, cleanup: Cleanup): Promise<Service> {
  const { temporal, databaseUrl, taskQueue, harness, delivery, linkTo } = options;
  const { connection, native } = await progress.step('Connecting to Temporal', () => connect(temporal, cleanup));
  await registerSearchAttributes(connection, temporal.namespace, progress.note);
  const store = createStore({ url: databaseUrl });
  cleanup.add(store.close);
  const { namespace } = temporal;
  const caller = { subject: 'agent', ...(options.scope && { scope: options.scope }) };
  const client = createClient({ connection, namespace, store, taskQueue, caller, ...(linkTo && { linkTo }) });
  cleanup.add(client.close);
  const work = async () => {
    const worker = await progress.step('Starting the worker', async () =>
      createWorker({
        connection: native,
        namespace,
        store,
        taskQueue,
        harness,
        delivery,
        workflowBundle: await options.workflowBundle,
        worker: { shutdownGraceTime: '2s', shutdownForceTime: '5s' },
      }),
    );
    const run = worker.run();
    run.catch(options.onFailure);
    cleanup.add(async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await run;
    });
  };
  return { client, connection, work };
}

async function connect({ connection: options }: Config['temporal'], cleanup: Cleanup) {
  try {
    const connection = await Connection.connect({ ...options, connectTimeout: '10s' });
    cleanup.add(() => connection.close());
    const native = await NativeConnection.connect(options);
    cleanup.add(() => native.close());
    return { connection, native };
  } catch (cause) {
    const message = `No Temporal server answers at ${options.address}: check TEMPORAL_ADDRESS, or unset it and let this start one.`;
    throw new ContinuationError('temporal_unavailable', message, { cause });
  }
}
