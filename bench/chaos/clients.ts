/** Clients in a process of their own, with a clock of their own: `clients.ts <settings as JSON>`. */
import { Connection } from '@temporalio/client';
import { createClient, createStore } from '../../src/index.ts';
import { type Plan, type Played, play } from './asks.ts';

export interface ClientSettings {
  readonly address: string;
  readonly databaseUrl: string;
  readonly taskQueue: string;
  /** How far the clock of this machine is off. */
  readonly clockOffMs: number;
  readonly clients: number;
  readonly plans: readonly Plan[];
}
export type ClientsMessage = { readonly played: readonly Played[] };

const settings: ClientSettings = JSON.parse(process.argv[2] ?? '{}');
shiftClock(settings.clockOffMs);
process.on('disconnect', () => process.exit());

// Lazy, because the server may be away just now.
const connection = Connection.lazy({ address: settings.address });
const store = createStore({ url: settings.databaseUrl });
const { taskQueue } = settings;
// Answers are soon left as signals, and heartbeats are short: a pass that kills must not wait long.
const client = createClient({ connection, store, taskQueue, answerTimeoutMs: 3_000, heartbeatTimeoutMs: 3_000 });

const played: Played[] = [];
const left = [...settings.plans];
await Promise.all(
  Array.from({ length: settings.clients }, async () => {
    for (let plan = left.shift(); plan; plan = left.shift()) played.push(await play(client, plan));
  }),
);
await client.close();
await store.close();
await connection.close();
process.send?.({ played } satisfies ClientsMessage, () => process.exit());

/** As on a machine whose clock is wrong: for everything in this process alike. */
function shiftClock(byMs: number): void {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...given: [] | ConstructorParameters<typeof Date>) {
      if (given.length === 0) super(RealDate.now() + byMs);
      else super(...(given as [number]));
    }
    static override now(): number {
      return RealDate.now() + byMs;
    }
  } as DateConstructor;
}
