/** Starts and stops the process of a worker, and hears when its harness starts. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a worker tells: it polls, its harness (the first activity) started for a workflow, or the memory it was asked for. */
export type WorkerMessage =
  | { readonly ready: true }
  | { readonly started: string; readonly at: number }
  | { readonly residentBytes: number };
export type WorkerRequest = 'stop' | 'memory';

export interface WorkerProcess {
  /** When the harness started for a workflow, on `process.hrtime`'s clock in milliseconds; asked once for each. */
  startOf(id: string): Promise<number>;
  /** Memory of the whole process: workflows live in threads with heaps of their own. */
  residentBytes(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * The TypeScript loader turns source maps on, and then each promise of a workflow costs more than where compiled code runs:
 * the SDK compiles a line of code for each.
 */
const NO_SOURCE_MAPS = [
  '--import',
  'data:text/javascript,process.setSourceMapsEnabled(false);process.setSourceMapsEnabled=()=>{}',
];
const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 10_000;

/** Starts the worker of a side; resolves when it polls. `execArgv`: more arguments of node. */
export async function startWorkerProcess(args: readonly string[], execArgv: string[] = []): Promise<WorkerProcess> {
  const child = fork(fileURLToPath(new URL('./worker.ts', import.meta.url)), args, {
    execArgv: [...NO_SOURCE_MAPS, ...process.execArgv, ...execArgv],
    stdio: ['ignore', process.stderr, process.stderr, 'ipc'],
  });
  const kill = (): boolean => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  const starts = new Map<string, number>();
  const waiting = new Map<string, (at: number) => void>();
  let weighed: (bytes: number) => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    child.on('message', (message: WorkerMessage) => {
      if ('ready' in message) return resolve();
      if ('residentBytes' in message) return weighed(message.residentBytes);
      const tell = waiting.get(message.started);
      if (tell) tell(message.at);
      else starts.set(message.started, message.at);
      waiting.delete(message.started);
    });
  });
  const died = ended.then(([code]) => {
    throw new Error(`the worker ${args[0]} ended by itself (${code})`);
  });
  died.catch(() => undefined);
  await Promise.race([ready, died, timeout(READY_WITHIN_MS, `the worker ${args[0]} did not start`)]);
  return {
    startOf(id) {
      const at = starts.get(id);
      starts.delete(id);
      return at === undefined ? new Promise((resolve) => waiting.set(id, resolve)) : Promise.resolve(at);
    },
    residentBytes: () =>
      new Promise((resolve) => {
        weighed = resolve;
        child.send('memory' satisfies WorkerRequest);
      }),
    async stop() {
      if (child.connected) child.send('stop' satisfies WorkerRequest);
      const timer = setTimeout(kill, STOP_WITHIN_MS);
      await ended;
      clearTimeout(timer);
      process.off('exit', kill);
    },
  };
}

function timeout(ms: number, message: string): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`${message} within ${ms} ms`)), ms).unref();
  });
}
