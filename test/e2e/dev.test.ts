/** `continuations dev`: one command to servers, inbox and worker; nothing is left when it ends. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { freePort } from '../../src/dev/tcp-port.ts';
import { type AgentService, startAgentService } from '../support/agent-service.ts';

const run = promisify(execFile);
const bin = fileURLToPath(new URL('../../bin/continuations.js', import.meta.url));
const { TEMPORAL_ADDRESS, DATABASE_URL, ...inherited } = process.env;
let folder: string;
let agent: AgentService;
let child: ChildProcess | undefined;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dev-'));
  chmodSync(folder, 0o755);
  agent = await startAgentService();
});
afterAll(async () => {
  if (child && child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  await agent?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('servers, inbox and worker from one command; Ctrl-C ends all of them, and the key', async () => {
  const env = {
    ...inherited,
    TEMPORAL_CLI: inject('temporalCli'),
    CONTINUATIONS_AGENT_URL: agent.url,
    CONTINUATIONS_ALLOW_PRIVATE_ADDRESSES: 'true',
  };
  const names = ['--temporal-port', '--ui-port', '--database-port', '--http-port'];
  const ports = (await Promise.all(names.map(async (name) => [name, `${await freePort()}`]))).flat();
  const dev = spawn(process.execPath, [bin, 'dev', '--json', '--data', folder, ...ports], { cwd: folder, env });
  child = dev;
  const ended = once(dev, 'exit');
  let [out, told] = ['', ''];
  dev.stderr.on('data', (data: Buffer) => {
    told += data;
  });
  const places = await new Promise<Record<string, string>>((resolve, reject) => {
    dev.stdout.on('data', (data: Buffer) => {
      out += data;
      if (out.trim().endsWith('}')) resolve(JSON.parse(out));
    });
    dev.once('exit', () => reject(new Error(`it ended, saying:\n${told}`)));
  });
  const request = (method: string, path: string, body?: unknown) =>
    fetch(places.inboxUrl!.replace('/inbox', path), {
      method,
      headers: { authorization: `Bearer ${places.key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  expect((await fetch(places.inboxUrl!)).url).toMatch(/\/inbox\/login/);
  expect((await fetch(places.temporalUiUrl!)).status).toBe(200);

  const created = await request('POST', '/v1/continuations', {
    assistantId: 'support',
    originTurnId: 'turn-1',
    harnessResult: { outcome: 'needs_clarification', continuation: { state: { question: 'Which order?' } } },
  });
  expect(created.status).toBe(201);
  const { id } = ((await created.json()) as { record: { id: string } }).record;
  // The command line finds the servers by the folder.
  const words = ['reply', id, 'Order 1042', '--until', 'finished', '--data', folder];
  const answered = await run(process.execPath, [bin, ...words], { cwd: folder, env: inherited });
  expect(answered.stdout).toContain(`${id} is completed.`);
  expect(agent.heard).toHaveLength(1);

  dev.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
  const { stdout } = await run('ps', ['-eo', 'args']);
  expect(stdout.split('\n').filter((line) => line.includes(folder))).toEqual([]);
  expect(existsSync(join(folder, 'dev.json'))).toBe(false);
}, 180_000);

test('what is wrong is said in one sentence', async () => {
  const failing = (args: string[], env: Record<string, string> = {}) =>
    run(process.execPath, [bin, 'dev', ...args], { cwd: folder, env: { ...inherited, ...env } });
  await expect(failing(['--http-port', 'x'])).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'invalid_configuration: --http-port must be a port from 1 to 65535, not x.\n',
  });
  await expect(failing(['--prot', '1'])).rejects.toMatchObject({
    stderr: 'There is no option --prot. See continuations dev --help.\n',
  });
});
