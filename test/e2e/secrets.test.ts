/**
 * Secrets stay where they belong. A whole run of the real programs (API, worker, command line, agent, webhook), with failures on
 * the way, is searched for every secret that went in: what the programs say, what they answer, what Temporal keeps, what the
 * database keeps.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { type CuttableLink, startProxy } from '../../bench/chaos/proxy.ts';
import { ensureSearchAttributes } from '../../src/index.ts';
import { type AgentService, json, startAgentService } from '../support/agent-service.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';

const run = promisify(execFile);
const root = new URL('../..', import.meta.url).pathname;
const marker = (name: string) => `${name}-${randomBytes(12).toString('hex')}`;
const secrets = {
  databasePassword: marker('password'),
  agentSecret: `whsec_${randomBytes(24).toString('base64')}`,
  webhookSecret: `whsec_${randomBytes(24).toString('base64')}`,
  /** Of the API key that the server is used with. */
  keySecret: '',
};
/** Not secret, but content: kept in the database, and never in Temporal or a log (C12). */
const content = { state: marker('state'), largeReply: marker('reply') };
/** Travels through Temporal by design: shows that the search finds what is there. */
const question = marker('question');

const role = `role_${randomBytes(6).toString('hex')}`;
const taskQueue = `secrets-${randomBytes(4).toString('hex')}`;
let database: TestDatabase;
let link: CuttableLink;
let agent: AgentService;
let hook: AgentService;
let env: NodeJS.ProcessEnv;
let url: string;
let token: string;
const children: ChildProcess[] = [];
/** All that programs said, and all that was answered over HTTP. */
let said = '';
let answered = '';

