/** `npm start`: a whole development stack with an agent that waits for you. See `--help`. */
import { createCleanup } from './cleanup.ts';
import { HELP, parseStartOptions, type StartOptions } from './start-options.ts';

const AGAIN_MS = 1_000;
const cleanup = createCleanup();
const ended = new AbortController();

function fail(error: unknown): void {
  // Things break while they are being ended: that is no news.
  if (ended.signal.aborted) return;
  ended.abort();
  console.error(error instanceof Error ? error.message : String(error));
  void cleanup.run().then(() => process.exit(1));
}

function endOnSignal(): void {
  let first = 0;
  const end = (): void => {
    if (first === 0) {
      first = Date.now();
      ended.abort();
      console.log('\nEnding the worker and the servers … (Ctrl-C again: at once)');
      void cleanup.run().then(() => process.exit(0));
      // A terminal and npm may both pass one Ctrl-C on.
    } else if (Date.now() - first > AGAIN_MS) process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
}

async function run(options: StartOptions): Promise<void> {
  endOnSignal();
  // The Temporal SDK takes a moment to load, and nobody should wonder meanwhile.
  console.log('Loading …');
  const { start } = await import('./run-start.ts');
  if (!ended.signal.aborted) await start({ options, cleanup, ended: ended.signal, fail });
}

try {
  const options = parseStartOptions(process.argv.slice(2), process.env.CONTINUATIONS_DATA);
  if (options.help) console.log(HELP);
  else run(options).catch(fail);
} catch (error) {
  fail(error);
}
