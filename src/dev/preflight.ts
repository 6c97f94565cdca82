/** What would go wrong later and can be said now, before anything is started or downloaded. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { DevError } from './dev-error.ts';
import type { Progress } from './progress.ts';
import { isAlive, readStackFile } from './stack-file.ts';
import type { StartOptions } from './start-options.ts';
import { assertPortFree } from './tcp-port.ts';

/** Servers of a run that was killed end by themselves, in a moment. */
const ENDING_MS = 15_000;

/** Throws a `DevError` when this stack runs already or a port is taken. */
export async function preflight(options: StartOptions, config: Config, progress: Progress): Promise<void> {
  const before = readStackFile(options.dataDir);
  if (before && isAlive(before) && (await hasTakenPort(options, config))) {
    const what = `A development stack already runs in ${options.dataDir} (process ${before.pid})`;
    throw new DevError('port-in-use', `${what}: end it first, or choose another folder with --data and other ports.`);
  }
  const deadline = Date.now() + (before ? ENDING_MS : 0);
  for (let told = false; ; told = true) {
    try {
      return await assertPorts(options, config);
    } catch (error) {
      if (Date.now() >= deadline) throw error;
      if (!told) progress.note('Waiting for the servers of the run before to end …');
      await sleep(200);
    }
  }
}

async function hasTakenPort(options: StartOptions, config: Config): Promise<boolean> {
  return assertPorts(options, config).then(
    () => false,
    () => true,
  );
}

async function assertPorts({ ports }: StartOptions, config: Config): Promise<void> {
  if (!config.temporal.named) {
    await assertFree(ports.temporal, 'The Temporal server', '--temporal-port', 'TEMPORAL_ADDRESS');
    await assertFree(ports.ui, 'The Temporal UI', '--ui-port');
  }
  await assertFree(ports.http, 'The HTTP API', '--http-port');
  if (!config.databaseUrl) await assertFree(ports.database, 'PostgreSQL', '--database-port', 'DATABASE_URL');
}

async function assertFree(port: number, what: string, option: string, variable?: string): Promise<void> {
  try {
    await assertPortFree(port, what);
  } catch (cause) {
    const instead = variable ? `, or set ${variable} to use a server that runs` : '';
    const message = `${what} cannot listen on port ${port}, which is in use: choose another with ${option}${instead}.`;
    throw new DevError('port-in-use', message, { cause });
  }
}
