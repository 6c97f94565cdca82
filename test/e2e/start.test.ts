/** `npm start` as a person uses it: what it prints works as printed, and nothing is left when it ends. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { freePort } from '../../src/dev/tcp-port.ts';
import { startBrowser } from '../support/browser.ts';

const run = promisify(execFile);
const SLOW = 180_000;
/** For one line of output. */
const PATIENCE = 120_000;
const { TEMPORAL_ADDRESS, DATABASE_URL, ...inherited } = process.env;
const PROMPT = /Ctrl-C ends everything/;

let folder: string;
let ports: string[];
let started: ChildProcess[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'start-'));
  chmodSync(folder, 0o755);
  const names = ['--temporal-port', '--ui-port', '--database-port', '--http-port'];
  ports = (await Promise.all(names.map(async (name) => [name, `${await freePort()}`]))).flat();
});
afterEach(() => {
  const runs = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null;
  for (const child of started) if (child.pid && runs(child)) process.kill(-child.pid, 'SIGKILL');
  started = [];
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<number | string>;
  output(): string;
  /** Resolves when the output holds it; rejects when the process has ended without, or time is up. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
}

function npmStart(args: readonly string[] = ['--data', folder, ...ports], env: Record<string, string> = {}): Run {
  const child = spawn('npm', ['start', '--', ...args], {
    // As in a terminal: a process group that gets signals together.
    detached: true,
    env: { ...inherited, TEMPORAL_CLI: inject('temporalCli'), ...env },
  });
  started.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (output += data));
  const ended = new Promise<number | string>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal ?? '')),
  );
  return {
    child,
    ended,
    output: () => output,
    async says(pattern) {
      for (const until = Date.now() + PATIENCE; ; ) {
        const found = pattern.exec(output);
        if (found) return found;
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended, saying:\n${output}`);
        if (Date.now() > until) throw new Error(`no ${pattern} in:\n${output}`);
        await sleep(100);
      }
    },
  };
}

/** Processes that work on a folder. */
async function processesOf(path: string): Promise<string[]> {
  const { stdout } = await run('ps', ['-eo', 'pid,args']);
  return stdout.split('\n').filter((line) => line.includes(path));
}

describe('one folder, several lives', () => {
  let waiting: string;

  test('it shows what waits; Ctrl-C ends it and all that it started', { timeout: SLOW }, async () => {
    const first = npmStart();
    await first.says(PROMPT);
    waiting = (await first.says(/npx continuations approve (cont_\w+) --suspension sus_\w+/))[1]!;
    expect(first.output()).toMatch(new RegExp(`/namespaces/default/workflows/${waiting}/[0-9a-f-]{36}/user-metadata`));
    expect(first.output()).toContain('postgres://');
    const [, inbox = ''] = await first.says(/Answer it in the inbox: (http:\S+)\n\(log in with key_/);
    expect(inbox).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/inbox/${waiting}$`));
    // Whoever is not logged in is asked to.
    expect((await fetch(inbox)).url).toContain('/inbox/login?next=');
    process.kill(-first.child.pid!, 'SIGINT');
    expect(await first.ended).toBe(0);
    expect(await processesOf(folder)).toEqual([]);
    expect(existsSync(join(folder, 'dev.json'))).toBe(false);
  });

  test('the next start finds it again and takes no other; a kill costs nothing', { timeout: SLOW }, async () => {
    const second = npmStart();
    await second.says(PROMPT);
    expect(second.output()).toMatch(/Found a turn that waited here before/);
    expect(second.output().match(/cont_\w+/g)).toContain(waiting);
    expect(new Set(second.output().match(/cont_\w+/g)).size).toBe(1);
    process.kill(-second.child.pid!, 'SIGKILL');
    await second.ended;
  });

  test('after the kill the printed command answers it, once, and both sides tell', { timeout: SLOW }, async () => {
    const third = npmStart();
    await third.says(PROMPT);
    const [line] = await third.says(/npx continuations approve .*/);
    expect(line).toContain(waiting);
    const answered = await run('sh', ['-c', line], { env: inherited });
    expect(answered.stdout).toMatch(/Accepted: approved by .* over cli/);
    expect(answered.stdout).toContain('Your kettle is refunded');
    await third.says(/approved by .* over cli: the turn runs/);
    await third.says(/follow-up delivered: “Your kettle is refunded/);
    await third.says(/is completed; follow-up: delivered/);
    expect(readFileSync(join(folder, 'refunds.jsonl'), 'utf8').trim().split('\n')).toHaveLength(1);
    const repeated = await run('sh', ['-c', line.replace('approve', 'deny')], { env: inherited }).catch(
      (error) => error,
    );
    expect(repeated).toMatchObject({ code: 2, stderr: expect.stringContaining('Refused (already_terminal)') });

    const another = npmStart();
    expect(await another.ended).toBe(1);
    expect(another.output()).toMatch(/A development stack already runs in .* \(process \d+\): end it first/);
    // A signal to npm alone, as from a process manager.
    third.child.kill('SIGTERM');
    expect(await third.ended).toBe(0);
    expect(await processesOf(folder)).toEqual([]);
  });

  test('when nothing waits a new customer comes; the printed signal answers as well', { timeout: SLOW }, async () => {
    const fourth = npmStart();
    await fourth.says(PROMPT);
    const [, id] = await fourth.says(/npx continuations approve (cont_\w+)/);
    expect(id).not.toBe(waiting);
    const [signal] = await fourth.says(/\S+ workflow signal .*/);
    await run('sh', ['-c', signal], { env: inherited });
    await fourth.says(/approved by temporal over temporal: the turn runs/);
    await fourth.says(/is completed; follow-up: delivered/);
    process.kill(-fourth.child.pid!, 'SIGINT');
    expect(await fourth.ended).toBe(0);
  });

  test('whoever opens the printed address and logs in with the printed key answers there', {
    timeout: SLOW,
  }, async () => {
    const fifth = npmStart();
    await fifth.says(PROMPT);
    const [, inbox = '', key = ''] = await fifth.says(/Answer it in the inbox: (\S+)\n\(log in with (key_\S+)\)/);
    const browser = await startBrowser();
    const page = await (await browser.context()).newPage();
    await page.goto(inbox);
    await page.getByLabel('Your key').fill(key);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('button', { name: 'Approve' }).click();
    await fifth.says(/approved by \S+ over inbox:key_\w+: the turn runs/);
    await fifth.says(/is completed; follow-up: delivered/);
    await browser.close();
    process.kill(-fifth.child.pid!, 'SIGINT');
    expect(await fifth.ended).toBe(0);
  });
});

test('the crash of the README, as it is written: killed in the middle of a refund, there is one refund', {
  timeout: 2 * SLOW,
}, async () => {
  const data = mkdtempSync(join(folder, 'crash-'));
  chmodSync(data, 0o755);
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  /** A command of the README, in a folder and on ports of its own. */
  const written = (name: string): string => {
    const [, command = ''] = new RegExp(`<!-- crash: ${name} -->\n\`\`\`sh\n(.*)\n`).exec(readme) ?? [];
    expect(command, name).not.toBe('');
    return command.replaceAll('./.data', data).replaceAll('.data', data);
  };
  const setting = /^(\w+)=(\d+) npm start$/.exec(written('start'));
  const paid = () => (existsSync(join(data, 'refunds.jsonl')) ? readFileSync(join(data, 'refunds.jsonl'), 'utf8') : '');

  const first = npmStart(['--data', data, ...ports], { [setting![1]!]: setting![2]! });
  await first.says(PROMPT);
  const [approve] = await first.says(/npx continuations approve .*/);
  const answering = run('sh', ['-c', approve], { env: inherited }).catch(() => undefined);
  await expect.poll(paid, { timeout: 30_000 }).toContain('refund-1');
  await run('sh', ['-c', written('kill')]);
  await first.ended;
  expect(first.output()).not.toContain('follow-up delivered');
  await answering;

  expect(written('again')).toBe('npm start');
  const second = npmStart(['--data', data, ...ports]);
  await second.says(/follow-up delivered: “Your kettle is refunded: €49.90 are on their way back to you \(refund-1\)/);
  await second.says(/is completed; follow-up: delivered/);
  expect(second.output()).toContain('A turn cut off here before will go on.');
  expect(second.output()).not.toContain('A customer writes');
  const { stdout } = await run('sh', ['-c', written('refunds')]);
  expect(stdout.trim().split('\n')).toHaveLength(1);
  expect(JSON.parse(stdout)).toMatchObject({ refundId: 'refund-1', order: '1042' });
  process.kill(-second.child.pid!, 'SIGINT');
  expect(await second.ended).toBe(0);
});

describe('what is wrong is said in one sentence', () => {
  /** What is printed besides npm's own lines and what was going on. */
  async function complaint(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
    const { ended, output } = npmStart(args, env);
    expect(await ended).toBe(1);
    const lines = output()
      .split('\n')
      .filter((line) => line && !line.startsWith('> ') && !line.endsWith(' …'));
    expect(lines).toHaveLength(1);
    return lines[0]!;
  }
  const fresh = (): string => {
    const path = mkdtempSync(join(folder, 'fresh-'));
    chmodSync(path, 0o755);
    return path;
  };

  test('a port in use', { timeout: SLOW }, async () => {
    const taken: Server = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const port = (taken.address() as { port: number }).port;
    const args = ['--data', fresh(), ...ports];
    expect(await complaint([...args, '--temporal-port', `${port}`])).toBe(
      `The Temporal server cannot listen on port ${port}, which is in use: choose another with --temporal-port, or set TEMPORAL_ADDRESS to use a server that runs.`,
    );
    expect(await complaint([...args, '--database-port', `${port}`])).toMatch(/^PostgreSQL cannot listen on port/);
    taken.close();
  });

  test('a data folder that is half-written', { timeout: SLOW }, async () => {
    const [half, garbage] = [fresh(), fresh()];
    mkdirSync(join(half, 'postgres'));
    writeFileSync(join(half, 'postgres', 'PG_VERSION'), '18\n');
    expect(await complaint(['--data', half, ...ports])).toMatch(/holds no whole PostgreSQL database .*: delete it/);
    writeFileSync(join(garbage, 'temporal.db'), 'half');
    expect(await complaint(['--data', garbage, ...ports])).toMatch(/is no whole Temporal database: delete it/);
  });

  test('no Temporal CLI, wrong options, wrong settings, servers that do not answer', { timeout: SLOW }, async () => {
    const args = ['--data', fresh(), ...ports];
    expect(await complaint(args, { TEMPORAL_CLI: '/nowhere/temporal' })).toMatch(/not a Temporal CLI that runs\.$/);
    expect(await complaint(['--prot', '1'])).toMatch(/^Unknown option '--prot'\. See npm start -- --help\.$/);
    expect(await complaint(['--ui-port', 'x'])).toBe('--ui-port must be a port from 1 to 65535, not x.');
    expect(await complaint([], { DATABASE_URL: 'mysql://x' })).toMatch(/^DATABASE_URL must be a URL/);
    const nobody = await freePort();
    const urls = {
      DATABASE_URL: `postgres://me:hunter2@127.0.0.1:${nobody}/app`,
      TEMPORAL_ADDRESS: `127.0.0.1:${nobody}`,
    };
    const away = await complaint(['--data', fresh()], urls);
    expect(away).toMatch(/^The database at 127\.0\.0\.1:\d+\/app cannot be used \(.*ECONNREFUSED.*\): check/);
    expect(away).not.toContain('hunter2');
  });
});

test('--help', { timeout: SLOW }, async () => {
  const { ended, output } = npmStart(['--help']);
  expect(await ended).toBe(0);
  expect(output()).toContain('--temporal-port <port>');
});
