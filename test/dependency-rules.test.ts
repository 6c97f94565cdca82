/** Plants a violation of every dependency rule in a copy of the configuration, and sees the check fail with its name. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'dependency-rules-'));

interface Planted {
  file: string;
  code: string;
  /** The lint rule that has to fail. */
  rule: string;
  /** The name of our rule, which the message has to give. */
  says?: string;
}

const restricted = (says: string, ...places: [file: string, imported: string][]): Planted[] =>
  places.map(([file, imported]) => ({
    file,
    code: `export { it } from '${imported}';`,
    rule: 'lint/style/noRestrictedImports',
    says,
  }));

const violations: Planted[] = [
  ...restricted(
    'D1',
    ['src/continuation.ts', 'zod'],
    ['src/continuation.ts', 'node:crypto'],
    ['src/continuation.ts', '@temporalio/workflow'],
    ['src/continuation.ts', '../workflows/messages.ts'],
  ),
  ...restricted(
    'D2',
    ['workflows/continuation.ts', 'zod'],
    ['workflows/continuation.ts', 'node:fs'],
    ['workflows/continuation.ts', 'pg'],
    ['workflows/continuation.ts', '@temporalio/client'],
    ['workflows/continuation.ts', '@temporalio/activity'],
    ['workflows/continuation.ts', '../activities/index.ts'],
    ['workflows/continuation.ts', '../src/client.ts'],
    ['workflows/continuation.ts', '../src/store/store.ts'],
  ),
  ...restricted(
    'D3',
    ['src/ports.ts', 'pg'],
    ['src/ports.ts', '@temporalio/client'],
    ['src/ports.ts', './store/store.ts'],
    ['src/client.ts', './store/store.ts'],
    ['src/worker.ts', './harness/http.ts'],
    ['activities/deliver.ts', '../src/delivery/webhook.ts'],
    ['src/app.ts', './dev/postgres.ts'],
  ),
  ...restricted(
    'D4',
    ['src/client.ts', 'kysely'],
    ['src/client.ts', 'pg'],
    ['src/client.ts', 'hono'],
    ['src/client.ts', '@hono/node-server'],
    ['src/client.ts', 'citty'],
    ['src/app.ts', 'pg'],
    ['activities/deliver.ts', 'kysely'],
    ['src/store/store.ts', 'hono'],
    ['src/http/app.ts', 'kysely'],
    ['src/http/app.ts', 'citty'],
    ['src/cli/commands.ts', 'pg'],
    ['src/cli/commands.ts', 'hono/client'],
    ['src/dev/start.ts', 'kysely'],
    ['src/client.ts', 'ai'],
    ['src/engine/engine.ts', 'ai'],
    ['src/testing.ts', 'ai/test'],
    ['src/http/app.ts', '@ai-sdk/openai'],
    ['src/ai-sdk/agent.ts', 'pg'],
  ),
  ...restricted(
    'D5',
    ['src/http/app.ts', '../store/store.ts'],
    ['src/cli/commands.ts', '../store/open.ts'],
    ['src/http/inbox.ts', '../../workflows/messages.ts'],
    ['src/cli/commands.ts', '../../activities/index.ts'],
  ),
  ...restricted(
    'D7',
    ['src/client.ts', './engine/index.ts'],
    ['src/suspend.ts', './engine/transcript.ts'],
    ['activities/run-turn.ts', '../src/engine/index.ts'],
    ['src/store/store.ts', '../engine/index.ts'],
    ['src/engine/transcript.ts', '../store/store.ts'],
    ['src/engine/transcript.ts', '../../workflows/messages.ts'],
    ['src/engine/transcript.ts', '../ai-sdk/index.ts'],
    ['src/worker.ts', './ai-sdk/index.ts'],
    ['src/ai-sdk/agent.ts', '../client.ts'],
  ),
  ...['src/client.ts', 'src/cli/commands.ts', 'src/app.ts', 'activities/deliver.ts', 'workflows/continuation.ts'].map(
    (file) => ({ file, code: 'export const it = process.env.HOME;', rule: 'lint/style/noProcessEnv' }),
  ),
  {
    file: 'src/client.ts',
    code: 'async function it(): Promise<void> {} export function forget(): void { it(); }',
    rule: 'lint/nursery/noFloatingPromises',
  },
  { file: 'src/client.ts', code: 'export const it: any = 1;', rule: 'lint/suspicious/noExplicitAny' },
  {
    file: 'src/client.ts',
    code: 'export const it = (x?: string): string => x!;',
    rule: 'lint/style/noNonNullAssertion',
  },
  { file: 'src/client.ts', code: 'export default 1;', rule: 'lint/style/noDefaultExport' },
];

