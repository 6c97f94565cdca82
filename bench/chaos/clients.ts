/** Clients in a process of their own, with a clock of their own; they play what they are given. */
import { Connection } from '@temporalio/client';
import { createClient, createStore } from '../../src/index.ts';
import { type Plan, type Played, play } from './asks.ts';
import { answerParent } from './program.ts';

export interface ClientSettings {
  readonly address: string;
  readonly databaseUrl: string;
  readonly taskQueue: string;
  readonly heartbeatTimeoutMs: number;
  /** How far the clock of this machine is off. */
  readonly clockOffMs: number;
  readonly clients: number;
  readonly plans: readonly Plan[];
}

const RealDate = Date;
let clockOffMs = 0;
/** As on a machine whose clock is wrong: for everything in this process alike. */
globalThis.Date = class extends RealDate {
  constructor(...given: [] | ConstructorParameters<typeof Date>) {
    if (given.length === 0) super(RealDate.now() + clockOffMs);
    else super(...(given as [number]));
  }
  static override now(): number {
    return RealDate.now() + clockOffMs;
  }
} as DateConstructor;

answerParent(async (settings: ClientSettings): Promise<readonly Played[]> => {
  clockOffMs = settings.clockOffMs;
  // Lazy, because the server may be away just now.
  const connection = Connection.lazy({ address: settings.address });
  const store = createStore({ url: settings.databaseUrl });
  const { taskQueue, heartbeatTimeoutMs } = settings;
  // Answers are soon left as signals: a pass that kills must not wait long.
  const client = createClient({ connection, store, taskQueue, answerTimeoutMs: 3_000, heartbeatTimeoutMs });
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
  return played;
});
