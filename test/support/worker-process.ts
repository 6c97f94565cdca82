/**
 * A worker in a process of its own, for tests that kill it. Its harness and delivery do what the parent says: each call is
 * written to the ledger first (a file, so that it survives us), told to the parent, and waits for what the parent answers.
 */
import { appendFileSync } from 'node:fs';
import { Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import {
  type CreateContinuationInput,
  createClient,
  createStore,
  createWorker,
  type Delivery,
  type DeliveryResult,
  type Harness,
  type HarnessResultInput,
  type Store,
  TransientError,
} from '../../src/index.ts';

/** Everything durable that a resume writes. */
type Write =
  | 'create'
  | 'write'
  | 'beginTurn'
  | 'endTurn'
  | 'closeTurn'
  | 'reconcileTurn'
  | 'beginDelivery'
  | 'endDelivery';

export interface WorkerProcessSettings {
  readonly address: string;
  readonly databaseUrl: string;
  readonly taskQueue: string;
  readonly bundlePath: string;
  readonly ledger: string;
  readonly replayable?: boolean;
  readonly idempotent?: boolean;
  /** Go on when told to stop, as code that never looks at its signal. */
  readonly ignoresAbort?: boolean;
  /** Kill this process as soon as the store has committed this call for the first time. */
  readonly dieAfter?: Write;
  /** … or right before it. */
  readonly dieBefore?: Write;
  /** Create this instead of working. */
  readonly create?: CreateContinuationInput;
}
/** What the process tells its parent. */
export type Report =
  | { readonly say: 'ready' }
  | { readonly say: 'created' }
  | { readonly say: 'turn' | 'delivery'; readonly call: number; readonly turnId: string; readonly attempt: number }
  | { readonly say: 'aborted'; readonly call: number };
/** How the parent lets a call end. */
export type Ending =
  | { readonly call: number; readonly turn: HarnessResultInput }
  | { readonly call: number; readonly delivery: DeliveryResult }
  | { readonly call: number; readonly transient: string };

const settings: WorkerProcessSettings = JSON.parse(process.argv[2] ?? '{}');
process.on('disconnect', () => process.exit());
const report = (said: Report) => process.send?.(said);
const note = (line: string) => appendFileSync(settings.ledger, `${line}\n`);

let calls = 0;
const waiting = new Map<number, (ending: Ending) => void>();
process.on('message', (ending: Ending) => waiting.get(ending.call)?.(ending));

function call(say: 'turn' | 'delivery', turnId: string, attempt: number, signal: AbortSignal): Promise<Ending> {
  calls += 1;
  const own = calls;
  note(`${say} ${turnId} ${attempt}`);
  return new Promise<Ending>((resolve, reject) => {
    waiting.set(own, resolve);
    const aborted = () => {
      report({ say: 'aborted', call: own });
      if (!settings.ignoresAbort) reject(signal.reason);
    };
    signal.addEventListener('abort', aborted, { once: true });
    report({ say, call: own, turnId, attempt });
  }).then((ending) => {
    if ('transient' in ending) throw new TransientError(ending.transient);
    return ending;
  });
}

const harness: Harness = {
  replayable: settings.replayable === true,
  async runResumedTurn({ resumedTurnId, attempt, signal }) {
    const ending = await call('turn', resumedTurnId, attempt, signal);
    if ('turn' in ending) return ending.turn;
    throw new Error('the parent answered something else');
  },
};
const delivery: Delivery = {
  idempotent: settings.idempotent === true,
  async deliver({ deliveryId, signal }) {
    const ending = await call('delivery', deliveryId, 0, signal);
    if ('delivery' in ending) return ending.delivery;
    throw new Error('the parent answered something else');
  },
};

/** The store, or one whose process dies right before a write, or between its commit and everything that would follow it. */
function mortal(store: Store): Store {
  const { dieBefore, dieAfter } = settings;
  const write = dieBefore ?? dieAfter;
  if (!write) return store;
  const committing = store[write] as (...args: unknown[]) => Promise<unknown>;
  return {
    ...store,
    [write]: async (...args: unknown[]) => {
      if (!dieBefore) await committing(...args);
      note(`died ${dieBefore ? 'before' : 'after'} ${write}`);
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    },
  };
}

async function work(store: Store): Promise<void> {
  const filter = { core: 'ERROR', other: 'ERROR' } as const;
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter } } });
  const connection = await NativeConnection.connect({ address: settings.address });
  const worker = await createWorker({
    connection,
    store,
    harness,
    delivery,
    taskQueue: settings.taskQueue,
    workflowBundle: { codePath: settings.bundlePath },
    maintenance: false,
    // One at a time: a frozen worker whose harness runs must not be handed what its successor should do.
    worker: { shutdownGraceTime: 100, maxConcurrentActivityTaskExecutions: 1, maxConcurrentWorkflowTaskPolls: 2 },
  });
  const run = worker.run();
  report({ say: 'ready' });
  await run;
  await connection.close();
}

async function create(store: Store, input: CreateContinuationInput): Promise<void> {
  const connection = await Connection.connect({ address: settings.address });
  const client = createClient({ connection, store, taskQueue: settings.taskQueue });
  report({ say: 'ready' });
  await client.create(input);
  report({ say: 'created' });
}

const store = mortal(createStore({ url: settings.databaseUrl }));
await (settings.create ? create(store, settings.create) : work(store));
await store.close();
process.exit();
