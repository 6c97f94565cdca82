/**
 * The folder that holds a database.
 *
 * A new one is made beside its final place and moved there when it is whole, so an interruption leaves no half-written
 * folder. One that is found half-written all the same is never touched: it may be somebody's data.
 */
import { execFile } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { DevError } from './dev-error.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';

const run = promisify(execFile);
const ABANDONED_MS = 10 * 60_000;

/** The one user of a development database. It listens on this machine only. */
export const DEV_USER = { name: 'postgres', password: 'postgres' } as const;

/** Makes the folder a database that can be started, unless it is one. */
export async function prepareData(dataDir: string, binaries: PostgresBinaries, persistent: boolean): Promise<void> {
  if (isEmpty(dataDir)) return await create(dataDir, binaries, persistent);
  const version = readOr(join(dataDir, 'PG_VERSION'), '').trim();
  if (version === '' || !existsSync(join(dataDir, 'global', 'pg_control')) || !existsSync(join(dataDir, 'base', '5'))) {
    const what = `The folder ${dataDir} holds no whole PostgreSQL database (its creation was interrupted, or it is something else)`;
    throw new DevError('postgres-data-broken', `${what}: delete it, or choose another data folder.`);
  }
  if (version !== binaries.major) {
    const what = `The folder ${dataDir} was made by PostgreSQL ${version}, and this is PostgreSQL ${binaries.major}`;
    throw new DevError('postgres-data-version', `${what}: choose another data folder, or move the data with pg_dump.`);
  }
  await assertUnused(dataDir);
}

function isEmpty(dataDir: string): boolean {
  try {
    return readdirSync(dataDir).length === 0;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return true;
    throw new DevError('postgres-permission', `The data folder ${dataDir} cannot be read (${code}): choose another.`, {
      cause,
    });
  }
}

async function create(dataDir: string, { initdb, user }: PostgresBinaries, persistent: boolean): Promise<void> {
  const staging = stagingFolder(dataDir, user);
  const [data, passwordFile] = [join(staging, 'data'), join(staging, 'password')];
  try {
    writeFileSync(passwordFile, DEV_USER.password, { mode: 0o600 });
    if (user) chownSync(passwordFile, user.uid, user.gid);
    const flags = [
      `--username=${DEV_USER.name}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
    ];
    if (!persistent) flags.push('--no-sync');
    await run(initdb, [`--pgdata=${data}`, '--locale=C', ...flags], { ...user, cwd: '/', env: postgresEnv() });
    if (existsSync(dataDir)) rmdirSync(dataDir);
    renameSync(data, dataDir);
  } catch (cause) {
    throw creationFailed(dataDir, cause);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function stagingFolder(dataDir: string, user: PostgresBinaries['user']): string {
  const [parent, prefix] = [dirname(dataDir), `${basename(dataDir)}.creating-`];
  try {
    mkdirSync(parent, { recursive: true });
    for (const name of readdirSync(parent).filter((each) => each.startsWith(prefix))) {
      const path = join(parent, name);
      if (Date.now() - statSync(path).mtimeMs > ABANDONED_MS) rmSync(path, { recursive: true, force: true });
    }
    const staging = mkdtempSync(join(parent, prefix));
    if (user) chownSync(staging, user.uid, user.gid);
    return staging;
  } catch (cause) {
    throw new DevError('postgres-permission', `The folder ${parent} cannot be written: choose another data folder.`, {
      cause,
    });
  }
}

function creationFailed(dataDir: string, cause: unknown): DevError {
  const { stderr = '', message, code } = cause as { stderr?: string; message: string; code?: unknown };
  if (code === 'ENOTEMPTY' || code === 'EEXIST') {
    return new DevError('postgres-in-use', `Another process is making a database in ${dataDir} right now: try again.`, {
      cause,
    });
  }
  if (/permission denied/i.test(stderr)) {
    const who = process.getuid?.() === 0 ? 'The user "postgres" (PostgreSQL refuses to run as root)' : 'You';
    return new DevError('postgres-permission', `${who} may not reach ${dataDir}: choose a data folder outside it.`, {
      cause,
    });
  }
  const words = stderr.trim() || message;
  return new DevError(
    'postgres-start-failed',
    `PostgreSQL could not make a database in ${dataDir}. It said:\n${words}`,
    { cause },
  );
}

/** A server killed outright leaves its lock file; PostgreSQL clears that itself unless the number now names another process. */
async function assertUnused(dataDir: string): Promise<void> {
  const lockFile = join(dataDir, 'postmaster.pid');
  const pid = Number(readOr(lockFile, '').split('\n')[0]);
  for (let tries = 0; pid > 0 && isAlive(pid) && existsSync(lockFile); tries++) {
    const command = await commandOf(pid);
    if (command && !/postgres/i.test(command)) return rmSync(lockFile, { force: true });
    // A process that was killed a moment ago may be listed for a little while.
    if (tries >= 20) {
      const what = `A PostgreSQL server (process ${pid}) already uses the folder ${dataDir}`;
      throw new DevError('postgres-in-use', `${what}: stop it (kill -INT ${pid}), or choose another data folder.`);
    }
    await sleep(100);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readOr(`/proc/${pid}/cmdline`, '');
  const ps = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return ps.stdout.trim();
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}

/** The environment for PostgreSQL's programs: English messages, and none of the user's own PG* settings. */
export function postgresEnv(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'));
  return { ...Object.fromEntries(others), LC_ALL: 'C' };
}
