/** The composition root: from configuration to a store and a client. Only here are implementations chosen. */
import { Connection } from '@temporalio/client';
import type { Keys } from './access-ports.ts';
import type { Caller } from './caller.ts';
import { type ContinuationClient, createClient } from './client.ts';
import type { Config } from './config.ts';
import { noTemporalServer } from './errors.ts';
import { migrate } from './store/migrate.ts';
import { createStore } from './store/store.ts';

export interface App {
  readonly client: ContinuationClient;
  readonly keys: Keys;
  /** Connects to Temporal now; what only reads does not need it. Throws `temporal_unavailable`. */
  reachTemporal(): Promise<void>;
  close(): Promise<void>;
}

/** How long a person waits at the command line before a server that does not answer is reported, milliseconds. */
const PATIENCE_MS = 5_000;

/** Opens a client for `caller`; it connects when it is used. */
export function openApp(config: Config & { readonly databaseUrl: string }, caller: Partial<Caller>): App {
  const { connection: options, namespace } = config.temporal;
  const store = createStore({
    url: config.databaseUrl,
    poolSize: 2,
    waitMs: PATIENCE_MS,
    applicationName: 'continuations',
  });
  const connection = Connection.lazy({ ...options, connectTimeout: PATIENCE_MS });
  const client = createClient({ connection, namespace, store, caller, taskQueue: config.taskQueue });
  return {
    client,
    keys: store,
    async reachTemporal() {
      try {
        await connection.ensureConnected();
      } catch (cause) {
        throw noTemporalServer(options.address, cause);
      }
    },
    async close() {
      await client.close();
      await connection.close();
      await store.close();
    },
  };
}

/** Brings the database to the present tables; returns the names of the steps that were missing. */
export function migrateDatabase(url: string): Promise<string[]> {
  return migrate({ url, connectTimeoutMs: PATIENCE_MS });
}
