/** What `continuations dev` does: servers to try things on, the HTTP API with the inbox, and a worker when an agent service is named. */
import { Connection } from '@temporalio/client';
import { startWorker } from '../app-worker.ts';
import type { Config, Env } from '../config.ts';
import { noTemporalServer } from '../errors.ts';
import { registerSearchAttributes } from '../search-attributes.ts';
import { startApi } from './api.ts';
import type { Cleanup } from './cleanup.ts';
import { preflight } from './preflight.ts';
import { createProgress } from './progress.ts';
import { quietTemporal } from './service.ts';
import { announceStack, startStack } from './stack.ts';
import type { StartOptions } from './start-options.ts';

export interface Dev {
  readonly options: StartOptions;
  readonly config: Config;
  readonly env: Env;
  readonly cleanup: Cleanup;
  /** Says what is going on. */
  readonly note: (line: string) => void;
}

/** Where everything is. */
export interface DevPlaces {
  readonly inboxUrl: string;
  readonly key: string;
  readonly temporalAddress: string;
  /** Of our own Temporal server. */
  readonly temporalUiUrl?: string;
  readonly databaseUrl: string;
  /** Resolves when the worker has ended, rejects when it failed; absent without an agent service. */
  readonly working?: Promise<void>;
}

/** Everything started is added to `cleanup`; a `DevError` or `ContinuationError` says what is wrong in one sentence. */
export async function startDev({ options, config: given, env, cleanup, note }: Dev): Promise<DevPlaces> {
  const { dataDir, ports } = options;
  const progress = createProgress(note);
  await preflight(options, given, progress);
  quietTemporal(note);
  const stack = await startStack({ config: given, env, dataDir, ports }, progress, cleanup);
  const { temporal, databaseUrl, uiUrl } = stack;
  await registerAttributes(temporal, note);
  const config = { ...given, temporal, databaseUrl, http: { ...given.http, port: ports.http } };
  const api = await startApi(config, progress, cleanup);
  const worker = config.agent && (await progress.step('Starting the worker', () => startWorker(config)));
  if (worker) cleanup.add(worker.close);
  announceStack(dataDir, stack, cleanup);
  return {
    ...api,
    temporalAddress: temporal.connection.address ?? '',
    databaseUrl,
    ...(uiUrl && { temporalUiUrl: uiUrl }),
    ...(worker && { working: worker.finished }),
  };
}

/** Before anything is started, because what is started without them stays without. */
async function registerAttributes(temporal: Config['temporal'], note: (line: string) => void): Promise<void> {
  const { connection: options, namespace } = temporal;
  const connection = await Connection.connect(options).catch((cause) => {
    throw noTemporalServer(options.address, cause);
  });
  await registerSearchAttributes(connection, namespace, note);
  await connection.close();
}
