/** One connection that listens for changed rows, shared by all listeners of a store. */
import pg from 'pg';
import type { Records } from '../ports.ts';
import type { ShownStatus } from '../record.ts';
import { connectionConfig, type DatabaseOptions } from './open.ts';

const CHANNEL = 'continuations';
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Who waits once is likely to wait again soon, and a new connection costs more than a wait. */
const IDLE_MS = 30_000;

export interface Listening extends Pick<Records, 'onChange'> {
  close(): Promise<void>;
}

/** Connects for the first listener and lets go some time after the last. */
export function createListening(options: DatabaseOptions): Listening {
  const listeners = new Set<Listener>();
  let ear: Ear | undefined;
  let idle: NodeJS.Timeout | undefined;
  const release = async (): Promise<void> => {
    clearTimeout(idle);
    const last = ear;
    ear = undefined;
    await last?.close();
  };
  return {
    onChange(heard, missed) {
      const own: Listener = { heard, missed };
      clearTimeout(idle);
      listeners.add(own);
      ear ??= listen(options, {
        heard: (id, status) => {
          for (const each of listeners) each.heard(id, status);
        },
        missed: () => {
          for (const each of listeners) each.missed?.();
        },
      });
      return {
        close() {
          if (listeners.delete(own) && listeners.size === 0) idle = setTimeout(() => void release(), IDLE_MS).unref();
        },
      };
    },
    async close() {
      listeners.clear();
      await release();
    },
  };
}

interface Listener {
  readonly heard: Parameters<Records['onChange']>[0];
  readonly missed?: (() => void) | undefined;
}
interface Ear {
  close(): Promise<void>;
}

/** A lost connection is made again with back-off. What changed before it listens is not heard: listeners are told to look. */
function listen(options: DatabaseOptions, { heard, missed }: Listener): Ear {
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let pauseMs = FIRST_PAUSE_MS;

  const lost = (which: pg.Client): void => {
    if (client !== which) return;
    client = undefined;
    void which.end().catch(() => {});
    timer = setTimeout(connect, pauseMs).unref();
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  };
  const connect = (): void => {
    const next = new pg.Client(connectionConfig(options));
    client = next;
    next.on('error', () => lost(next));
    next.on('end', () => lost(next));
    next.on('notification', ({ payload = '' }) => {
      const [id = '', status = ''] = payload.split(' ');
      heard(id, (status || undefined) as ShownStatus | undefined);
    });
    next
      .connect()
      .then(() => next.query(`listen ${CHANNEL}`))
      .then(
        () => {
          pauseMs = FIRST_PAUSE_MS;
          missed?.();
        },
        () => lost(next),
      );
  };
  connect();
  return {
    async close() {
      clearTimeout(timer);
      const last = client;
      client = undefined;
      await last?.end().catch(() => {});
    },
  };
}
