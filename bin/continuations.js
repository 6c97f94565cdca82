#!/usr/bin/env node
// In a clone the TypeScript runs as it is, so that the command is never older than the code; in the package, what was built.
import { existsSync } from 'node:fs';

const source = new URL('../src/cli/main.ts', import.meta.url);
if (existsSync(source)) {
  const { register } = await import('tsx/esm/api').catch(() => {
    console.error('The dependencies are not installed: run `npm ci` first.');
    process.exit(1);
  });
  register();
  await import(source.href);
} else {
  await import(new URL('../dist/src/cli/main.js', import.meta.url).href);
}
