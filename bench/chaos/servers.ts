/** The servers of a run; each can go away and come back as it was. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { startPostgres } from '../../src/dev/postgres.ts';
import { findTemporalCli } from '../../src/dev/temporal-cli.ts';
import { startTemporalServer } from '../../src/dev/temporal-server.ts';
import { bundleWorkflows, ensureSearchAttributes, migrate } from '../../src/index.ts';
import { type Ledger, startLedger } from './ledger.ts';
import { type CuttableLink, startProxy } from './proxy.ts';

export interface Servers {
  readonly address: string;
  readonly databaseUrl: string;
  /** The database as workers reach it. */
  readonly proxiedUrl: string;
  readonly bundlePath: string;
  readonly proxy: CuttableLink;
  readonly ledger: Ledger;
  /** `kill -9`, and a start on the same files. */
  restartDatabase(): Promise<void>;
  restartTemporal(): Promise<void>;
  close(): Promise<void>;
}

export async function startServers(progress: (text: string) => void): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'continuations-chaos-'));
  // PostgreSQL may run as another user than we do, and has to get to its data.
  chmodSync(folder, 0o755);
  const cliPath = await findTemporalCli({ onProgress: progress });
  progress('Starting Temporal and PostgreSQL');
  const dbFilename = join(folder, 'temporal.db');
  const dataDir = join(folder, 'postgres');
  let temporal = await startTemporalServer({ cliPath, dbFilename });
  let postgres = await startPostgres({ dataDir, persistent: true });
  const database = new URL(postgres.url);
  const proxy = await startProxy(Number(database.port));
  const ledger = await startLedger();
  const proxied = new URL(database);
  proxied.port = String(proxy.port);
  const { address } = temporal;
  const connection = await Connection.connect({ address });
  await ensureSearchAttributes(connection);
  await connection.close();
  await migrate({ url: postgres.url });
  const bundlePath = join(folder, 'workflows.js');
  writeFileSync(bundlePath, (await bundleWorkflows()).code);
  return {
    address,
    databaseUrl: postgres.url,
    proxiedUrl: proxied.href,
    bundlePath,
    proxy,
    ledger,
    async restartDatabase() {
      process.kill(postgres.pid, 'SIGKILL');
      await postgres.stop();
      postgres = await startPostgres({ dataDir, persistent: true, port: Number(database.port) });
    },
    async restartTemporal() {
      await temporal.stop();
      temporal = await startTemporalServer({ cliPath, dbFilename, port: Number(address.split(':')[1]) });
    },
    async close() {
      await proxy.close();
      await ledger.close();
      await Promise.allSettled([temporal.stop(), postgres.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
