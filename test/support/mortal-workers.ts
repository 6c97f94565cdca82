/** Worker processes that kill themselves at one write to the journal (`engine-worker.ts`), and the ledgers that outlive them. */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EngineWorkerSettings } from './engine-worker.ts';
import { type Stack, workflowBundle } from './stack.ts';

export interface MortalWorkers {
  /** An empty ledger for the agents on `taskQueue`. */
  newLedger(taskQueue: string): string;
  /** Resolves when it polls; `ended` with the signal or the code that it ended with. */
  start(settings: Omit<EngineWorkerSettings, 'address' | 'databaseUrl' | 'bundlePath'>): Promise<{
    readonly ended: Promise<string>;
  }>;
  /** Deletes ledgers and bundle. */
  close(): void;
}

const program = fileURLToPath(new URL('./engine-worker.ts', import.meta.url));

export async function createMortalWorkers({ address, databaseUrl }: Stack): Promise<MortalWorkers> {
  const folder = mkdtempSync(join(tmpdir(), 'mortal-workers-'));
  const bundlePath = join(folder, 'workflows.js');
  writeFileSync(bundlePath, (await workflowBundle()).code);
  return {
    newLedger(taskQueue) {
      const ledger = join(folder, taskQueue);
      writeFileSync(ledger, '');
      return ledger;
    },
    async start(settings) {
      const all: EngineWorkerSettings = { address, databaseUrl, bundlePath, ...settings };
      const child = fork(program, [JSON.stringify(all)], { execArgv: ['--import', 'tsx'] });
      const ended = new Promise<string>((resolve) =>
        child.once('exit', (code, signal) => resolve(signal ?? `${code}`)),
      );
      await new Promise((resolve) => child.once('message', resolve));
      return { ended };
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
