/** A whole run: servers, then one pass after the other. */
import { Connection } from '@temporalio/client';
import { createClient, createStore } from '../../src/index.ts';
import type { ChaosOptions } from './options.ts';
import { type PassReport, runPass } from './pass.ts';
import { startServers } from './servers.ts';

export interface Reporter {
  readonly progress: (text: string) => void;
  readonly passed: (report: PassReport) => void;
}

export async function runChaos(options: ChaosOptions, { progress, passed }: Reporter): Promise<PassReport[]> {
  const servers = await startServers(progress);
  const reports: PassReport[] = [];
  try {
    for (const pass of options.passes) {
      progress(`Pass ${pass}`);
      const { turns, clients, seed } = options;
      const taskQueue = `chaos-${pass}`;
      const connection = await Connection.connect({ address: servers.address });
      const store = createStore({ url: servers.databaseUrl });
      const client = createClient({ connection, store, taskQueue });
      const report = await runPass(pass, { turns, clients, seed, taskQueue }, servers, client);
      await client.close();
      await store.close();
      await connection.close();
      passed(report);
      reports.push(report);
    }
  } finally {
    await servers.close();
  }
  return reports;
}

/** Whether everything promised was kept. */
export function isClean({ lost, doubled, wronglyTold, unjustifiedUnknown }: PassReport): boolean {
  return lost + doubled + wronglyTold + unjustifiedUnknown === 0;
}
