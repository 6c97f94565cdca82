/** One Temporal server and one PostgreSQL server for the whole test run, with nothing kept from run to run. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {} from 'vitest';
import type { TestProject } from 'vitest/node';
import { startPostgres } from '../src/dev/postgres.ts';
import { findTemporalCli } from '../src/dev/temporal-cli.ts';
import { startTemporalServer } from '../src/dev/temporal-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** host:port of a Temporal server whose time tests may skip. */
    temporalAddress: string;
    /** A database that all test files share: make a schema or a database of your own in it. */
    databaseUrl: string;
    /** The `temporal` command, for tests that start a server of their own. */
    temporalCli: string;
  }
}

export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'temporal-continuations-'));
  // PostgreSQL may run as another user than we do, and has to get to its data.
  chmodSync(folder, 0o755);
  const cliPath = await findTemporalCli({ onProgress: (text) => console.log(text) });
  const starting = [
    startTemporalServer({ cliPath, timeSkipping: true }),
    startPostgres({ dataDir: join(folder, 'postgres'), persistent: false }),
  ] as const;
  const stop = async () => {
    for (const each of await Promise.allSettled(starting)) if (each.status === 'fulfilled') await each.value.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [temporal, postgres] = await Promise.all(starting);
    provide('temporalAddress', temporal.address);
    provide('databaseUrl', postgres.url);
    provide('temporalCli', cliPath);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}
