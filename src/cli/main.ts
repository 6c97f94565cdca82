#!/usr/bin/env node
/** The `continuations` command. The only place of the command line that knows the process, and that ends it. */
import { userInfo } from 'node:os';
import { text } from 'node:stream/consumers';
import type { CliIo } from './io.ts';
import { runCli } from './run.ts';

const io: CliIo = {
  env: process.env,
  cwd: process.cwd(),
  userName: userName(),
  isTerminal: process.stdout.isTTY === true,
  width: process.stdout.columns ?? 100,
  now: () => new Date(),
  out: (line) => console.log(line),
  error: (line) => console.error(line),
  ended: () =>
    new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    }),
  input: () => text(process.stdin),
};

/** Containers may run as a user that no list names. */
function userName(): string {
  try {
    return userInfo().username || 'unknown';
  } catch {
    return 'unknown';
  }
}

// A reader that has seen enough, such as `head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exit(await runCli(process.argv.slice(2), io));
