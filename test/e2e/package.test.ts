/** What users install: the packed tarball in an empty project compiles and runs the README's snippets. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startTemporalServer } from '../../src/dev/temporal-server.ts';
import { createEmptyDatabase } from '../support/database.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const packageJson: Record<'dependencies' | 'devDependencies', Record<string, string>> = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const project = mkdtempSync(join(tmpdir(), 'continuations-user-'));
let env: NodeJS.ProcessEnv;
let worker: ChildProcess | undefined;
const closing: Array<() => Promise<unknown>> = [];

beforeAll(async () => {
  // The snippets use the default task queue and namespace, so they get a server of their own.
  const temporal = await startTemporalServer({ cliPath: inject('temporalCli') });
  closing.push(() => temporal.stop());
  const database = await createEmptyDatabase();
  closing.push(() => database.drop());
  env = { ...process.env, TEMPORAL_ADDRESS: temporal.address, DATABASE_URL: database.url };
  await install();
}, 300_000);
afterAll(async () => {
  await stopWorker();
  for (const close of closing) await close();
  rmSync(project, { recursive: true, force: true });
}, 60_000);

async function stopWorker(): Promise<void> {
  worker?.kill('SIGTERM');
  if (worker && worker.exitCode === null) await once(worker, 'exit');
}

/** An empty project with the tarball, its peers, and the snippets compiled against the package's own types. */
async function install(): Promise<void> {
  await run('npm', ['pack', '--pack-destination', project], { cwd: root });
  const [tarball = ''] = readdirSync(project).filter((file) => file.endsWith('.tgz'));
  const { devDependencies } = packageJson;
  const peers = Object.entries(devDependencies).filter(
    ([name]) => name.startsWith('@temporalio/') && !name.endsWith('/testing'),
  );
  const dependencies = Object.fromEntries([
    ...peers,
    ['temporal-continuations', `file:${tarball}`],
    ['typescript', devDependencies.typescript],
    ['@types/node', devDependencies['@types/node']],
  ]);
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true, dependencies }));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: project });
  cpSync(join(root, 'examples/readme'), join(project, 'src'), { recursive: true });
  const compilerOptions = {
    strict: true,
    module: 'nodenext',
    target: 'es2023',
    types: ['node'],
    rewriteRelativeImportExtensions: true,
    rootDir: 'src',
    outDir: 'out',
    skipLibCheck: true,
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
  await run('npx', ['tsc'], { cwd: project });
}

const script = async (name: string, ...args: string[]) =>
  (await run('node', [`out/${name}.js`, ...args], { cwd: project, env })).stdout.trim();

test('the tarball runs the four snippets: harness and worker, create, answer', async () => {
  worker = spawn('node', ['out/worker.js'], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: worker.stdout as NodeJS.ReadableStream });
  const delivered = new Promise<string>((resolve) =>
    lines.on('line', (line) => line.startsWith('To the user') && resolve(line)),
  );
  const id = await waitUntilMigrated(() => script('create'));
  expect(id).toMatch(/^cont_/);
  expect(await script('answer', id)).toBe('completed, follow-up delivered');
  expect(await delivered).toBe('To the user: Refund of order 1042: approved.');
  expect(await script('answer', id), 'a repeat by the same person').toMatch(/^already_terminal|^completed/);
}, 120_000);

test('the fifth takes an answer and goes on by itself, once', async () => {
  const id = await script('create');
  expect(await script('take', id)).toBe('go on with {"approvalId":"refund-1042","order":"1042"}');
  expect(await script('take', id)).toBe('repeated');
}, 60_000);

test("the README's signal, sent by the temporal command, answers", async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [line = ''] = readme.match(/^temporal workflow signal .*$/m) ?? [];
  const id = await script('create');
  const shell = line.replace(/^temporal /, '"$CLI" ');
  await run('sh', ['-c', `${shell} --address "$TEMPORAL_ADDRESS"`], {
    env: { ...env, ID: id, CLI: inject('temporalCli') },
  });
  const answered = await script('answer', id);
  expect(answered).toMatch(/^already_(resumed|terminal): temporal approved at /);
}, 60_000);

test('without the AI SDK only its own entry is missing', async () => {
  const load = (entry: string) =>
    run('node', ['--input-type=module', '-e', `await import('temporal-continuations${entry}')`], { cwd: project });
  for (const entry of ['', '/engine', '/http', '/testing', '/workflows']) await load(entry);
  await expect(load('/ai-sdk')).rejects.toThrow(/Cannot find package 'ai'/);
}, 60_000);

/** Stands where the SDK looks for models by their names. */
const MODEL = `
import { MockLanguageModelV3, MockProviderV3 } from 'ai/test';
const usage = { inputTokens: {}, outputTokens: {} };
const model = new MockLanguageModelV3({
  async doGenerate({ prompt }) {
    const [told] = prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
    if (told) return { content: [{ type: 'text', text: 'Done: ' + JSON.stringify(told.output.value) }], finishReason: { unified: 'stop' }, usage, warnings: [] };
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'refund', input: '{"order":"1042","amount":49.9}' };
    return { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
  },
});
globalThis.AI_SDK_DEFAULT_PROVIDER = new MockProviderV3({ languageModels: { 'openai/gpt-5-mini': model } });
`;

test('with it, the agents of docs/ai-sdk.md compile against the types of the tarball and run', async () => {
  await stopWorker();
  const keys: unknown[] = [];
  const bank = createServer((request, response) => {
    keys.push(request.headers['idempotency-key']);
    response.end('{"refunded":49.9}');
  }).listen(0);
  closing.push(async () => bank.close());
  const { ai, zod } = { ...packageJson.devDependencies, ...packageJson.dependencies };
  const npm = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', `ai@${ai}`, `zod@${zod}`];
  await run('npm', npm, { cwd: project });
  cpSync(join(root, 'examples/ai-sdk'), join(project, 'src/ai-sdk'), { recursive: true });
  await run('npx', ['tsc'], { cwd: project });
  writeFileSync(join(project, 'model.mjs'), MODEL);
  const withBank = { ...env, BANK_URL: `http://127.0.0.1:${(bank.address() as AddressInfo).port}` };
  const node = (...args: string[]) => ['--import', './model.mjs', ...args];
  worker = spawn('node', node('out/ai-sdk/worker.js'), { cwd: project, env: withBank, stdio: 'inherit' });

  const chat = await run('node', node('out/ai-sdk/chat.js', 'Refund order 1042.'), { cwd: project, env: withBank });
  const [question, command = ''] = chat.stdout.trim().split('\n');
  expect(question).toBe('May I refund {"order":"1042","amount":49.9}?');
  const approved = await run('sh', ['-c', command], { cwd: project, env: withBank });
  expect(approved.stdout).toContain('Done: {"refunded":49.9}');
  expect(keys).toEqual([expect.stringMatching(/^run_.*:tool:c1$/)]);

  const whole = `const { agent } = await import('./out/ai-sdk/whole.js');
    console.log((await agent.runFirstTurn({ turnId: 't', prompt: 'x' })).outcome);`;
  const paused = await run('node', node('--input-type=module', '-e', whole), { cwd: project, env: withBank });
  expect(paused.stdout.trim()).toBe('awaiting_approval');
}, 180_000);

/** The worker migrates when it starts; until then `create` says what to do. */
async function waitUntilMigrated(create: () => Promise<string>): Promise<string> {
  for (;;) {
    try {
      return await create();
    } catch (error) {
      if (!String(error).includes('migrate')) throw error;
    }
  }
}
