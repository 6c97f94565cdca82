/** A whole run: servers, then one pass after the other. */
import { Connection } from '@temporalio/client';
import { createClient, createStore } from '../../src/index.ts';
import type { Played } from './asks.ts';
import { load } from './children.ts';
import type { ClientSettings } from './clients.ts';
import { keepEvidence } from './evidence.ts';
import { startCrew } from './faults.ts';
import type { ChaosOptions } from './options.ts';
import { type Bed, HEARTBEAT_TIMEOUT_MS, type PassName, type PassOptions, type PassReport, runPass } from './pass.ts';
import { type Servers, startServers } from './servers.ts';

export interface Reporter {
  readonly progress: (text: string) => void;
  readonly passed: (report: PassReport) => void;
}

const TASK_QUEUE = 'chaos';
const WORKERS = 2;
const MACHINES = 2;

/** Servers, workers and clients that passes are run on, one after the other. */
export interface Chaos {
  run(pass: PassName, options: Omit<PassOptions, 'taskQueue'>): Promise<PassReport>;
  close(): Promise<void>;
}

export async function startChaos(seed: string, progress: (text: string) => void): Promise<Chaos> {
  const servers = await startServers(progress);
  try {
    progress('Starting workers and clients');
    const { connection, ...bed } = await makeBed(servers, seed);
    return {
      async run(pass, options) {
        progress(`Pass ${pass}`);
        const report = await runPass(pass, { ...options, taskQueue: TASK_QUEUE }, bed);
        const evidence = await keepEvidence(report, bed.client, connection);
        if (evidence) progress(`What is known of its problems is kept in ${evidence}`);
        return report;
      },
      async close() {
        await bed.close();
        await servers.close();
      },
    };
  } catch (error) {
    await servers.close();
    throw error;
  }
}

export async function runChaos(options: ChaosOptions, { progress, passed }: Reporter): Promise<PassReport[]> {
  const chaos = await startChaos(options.seed, progress);
  const reports: PassReport[] = [];
  try {
    for (const pass of options.passes) {
      const report = await chaos.run(pass, options);
      passed(report);
      reports.push(report);
    }
  } finally {
    await chaos.close();
  }
  return reports;
}

async function makeBed(
  servers: Servers,
  seed: string,
): Promise<Bed & { connection: Connection; close(): Promise<void> }> {
  const { address, databaseUrl, proxiedUrl, bundlePath, ledger } = servers;
  const settings = {
    address,
    databaseUrl: proxiedUrl,
    ledgerUrl: ledger.url,
    taskQueue: TASK_QUEUE,
    bundlePath,
    heartbeatTimeoutMs: HEARTBEAT_TIMEOUT_MS,
  };
  const connection = await Connection.connect({ address });
  const store = createStore({ url: databaseUrl });
  const client = createClient({ connection, store, taskQueue: TASK_QUEUE });
  const [crew, ...machines] = await Promise.all([
    startCrew(WORKERS, settings, seed),
    ...Array.from({ length: MACHINES }, () => load<ClientSettings, readonly Played[]>('./clients.ts')),
  ]);
  return {
    servers,
    crew,
    machines,
    client,
    connection,
    async close() {
      await Promise.all([crew.stop(), ...machines.map((machine) => machine.kill())]);
      await client.close();
      await store.close();
      await connection.close();
    },
  };
}

/** Whether everything promised was kept. */
export function isClean({ lost, doubled, wronglyTold, unjustifiedUnknown }: PassReport): boolean {
  return lost + doubled + wronglyTold + unjustifiedUnknown === 0;
}
