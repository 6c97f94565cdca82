/** The commands as processes, as a service in another language meets them: `keys`, `serve`, `worker`, and two Python programs. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const run = promisify(execFile);
const root = new URL('../..', import.meta.url).pathname;
const secret = `whsec_${randomBytes(24).toString('base64')}`;
const children: ChildProcess[] = [];
let database: TestDatabase;
let env: NodeJS.ProcessEnv;

/** Starts a program; resolves with what it says about where it is. */
async function start(command: string, args: string[], ready: RegExp): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let text = '';
  const said = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        text += chunk;
        const [, found] = ready.exec(text) ?? [];
        if (found !== undefined) resolve(found);
      });
    child.once('exit', (code) => reject(new Error(`${command} ended with ${code}: ${text}`)));
  });
  return { child, said: await said };
}
const cli = (...args: string[]) => ['--import', 'tsx', 'src/cli/main.ts', ...args];

let url: string;
let token: string;
let server: ChildProcess;
beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    ...process.env,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    CONTINUATIONS_TASK_QUEUE: `http-${randomBytes(4).toString('hex')}`,
    CONTINUATIONS_AGENT_SECRET: secret,
    CONTINUATIONS_ALLOW_PRIVATE_ADDRESSES: 'true',
  };
  const made = await run(process.execPath, cli('keys', 'create', '--subject', 'alice', '--json'), { cwd: root, env });
  token = JSON.parse(made.stdout).token;
  const agent = await start('python3', ['examples/python/agent.py', '0'], /Listening on (\S+)/);
  env.CONTINUATIONS_AGENT_URL = agent.said;
  const [serving] = await Promise.all([
    start(process.execPath, cli('serve', '--port', '0'), /Listening on (\S+)/),
    start(process.execPath, cli('worker'), /Working on (\S+)\./),
  ]);
  url = serving.said;
  server = serving.child;
});
afterAll(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  await database?.close();
});

test('a Python client goes from create to answer to result, and a Python service runs the turn', async () => {
  const { stdout } = await run('python3', ['examples/python/client.py'], {
    cwd: root,
    env: { ...env, CONTINUATIONS_URL: url, CONTINUATIONS_TOKEN: token },
  });
  expect(stdout).toContain('asks: May I refund order 1042 (49.90 EUR)?');
  expect(stdout).toContain('completed: Refund of order 1042: approved.');
  expect(stdout).toContain('again: already_terminal, it was alice who approved');
});

describe('the server', () => {
  test('leaves loopback only when somebody has a key', async () => {
    const empty = await createTestDatabase();
    try {
      const failed = run(process.execPath, cli('serve', '--host', '0.0.0.0', '--port', '0'), {
        cwd: root,
        env: { ...env, DATABASE_URL: empty.url },
      });
      await expect(failed).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('nobody has a key') });
    } finally {
      await empty.close();
    }
  });

  test('answers what is under way when it is told to end', async () => {
    const { said, child } = await start(process.execPath, cli('serve', '--port', '0'), /Listening on (\S+)/);
    const body = JSON.stringify({
      assistantId: 'support',
      originTurnId: 'under-way',
      harnessResult: { outcome: 'needs_clarification', continuation: { state: {} } },
    });
    const { hostname, port } = new URL(said);
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    let answer = '';
    socket.on('data', (text: string) => {
      answer += text;
    });
    await once(socket, 'connect');
    const head = ['POST /v1/continuations HTTP/1.1', `Host: ${hostname}`, `Authorization: Bearer ${token}`];
    const more = ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Expect: 100-continue'];
    socket.write(`${[...head, ...more].join('\r\n')}\r\n\r\n`);
    // The server has the request in hand.
    await expect.poll(() => answer).toContain('100 Continue');
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    // It takes no new connection any more.
    await expect.poll(() => fetch(`${said}/healthz`).catch(() => 'refused')).toBe('refused');
    socket.write(body);
    expect(await exit).toEqual([0, null]);
    expect(answer).toContain('HTTP/1.1 201 Created');
  });

  test('ends when it is told to: an open stream is closed, and it leaves with 0', async () => {
    const response = await fetch(`${url}/v1/events`, { headers: { authorization: `Bearer ${token}` } });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    const exit = once(server, 'exit');
    server.kill('SIGTERM');
    while (!(await reader.read()).done);
    expect(await exit).toEqual([0, null]);
  });
});
