/** One Temporal development server and one PostgreSQL for a run, ready for continuations. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { startPostgres } from '../src/dev/postgres.ts';
import { findTemporalCli } from '../src/dev/temporal-cli.ts';
import { startTemporalServer } from '../src/dev/temporal-server.ts';
import { ensureSearchAttributes, migrate } from '../src/index.ts';
import type { OnClose } from './closing.ts';

export interface Servers {
  readonly address: string;
  readonly connection: Connection;
  readonly databaseUrl: string;
  /** Where Temporal keeps everything, when it is on disk. */
  readonly temporalFile: string;
}

export interface ServerOptions {
  readonly progress: (text: string) => void;
  /** Both keep what they hold on disk, as in production. Default: Temporal in memory, PostgreSQL without syncing. */
  readonly onDisk?: boolean;
}

export async function startServers({ progress, onDisk = false }: ServerOptions, onClose: OnClose): Promise<Servers> {
  progress('Starting Temporal and PostgreSQL');
  const folder = mkdtempSync(join(tmpdir(), 'continuations-bench-'));
  onClose(() => rmSync(folder, { recursive: true, force: true }));
  // PostgreSQL may run as another user than we do, and has to get to its data.
  chmodSync(folder, 0o755);
  const temporalFile = join(folder, 'temporal.db');
  const cliPath = await findTemporalCli({ onProgress: progress });
  const temporal = await startTemporalServer({ cliPath, ...(onDisk && { dbFilename: temporalFile }) });
  onClose(() => temporal.stop());
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), persistent: onDisk });
  onClose(() => postgres.stop());
  const { address } = temporal;
  const connection = await Connection.connect({ address });
  onClose(() => connection.close());
  await ensureSearchAttributes(connection);
  await migrate({ url: postgres.url });
  return { address, connection, databaseUrl: postgres.url, temporalFile };
}