const words = (...args: string[]) => ['--import', 'tsx', 'src/cli/main.ts', ...args];
async function start(args: string[], ready: RegExp): Promise<string> {
  const child = spawn(process.execPath, words(...args), { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let own = '';
  return new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        own += chunk;
        said += chunk;
        const [, found] = ready.exec(own) ?? [];
        if (found !== undefined) resolve(found);
      });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${own}`)));
  });
}
/** Its words belong to what was said, unless they are told to one person alone. */
async function cli(args: string[], more: NodeJS.ProcessEnv = {}): Promise<{ code: number; text: string }> {
  const ended = await run(process.execPath, words(...args), { cwd: root, env: { ...env, ...more } }).then(
    ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
    (error) => ({ code: error.code as number, text: error.stdout + error.stderr }),
  );
  if (args[0] !== 'keys' || args[1] !== 'create') said += ended.text;
  return ended;
}
async function send(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  answered += JSON.stringify([...response.headers]) + text;
  return { status: response.status, text };
}

beforeAll(async () => {
  database = await createTestDatabase();
  await query(database.url, `create role ${role} login superuser password '${secrets.databasePassword}'`);
  const own = new URL(database.url);
  link = await startProxy(Number(own.port));
  Object.assign(own, { username: role, password: secrets.databasePassword, port: String(link.port) });
  [agent, hook] = await Promise.all([startAgentService(), startAgentService()]);
  env = {
    ...process.env,
    NO_COLOR: '1',
    DATABASE_URL: own.href,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    CONTINUATIONS_TASK_QUEUE: taskQueue,
    CONTINUATIONS_AGENT_URL: agent.url,
    CONTINUATIONS_AGENT_SECRET: secrets.agentSecret,
    CONTINUATIONS_WEBHOOK_URL: hook.url,
    CONTINUATIONS_WEBHOOK_SECRET: secrets.webhookSecret,
    CONTINUATIONS_ALLOW_PRIVATE_ADDRESSES: 'true',
  };
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  await ensureSearchAttributes(connection);
  await connection.close();
  token = JSON.parse((await cli(['keys', 'create', '--subject', 'alice', '--json'])).text).token;
  secrets.keySecret = token.split('_').slice(2).join('_');
  [url] = await Promise.all([
    start(['serve', '--port', '0'], /Listening on (\S+)/),
    start(['worker'], /Working on (\S+)\./),
  ]);
}, 180_000);
afterAll(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  await link?.close();
  await agent?.close();
  await hook?.close();
  const { url: databaseUrl } = database;
  await database?.close();
  const server = new URL(databaseUrl);
  server.pathname = '/postgres';
  await query(server.href, `drop role if exists ${role}`);
});

const pause = (outcome: string, originTurnId: string, state: object) => ({
  assistantId: 'support',
  originTurnId,
  harnessResult: {
    outcome,
    assistantMessage: { text: question },
    continuation: { state: { ...state, note: content.state } },
  },
});
const ids: string[] = [];
async function created(body: object) {
  const { status, text } = await send('POST', '/v1/continuations', body);
  expect(status).toBe(201);
  const { record } = JSON.parse(text);
  ids.push(record.id);
  return record;
}

function expectNone(text: string, of: Readonly<Record<string, string>>): void {
  for (const [name, secret] of Object.entries(of)) {
    expect(secret.length, name).toBeGreaterThan(20);
    for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').replace(/=+$/, '')])
      expect(text.includes(form), `${name} as ${form}`).toBe(false);
  }
}

/** With payloads as text: what stands in them is what must not. Temporal's messages write their bytes as base64. */
function readable(value: unknown): string {
  return JSON.stringify(value, (key, one) => {
    if (key === 'data' && typeof one === 'string') return Buffer.from(one, 'base64').toString('utf8');
    if (one?.type === 'Buffer' && Array.isArray(one.data)) return Buffer.from(one.data).toString('utf8');
    return typeof one === 'bigint' ? String(one) : one;
  });
}

describe('a run with failures on the way', () => {
  test('goes to its end', async () => {
    // Agent and webhook fail once, so that the programs have something to say.
    const firstIs = (first: number, then: number) => {
      let calls = 0;
      return () => (++calls === 1 ? first : then);
    };
    const [agentStatus, hookStatus] = [firstIs(503, 200), firstIs(500, 200)];
    const done = { outcome: 'completed', assistantMessage: { text: 'done' } };
    agent.replies((_, response) => json(response, agentStatus(), done));
    hook.replies((_, response) => json(response, hookStatus(), {}));
    const approval = await created(pause('awaiting_approval', 'turn-1', { approvalId: 'refund' }));
    const reply = await created(pause('needs_clarification', 'turn-2', {}));
    expect((await cli(['approve', approval.id, '--suspension', approval.suspension.id, '--as', 'bob'])).code).toBe(0);
    const large = `${content.largeReply} ${'x'.repeat(40_000)}`;
    const trigger = { type: 'user_reply', message: { text: large } };
    expect((await send('POST', `/v1/continuations/${reply.id}/answers?until=finished`, { trigger })).status).toBe(200);
    await vi.waitFor(
      async () =>
        expect(JSON.parse((await send('GET', `/v1/continuations/${approval.id}`)).text).status).toBe('completed'),
      { timeout: 60_000, interval: 500 },
    );
    for (const args of [
      ['list', '--status', 'all'],
      ['get', approval.id],
      ['receipts', reply.id],
      ['keys', 'list'],
      ['doctor'],
    ])
      expect((await cli(args)).text).not.toBe('');
    expect(agent.heard.length).toBeGreaterThan(2);
    expect(hook.heard.length).toBeGreaterThan(2);
  }, 120_000);

  test('and with the database away', async () => {
    link.cut();
    const { status, text } = await send('GET', '/v1/continuations');
    expect(status).toBe(503);
    expect(JSON.parse(text).code).toBe('database_unavailable');
    await send('GET', '/readyz');
    for (const [address, word] of [
      [env.DATABASE_URL, 'database_unavailable'],
      [env.DATABASE_URL?.replace('postgres://', 'postgrez://'), 'invalid_configuration'],
      [env.DATABASE_URL?.replace(/:\d+\//, ':99999/'), 'invalid_configuration'],
    ] as const) {
      const told = await cli(['list'], { DATABASE_URL: address });
      expect(told).toMatchObject({ code: 1, text: expect.stringContaining(word) });
    }
    link.restore();
    const wrong = await cli(['list'], {
      DATABASE_URL: env.DATABASE_URL?.replace(secrets.databasePassword, `${secrets.databasePassword}x`),
    });
    expect(wrong).toMatchObject({ code: 1, text: expect.stringContaining('invalid_configuration') });
    await vi.waitFor(async () => expect((await send('GET', '/v1/continuations')).status).toBe(200), 30_000);
  }, 120_000);
});

describe('no secret', () => {
  test('is said by any program, or answered by the server', () => {
    expect(said).toContain('Listening on');
    expect(answered).toContain('database_unavailable');
    expectNone(said, { ...secrets, state: content.state });
    expectNone(answered, secrets);
  });

  test('reaches Temporal: not in histories, memos or search attributes, and no content either (C12)', async () => {
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    const temporal = new Client({ connection });
    const found: unknown[] = [];
    for (const workflowId of [...ids, `continuation-maintenance:${taskQueue}`]) {
      const handle = temporal.workflow.getHandle(workflowId);
      found.push(await handle.fetchHistory(), (await handle.describe()).raw);
    }
    await connection.close();
    const text = readable(found);
    expect(text).toContain(question);
    expect(text).toContain('ContinuationStatus');
    expectNone(text, { ...secrets, ...content });
  });

  test('is kept in the database, but for digests of keys', async () => {
    const tables = await database.query("select tablename from pg_tables where schemaname = 'continuations'");
    let text = '';
    for (const { tablename } of tables) {
      const rows = await database.query(`select * from continuations.${tablename}`);
      text += readable(rows);
    }
    expect(text).toContain(content.state);
    expectNone(text, secrets);
  });
});
