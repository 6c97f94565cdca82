/** What runs in the sandbox: the workflow bundle, from the sources and from the built package. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleWorkflows } from '../src/worker.ts';
import { bundleMutated } from './support/mutated-bundle.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../', import.meta.url));
/** Bytes without the source map, which the worker does not keep. */
const MAX_BYTES = 1_000_000;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'continuations-built-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const withoutSourceMap = (code: string) => code.replace(/^\/\/# sourceMappingURL=.*$/m, '');

/** The modules of a bundle, as webpack names them in its comments. */
function modulesOf(code: string): string[] {
  const names = [...code.matchAll(/^\/\*\*\*\/ "([^"]+)"$/gm)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(20);
  return names;
}

function expectClean(code: string): void {
  const modules = modulesOf(code);
  const has = (part: string) => modules.filter((name) => name.includes(part));
  expect(has('/zod/')).toEqual([]);
  expect(has('schema.')).toEqual([]);
  for (const name of [
    '/pg/',
    '/kysely/',
    '/pino/',
    '/ulid/',
    '@temporalio/client',
    '@temporalio/worker',
    '@temporalio/activity',
  ])
    expect(has(name)).toEqual([]);
  expect(modules.filter((name) => name.startsWith('node:') || name.startsWith('external '))).toEqual([]);
  const own = withoutSourceMap(code);
  expect(own).not.toMatch(/ZodType|ZodObject/);
  expect(own).not.toMatch(/require\(["'](node:|fs|crypto|net|path|os)/);
  expect(has('payload-converter')).not.toEqual([]);
  expect(own).toContain('undecodable');
  expect(own.length).toBeLessThan(MAX_BYTES);
}

describe('the workflow bundle', () => {
  test('from the sources holds the workflows and our payload converter, and neither zod nor anything of Node', async () => {
    const { code } = await bundleWorkflows();
    expectClean(code);
    console.log(
      `bundle from src: ${Math.round(withoutSourceMap(code).length / 1024)} KiB, ${modulesOf(code).length} modules`,
    );
  }, 120_000);

  test('from the built package is the same', async () => {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    symlinkSync(join(root, 'package.json'), join(folder, 'package.json'));
    const dist = join(folder, 'dist');
    const tsc = join(root, 'node_modules/.bin/tsc');
    await run(tsc, ['-p', join(root, 'tsconfig.build.json'), '--outDir', dist]);
    const built: { bundleWorkflows: typeof bundleWorkflows } = await import(
      pathToFileURL(join(dist, 'src/worker.js')).href
    );
    const { code } = await built.bundleWorkflows();
    expectClean(code);
    const names = (text: string) =>
      modulesOf(text)
        .filter((name) => /\/(src|workflows|activities)\//.test(name) && !name.includes('node_modules'))
        .map((name) => name.replace(/^.*\/((?:src|workflows|activities)\/.*)\.[jt]s$/, '$1'))
        .sort();
    expect(names(code)).toEqual(names((await bundleWorkflows()).code));
    console.log(`bundle from dist: ${Math.round(withoutSourceMap(code).length / 1024)} KiB`);
  }, 180_000);

  test('is refused with a module of Node in it', async () => {
    const planted = {
      file: 'src/message.ts',
      from: 'import { digestJson }',
      to: "import 'node:fs';\nimport { digestJson }",
    };
    await expect(bundleMutated(planted)).rejects.toThrow(/node:fs|disallowed/);
  }, 120_000);

  test('holds zod as soon as a workflow-safe module imports a schema: the check above would see it', async () => {
    const planted = {
      file: 'src/message.ts',
      from: "import type { ContentRef, Message, Stamp, StatedVerdict, WaitType } from './schema.ts';",
      to: "import { Message as planted } from './schema.ts';\nimport type { ContentRef, Message, Stamp, StatedVerdict, WaitType } from './schema.ts';\nexport const kept = planted;",
    };
    const { code } = await bundleMutated(planted);
    expect(modulesOf(code).filter((name) => name.includes('/zod/'))).not.toEqual([]);
  }, 120_000);
});