const allowed: [file: string, code: string][] = [
  ['src/continuation.ts', "import type { It } from './schema.ts'; export type Other = It;"],
  ['workflows/continuation.ts', "export { it } from '@temporalio/workflow';"],
  ['workflows/continuation.ts', "export { it } from '@temporalio/common';"],
  ['workflows/continuation.ts', "export { it } from '../src/continuation.ts';"],
  ['workflows/continuation.ts', "import type { It } from '../activities/contract.ts'; export type Other = It;"],
  ['src/store/open.ts', "export { it } from 'kysely'; export { other } from 'pg';"],
  ['src/dev/postgres.ts', "export { it } from 'pg'; export const other = process.env.HOME;"],
  ['src/http/app.ts', "export { it } from 'hono'; export { other } from '@hono/node-server';"],
  ['src/http/app.ts', "export { it } from '../client.ts';"],
  ['src/cli/commands.ts', "export { it } from 'citty';"],
  ['src/cli/main.ts', "export { it } from '../app.ts'; export const other = process.env.HOME;"],
  ['src/app.ts', "export { it } from './store/open.ts'; export { other } from './harness/http.ts';"],
  ['src/ai-sdk/agent.ts', "export { it } from 'ai'; export { other } from '../engine/index.ts';"],
  ['src/config.ts', 'export const it = process.env.HOME;'],
  ['bench/bench.ts', 'export const it = process.env.HOME;'],
];

interface Diagnostic {
  category: string;
  message: string;
}

function run(command: string, args: string[]): Promise<{ code: number; stdout: string }> {
  return new Promise((resolve) => {
    execFile(join(root, 'node_modules/.bin', command), args, { cwd: folder }, (error, stdout) => {
      resolve({ code: error ? Number(error.code) : 0, stdout });
    });
  });
}

/** Puts the files in an otherwise empty project with our configuration, and lints it as `npm run lint` does. */
async function lint(files: Record<string, string>): Promise<{ code: number; found: Diagnostic[] }> {
  for (const [file, code] of Object.entries(files)) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), code);
  }
  try {
    const { code, stdout } = await run('biome', ['lint', '--reporter=json', '.']);
    return { code, found: (JSON.parse(stdout) as { diagnostics: Diagnostic[] }).diagnostics };
  } finally {
    for (const file of Object.keys(files)) rmSync(join(folder, file));
  }
}

beforeAll(() => {
  const { vcs: _, ...config } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8')) as Record<string, unknown>;
  writeFileSync(join(folder, 'biome.json'), JSON.stringify(config));
  for (const file of ['tsconfig.json', 'workflows/tsconfig.json']) cpSync(join(root, file), join(folder, file));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the linter refuses', () => {
  test.each(violations)('$file: $code ($rule)', async ({ file, code, rule, says = '' }) => {
    const { code: exit, found } = await lint({ [file]: code });
    expect(exit).toBe(1);
    expect(found.map(({ category }) => category)).toContain(rule);
    expect(found.find(({ category }) => category === rule)?.message).toContain(says);
  });

  test('D6: an import cycle', async () => {
    const { code, found } = await lint({
      'src/one.ts': "export { two as one } from './two.ts';\n",
      'src/two.ts': "export { one as two } from './one.ts';\n",
    });
    expect(code).toBe(1);
    expect(found.map(({ category }) => category)).toEqual(Array(2).fill('lint/suspicious/noImportCycles'));
  });
});

describe('the linter lets pass', () => {
  test.each(allowed)('%s: %s', async (file, code) => {
    expect(await lint({ [file]: code })).toEqual({ code: 0, found: [] });
  });
});

describe('the compiler refuses in workflows/ (D2)', () => {
  test.each([
    ['a node global', 'export const it = process.version;\n', "Cannot find name 'process'"],
    ['a node module', "export { readFileSync } from 'node:fs';\n", "Cannot find name 'node:fs'"],
    ['a timer of the host', 'export const it = setImmediate;\n', "Cannot find name 'setImmediate'"],
  ])('%s', async (_, code, message) => {
    writeFileSync(join(folder, 'workflows/continuation.ts'), code);
    const { code: exit, stdout } = await run('tsc', ['-p', 'workflows']);
    expect(exit).not.toBe(0);
    expect(stdout).toContain(message);
  });
});
