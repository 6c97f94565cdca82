/**
 * `docker-compose.yml` and `Dockerfile` as far as they can be tried without a container engine: compose reads the file, the services
 * wait for each other, and the commands of our services run with the settings they get there, health checks included.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../src/config.ts';
import { freePort } from '../src/dev/tcp-port.ts';
import { startTemporalServer, type TemporalServer } from '../src/dev/temporal-server.ts';
import { createEmptyDatabase } from './support/database.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const SET = {
  CONTINUATIONS_DB_PASSWORD: 'secret1',
  TEMPORAL_DB_PASSWORD: 'secret2',
  CONTINUATIONS_AGENT_URL: 'http://agent:9000/turns',
};
interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
}

/** The file with its variables put in, as compose does it: into values, once they are read. */
function composeFile(): Record<string, Service> {
  const filled = (value: string) =>
    value.replace(
      /\$\{(\w+)(?::[-?]([^}]*))?\}/g,
      (_, name: string, otherwise = '') => (SET as Record<string, string>)[name] ?? otherwise,
    );
  const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true });
  return JSON.parse(JSON.stringify(services), (_, value) => (typeof value === 'string' ? filled(value) : value));
}
const services = composeFile();
const ours = Object.entries(services).filter(([, { image }]) => image === 'temporal-continuations');

describe('the file', () => {
  // Debian's `docker-compose` reads and checks a file without an engine; `.ci/run` installs it.
  const compose = process.env.DOCKER_COMPOSE;
  test.skipIf(!compose)('is one that compose takes; without its secrets it is refused', async () => {
    const config = (env: Record<string, string>) =>
      run(compose as string, ['-f', join(root, 'docker-compose.yml'), 'config'], {
        env: { PATH: process.env.PATH, ...env },
      });
    const { stdout } = await config(SET);
    expect(Object.keys(parse(stdout).services).sort()).toEqual(Object.keys(services).sort());
    for (const name of Object.keys(SET)) {
      const { [name as keyof typeof SET]: _, ...rest } = SET;
      await expect(config(rest)).rejects.toThrow(/Missing mandatory value/);
    }
  });

  test('whatever is waited for exists, and is healthy or ends', () => {
    for (const [name, { depends_on = {} }] of Object.entries(services)) {
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const on = services[other];
        expect(on, `${name} waits for ${other}`).toBeDefined();
        if (condition === 'service_healthy') expect(on?.healthcheck?.test, other).toBeDefined();
        else expect(condition).toBe('service_completed_successfully');
      }
    }
    const { api, worker } = services;
    expect(Object.keys(api?.depends_on ?? {})).toEqual(['migrate', 'temporal-namespace']);
    expect(worker?.depends_on).toEqual(api?.depends_on);
  });

  test('our services get settings that we know, and no other', () => {
    const source = readFileSync(join(root, 'src/config.ts'), 'utf8');
    expect(ours.map(([name]) => name)).toEqual(['migrate', 'api', 'worker']);
    for (const [, { environment = {} }] of ours) {
      for (const name of Object.keys(environment)) expect(`${source} TEMPORAL_NAMESPACE`).toContain(name);
      expect(loadConfig(environment)).toMatchObject({
        databaseUrl: 'postgres://continuations:secret1@postgres:5432/continuations',
        temporal: { connection: { address: 'temporal:7233' }, namespace: 'default', named: true },
      });
    }
    expect(loadConfig(services.worker?.environment ?? {}).agent?.url).toBe(SET.CONTINUATIONS_AGENT_URL);
  });
});

describe('the commands of our services, with servers in the place of those of the file', () => {
  let temporal: TemporalServer;
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  let port: number;
  const children: ChildProcess[] = [];
  // No `.data` of a development stack is found from here.
  const cwd = mkdtempSync(join(tmpdir(), 'compose-'));
  beforeAll(async () => {
    // The file uses the default task queue, so it gets a server of its own.
    temporal = await startTemporalServer({ cliPath: inject('temporalCli') });
    database = await createEmptyDatabase();
    port = await freePort();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    }
  });
  afterAll(async () => {
    await temporal?.stop();
    await database?.drop();
    rmSync(cwd, { recursive: true, force: true });
  });

  const command = [join(root, 'bin/continuations.js')];
  const settings = (name: string) => ({
    PATH: process.env.PATH,
    ...services[name]?.environment,
    // As the image sets it.
    CONTINUATIONS_HOST: '0.0.0.0',
    CONTINUATIONS_PORT: `${port}`,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
  });
  const runsOnce = (name: string, args = services[name]?.command ?? []) =>
    run(process.execPath, [...command, ...args], { cwd, env: settings(name) });
  /** Starts a service and resolves when it says that it is up. */
  const start = (name: string, up: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [...command, ...(services[name]?.command ?? [])], {
        cwd,
        env: settings(name),
      });
      children.push(child);
      let said = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (data: Buffer) => {
          said += data;
          if (up.test(said)) resolve();
        });
      }
      child.once('exit', () => reject(new Error(`it ended, saying: ${said}`)));
    });
  const codeOf = (running: Promise<unknown>): Promise<number> =>
    running.then(
      () => 0,
      ({ code }) => code,
    );

  test('migrate, a key, the API: its health check knows whether it runs', async () => {
    const [, check = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8')) ?? [];
    const [, ...words] = JSON.parse(check) as string[];
    const health = () => codeOf(run(process.execPath, words, { env: settings('api') }));
    expect((await runsOnce('migrate')).stdout).toMatch(/^Applied: /);
    await expect(runsOnce('api')).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('keys create') });
    expect(await health()).toBe(1);
    await runsOnce('migrate', ['keys', 'create', '--subject', 'ada', '--permissions', 'read']);
    await start('api', /Listening on /);
    expect(await health()).toBe(0);
  }, 120_000);

  test('the worker: its health check knows whether one polls the queue', async () => {
    const [, node, bin, ...args] = services.worker?.healthcheck?.test ?? [];
    expect([node, bin]).toEqual(['node', '/app/bin/continuations.js']);
    expect(await codeOf(runsOnce('worker', args))).toBe(1);
    await start('worker', /Working on continuations/);
    expect(await codeOf(runsOnce('worker', args))).toBe(0);
  }, 120_000);
});
