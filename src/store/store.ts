/** The store on PostgreSQL: all SQL of the project is in this folder. */
import type { Store } from '../ports.ts';
import { createKeys, createRequests } from './access.ts';
import { createContents } from './contents.ts';
import { createDeliveries } from './deliveries.ts';
import { createEvents } from './events.ts';
import { createJournals } from './journal.ts';
import { createListening } from './listen.ts';
import { createMetrics } from './metrics.ts';
import { createNotifier } from './notify.ts';
import { openPool } from './open.ts';
import { createOutbox } from './outbox.ts';
import { createReceipts } from './receipts.ts';
import { createRecords } from './records.ts';
import { createConnection } from './retry.ts';
import { createTurns } from './turns.ts';
import { createUpkeep } from './upkeep.ts';

const DEFAULT_WAIT_MS = 30_000;
const LONGEST_CONNECT_MS = 10_000;

export interface StoreOptions {
  readonly url: string;
  /** Connections at most, without the one that listens. */
  readonly poolSize?: number;
  /** How long a call waits for a database that is away before it fails as `database_unavailable`. */
  readonly waitMs?: number;
  readonly applicationName?: string;
}

/** Opens the store; it connects with its first call, and expects a migrated database. */
export function createStore({ waitMs = DEFAULT_WAIT_MS, ...options }: StoreOptions): Store {
  const database = { ...options, connectTimeoutMs: Math.max(1, Math.min(waitMs, LONGEST_CONNECT_MS)) };
  const connection = createConnection(openPool(database), waitMs);
  const notifier = createNotifier(connection);
  const listening = createListening(database);
  return {
    ...createRecords(connection, notifier),
    ...createContents(connection),
    ...createTurns(connection, notifier),
    ...createJournals(connection),
    ...createDeliveries(connection, notifier),
    ...createReceipts(connection),
    ...createUpkeep(connection),
    ...createKeys(connection),
    ...createRequests(connection),
    ...createEvents(connection),
    ...createMetrics(connection),
    ...createOutbox(connection),
    onChange: listening.onChange,
    async close() {
      await listening.close();
      await notifier.close();
      await connection.close();
    },
  };
}
