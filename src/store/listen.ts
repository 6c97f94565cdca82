/** One connection that listens for changed rows, shared by all listeners of a store. */
import pg from 'pg';
import type { Records } from '../ports.ts';
import { connectionConfig, type DatabaseOptions } from './open.ts';

const CHANNEL = 'continuations';
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

export interface Listening extends Pick<Records, 'onChange'> {
  close(): Promise<void>;
}

/**
 * Connects for the first listener and lets go after the last. A lost connection is made again with back-off; what changed
 * meanwhile is not called back, so listeners poll as well.
 */
export function createListening(options: DatabaseOptions): Listening {
  const listeners = new Set<(id: string) => void>();
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let pauseMs = FIRST_PAUSE_MS;

  const notify = (id: string): void => {
    for (const listener of listeners) listener(id);
  };
  const lost = (from: pg.Client): void => {
    if (client !== from) return;
    client = undefined;
    void from.end().catch(() => {});
    if (listeners.size === 0) return;
    timer = setTimeout(connect, pauseMs).unref();
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  };
  const connect = (): void => {
    const next = new pg.Client(connectionConfig(options));
    client = next;
    next.on('error', () => lost(next));
    next.on('end', () => lost(next));
    next.on('notification', ({ payload }) => payload && notify(payload));
    next
      .connect()
      .then(() => next.query(`listen ${CHANNEL}`))
      .then(
        () => {
          pauseMs = FIRST_PAUSE_MS;
        },
        () => lost(next),
      );
  };
  const release = async (): Promise<void> => {
    clearTimeout(timer);
    const last = client;
    client = undefined;
    pauseMs = FIRST_PAUSE_MS;
    await last?.end().catch(() => {});
  };

  return {
    onChange(listener) {
      const own = (id: string): void => listener(id);
      listeners.add(own);
      if (listeners.size === 1) connect();
      return {
        close() {
          if (listeners.delete(own) && listeners.size === 0) void release();
        },
      };
    },
    async close() {
      listeners.clear();
      await release();
    },
  };
}
