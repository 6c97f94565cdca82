/** Starts workers as processes of their own and listens to them; see `worker-process.ts` for what runs there. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import type { DeliveryResult, HarnessResultInput } from '../../src/index.ts';
import { workflowBundle } from './stack.ts';
import type { Ending, Report, WorkerProcessSettings } from './worker-process.ts';

export type Options = Omit<WorkerProcessSettings, 'bundlePath' | 'ledger'>;
type Called = Extract<Report, { say: 'turn' | 'delivery' }>;

export interface ChildWorker {
  readonly pid: number;
  /** Resolves with the next call that nobody has asked for yet. */
  next(say: 'turn' | 'delivery'): Promise<Called>;
  /** Resolves when the signal of this call was aborted. */
  aborted(call: Called): Promise<void>;
  /** Lets a call end. */
  returns(call: Called, result: HarnessResultInput): void;
  delivers(call: Called, result?: DeliveryResult): void;
  throwsTransient(call: Called, message?: string): void;
  /** `kill -9`; resolves when it is gone. */
  kill(): Promise<void>;
  /** Any signal. */
  signal(signal: NodeJS.Signals): void;
  /** The signal or the exit code that ended it. */
  readonly ended: Promise<string>;
  /** What it did, as it wrote it down before doing it. */
  ledger(): string[];
}

let bundlePath: Promise<string> | undefined;
let folder: string | undefined;

/** On disk once per test file; a worker process then starts in a second or two. */
function bundle(): Promise<string> {
  bundlePath ??= workflowBundle().then(({ code }) => {
    folder = mkdtempSync(join(tmpdir(), 'continuations-child-'));
    const path = join(folder, 'workflows.js');
    writeFileSync(path, code);
    return path;
  });
  return bundlePath;
}

afterAll(() => folder && rmSync(folder, { recursive: true, force: true }));

let children = 0;

/** Starts a worker process and waits until it polls. */
export async function startChildWorker(options: Options): Promise<ChildWorker> {
  const path = await bundle();
  children += 1;
  const ledger = join(folder ?? tmpdir(), `ledger-${children}`);
  writeFileSync(ledger, '');
  const settings: WorkerProcessSettings = { ...options, bundlePath: path, ledger };
  const program = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
  const child = fork(program, [JSON.stringify(settings)], { execArgv: ['--import', 'tsx'] });
  const heard = listenTo(child);
  const ended = new Promise<string>((resolve) => child.once('exit', (code, signal) => resolve(signal ?? `${code}`)));
  const early = ended.then((how) => {
    throw new Error(`the worker process ended with ${how} before it was ready`);
  });
  early.catch(() => {});
  await Promise.race([heard.next('ready'), early]);
  const end = (ending: Ending) => void child.send(ending);
  return {
    pid: child.pid ?? -1,
    ended,
    next: (say) => heard.next(say) as Promise<Called>,
    aborted: ({ call }) => heard.next('aborted', call).then(() => {}),
    returns: ({ call }, turn) => end({ call, turn }),
    delivers: ({ call }, delivery = { status: 'delivered' }) => end({ call, delivery }),
    throwsTransient: ({ call }, transient = 'the model is busy') => end({ call, transient }),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    signal: (signal) => void child.kill(signal),
    ledger: () => readFileSync(ledger, 'utf8').split('\n').filter(Boolean),
  };
}

function listenTo(child: ChildProcess): { next(say: Report['say'], call?: number): Promise<Report> } {
  const reports: Report[] = [];
  const asked = new Set<() => void>();
  child.on('message', (report: Report) => {
    reports.push(report);
    for (const look of asked) look();
  });
  return {
    next: (say, call) =>
      new Promise((resolve) => {
        const look = () => {
          const at = reports.findIndex(
            (one) => one.say === say && (call === undefined || ('call' in one && one.call === call)),
          );
          if (at < 0) return;
          asked.delete(look);
          resolve(reports.splice(at, 1)[0] as Report);
        };
        asked.add(look);
        look();
      }),
  };
}
