/** Bundles the workflows from a copy of the sources in which something was changed, to see that a test notices. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

const root = fileURLToPath(new URL('../../', import.meta.url));
const silent = () => {};

export interface Mutation {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Throws what the bundler said, and when the text to change is not there exactly once. */
export async function bundleMutated(...mutations: Mutation[]): Promise<{ code: string }> {
  const errors: string[] = [];
  const error = (text: string) => void errors.push(text);
  const logger = { log: silent, trace: silent, debug: silent, info: silent, warn: silent, error };
  const folder = mkdtempSync(join(tmpdir(), 'continuations-mutated-'));
  try {
    for (const name of ['src', 'workflows', 'activities'])
      cpSync(join(root, name), join(folder, name), { recursive: true });
    for (const name of ['package.json', 'node_modules']) symlinkSync(join(root, name), join(folder, name));
    for (const { file, from, to } of mutations) {
      const path = join(folder, file);
      const [before, after, ...more] = readFileSync(path, 'utf8').split(from);
      if (after === undefined || more.length > 0) error(`${file} does not hold exactly once: ${from}`);
      writeFileSync(path, `${before}${to}${after}`);
    }
    if (errors.length > 0) throw new Error('nothing to bundle');
    return await bundleWorkflowCode({
      workflowsPath: join(folder, 'workflows'),
      payloadConverterPath: join(folder, 'src/payload-converter.ts'),
      logger,
    });
  } catch (cause) {
    throw new Error(`the workflows cannot be bundled: ${errors.join('\n')}`, { cause });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
