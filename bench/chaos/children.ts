/** Starts the programs of this folder as processes of their own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ClientSettings, ClientsMessage } from './clients.ts';
import type { WorkerSettings } from './worker.ts';

export interface ChildWorker {
  readonly pid: number;
  /** `kill -9`; resolves when it is gone. */
  kill(): Promise<void>;
}

const READY_WITHIN_MS = 60_000;

function start(program: string, settings: object): ChildProcess {
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), [JSON.stringify(settings)], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', program === './worker.ts' ? 'ignore' : process.stderr, 'ipc'],
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  return child;
}

/** Resolves when it polls. */
export async function startWorker(settings: WorkerSettings): Promise<ChildWorker> {
  const child = start('./worker.ts', settings);
  const ended = once(child, 'exit');
  const early = ended.then(([code]) => {
    throw new Error(`a worker ended by itself (${code})`);
  });
  early.catch(() => undefined);
  await Promise.race([once(child, 'message', { signal: AbortSignal.timeout(READY_WITHIN_MS) }), early]);
  return {
    pid: child.pid ?? -1,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Resolves with what became of its plans. */
export async function runClients(settings: ClientSettings): Promise<ClientsMessage['played']> {
  const child = start('./clients.ts', settings);
  const early = once(child, 'exit').then(([code]) => {
    throw new Error(`the clients ended before they were done (${code})`);
  });
  const [message] = (await Promise.race([once(child, 'message'), early])) as [ClientsMessage];
  early.catch(() => undefined);
  return message.played;
}
