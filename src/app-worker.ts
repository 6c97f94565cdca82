/** The composition of a worker whose agent and deliveries are services of the user's. */
import { NativeConnection } from '@temporalio/worker';
import { linkTo } from './app-server.ts';
import type { Config } from './config.ts';
import { webhookDelivery } from './delivery/webhook.ts';
import { ContinuationError, noTemporalServer } from './errors.ts';
import { httpHarness } from './harness/http.ts';
import { registerSearchAttributes } from './search-attributes.ts';
import { createStore } from './store/store.ts';
import { createWorker } from './worker.ts';

export interface RunningWorker {
  /** Resolves when it has ended; rejects when it failed. */
  readonly finished: Promise<void>;
  /** Lets running turns end for a while. */
  close(): Promise<void>;
}

export async function startWorker(config: Config & { readonly databaseUrl: string }): Promise<RunningWorker> {
  const { agent, webhook, taskQueue } = config;
  if (!agent)
    throw new ContinuationError('invalid_configuration', 'set CONTINUATIONS_AGENT_URL to the service that runs turns');
  const { connection: options, namespace } = config.temporal;
  const harness = httpHarness(agent);
  const link = linkTo(config.http);
  const delivery = webhook && webhookDelivery({ ...webhook, ...(link && { linkTo: link }) });
  const connection = await connect(options);
  await registerSearchAttributes(connection, namespace, console.warn);
  const store = createStore({ url: config.databaseUrl, applicationName: 'continuations-worker' });
  const worker = await createWorker({
    connection,
    namespace,
    store,
    harness,
    taskQueue,
    announce: true,
    ...(delivery && { delivery }),
  });
  const finished = worker.run().finally(async () => {
    await connection.close();
    await store.close();
  });
  return {
    finished,
    async close() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await finished;
    },
  };
}

async function connect(options: Config['temporal']['connection']): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(options);
  } catch (cause) {
    throw noTemporalServer(options.address, cause);
  }
}
