/** Which servers a command talks to: those that the environment names, else those of the development stack of this folder. */
import { type Config, loadConfig } from '../config.ts';
import { findDataDir, isAlive, readStackFile, type StackFile } from '../dev/stack-file.ts';
import { ContinuationError } from '../errors.ts';
import type { CliIo } from './io.ts';

export type Target = Config & { readonly databaseUrl: string };

/** Throws `invalid_configuration` with what to set or start. */
export function findTarget(io: CliIo, dataDirGiven?: string): Target {
  const config = loadConfig(io.env);
  const { databaseUrl, temporal } = config;
  if (databaseUrl && temporal.named) return { ...config, databaseUrl };
  const dataDir = dataDirGiven ?? config.dataDir ?? findDataDir(io.cwd);
  const stack = dataDir === undefined ? undefined : readStackFile(dataDir);
  if (!stack || !isAlive(stack)) {
    // A database of one's own goes with the Temporal server at its usual address.
    if (databaseUrl) return { ...config, databaseUrl };
    throw misconfigured(whyNoStack(dataDir, stack));
  }
  return merged(config, stack);
}

function merged(config: Config, stack: StackFile): Target {
  const databaseUrl = config.databaseUrl ?? stack.databaseUrl;
  if (!databaseUrl) throw misconfigured('the development stack was given a DATABASE_URL: set the same one here.');
  // Half of one stack and half of another would look for workflows where they are not.
  const own = config.databaseUrl === undefined || stack.databaseUrl === undefined;
  if (config.temporal.named || !own) return { ...config, databaseUrl };
  const address = stack.temporalAddress;
  if (!address) throw misconfigured('the development stack was given a TEMPORAL_ADDRESS: set the same one here.');
  return { ...config, databaseUrl, temporal: { connection: { address }, namespace: 'default', named: true } };
}

function whyNoStack(dataDir: string | undefined, stack: StackFile | undefined): string {
  const what = stack
    ? `The development stack in ${dataDir} does not run`
    : `No database is named and no development stack runs ${dataDir ? `in ${dataDir}` : 'here'}`;
  return `${what}: set DATABASE_URL (and TEMPORAL_ADDRESS), or start one with \`continuations dev\`, in a clone \`npm start\`.`;
}

function misconfigured(message: string): ContinuationError {
  return new ContinuationError('invalid_configuration', message);
}
