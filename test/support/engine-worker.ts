/** A worker process with the engine's agent that kills itself at one write to the journal. */
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { createStore, createWorker, type Store } from '../../src/index.ts';
import { AI_SDK_AGENTS } from './ai-sdk-agent.ts';
import { delegatingAgent, engineAgent } from './engine-agent.ts';

const AGENTS = { ...AI_SDK_AGENTS, delegating: delegatingAgent };

export interface EngineWorkerSettings {
  readonly address: string;
  readonly databaseUrl: string;
  readonly taskQueue: string;
  readonly bundlePath: string;
  readonly ledger: string;
  /** Default: the engine's own. */
  readonly agent?: keyof typeof AGENTS;
  /** The write to die at, from 1, and whether it is committed then. */
  readonly dieAt: number;
  readonly committed: boolean;
}
const settings: EngineWorkerSettings = JSON.parse(process.argv[2] ?? '{}');
const newAgent = settings.agent ? AGENTS[settings.agent] : engineAgent;
process.on('disconnect', () => process.exit());

let writes = 0;
function mortal(store: Store): Store {
  return {
    ...store,
    async writeJournal(entry) {
      writes += 1;
      const dies = writes === settings.dieAt;
      const written = dies && !settings.committed ? false : await store.writeJournal(entry);
      if (!dies) return written;
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    },
  };
}

const filter = { core: 'ERROR', other: 'ERROR' } as const;
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter } } });
const connection = await NativeConnection.connect({ address: settings.address });
const worker = await createWorker({
  connection,
  store: mortal(createStore({ url: settings.databaseUrl })),
  harness: newAgent(settings.ledger),
  taskQueue: settings.taskQueue,
  workflowBundle: { codePath: settings.bundlePath },
  maintenance: false,
  worker: { maxConcurrentActivityTaskExecutions: 1, maxConcurrentWorkflowTaskPolls: 2 },
});
const run = worker.run();
process.send?.('ready');
await run;
