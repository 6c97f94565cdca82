/** A worker in a process of its own, to be killed; it polls from when it has answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import { createStore, createWorker, type Delivery, type Harness, type HarnessResultInput } from '../../src/index.ts';
import { note } from './ledger.ts';
import { answerParent } from './program.ts';
import { between, randomOf } from './random.ts';

export interface WorkerSettings {
  readonly address: string;
  readonly databaseUrl: string;
  readonly ledgerUrl: string;
  readonly taskQueue: string;
  readonly bundlePath: string;
  readonly heartbeatTimeoutMs: number;
  readonly seed: string;
}

const LONGEST_WORK_MS = 40;

Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) } },
});

answerParent(async (settings: WorkerSettings): Promise<string> => {
  const connection = await NativeConnection.connect({ address: settings.address });
  const worker = await createWorker({
    connection,
    store: createStore({ url: settings.databaseUrl }),
    ...adapters(settings),
    taskQueue: settings.taskQueue,
    workflowBundle: { codePath: settings.bundlePath },
    heartbeatTimeoutMs: settings.heartbeatTimeoutMs,
    maintenance: { intervalMs: 2_000, graceMs: 5_000 },
    worker: { identity: `${process.pid}` },
  });
  // Not awaited: it ends with this process, and a worker that fails has to end it.
  void worker.run();
  return 'polls';
});

/** Their effects are entries of the ledger, which take a while. */
function adapters({ ledgerUrl, seed }: WorkerSettings): { harness: Harness; delivery: Delivery } {
  const random = randomOf(seed);
  const work = () => sleep(between(random, 0, LONGEST_WORK_MS));
  const worker = `${process.pid}`;
  return {
    harness: {
      // Asks once more where its state says so; has one effect in every turn.
      async runResumedTurn({ continuation, trigger, resumedTurnId: turnId }): Promise<HarnessResultInput> {
        const { asksAgain } = continuation.continuation.state as { asksAgain: boolean };
        await work();
        const text = trigger.type === 'user_reply' ? trigger.message.text : trigger.type;
        await note(ledgerUrl, { kind: 'effect', turnId, worker, text });
        await work();
        if (!asksAgain) return { outcome: 'completed', assistantMessage: { text } };
        const state = { question: 'And then?', asksAgain: false };
        return { outcome: 'needs_clarification', continuation: { state } };
      },
    },
    delivery: {
      async deliver({ deliveryId: turnId, harnessResult }) {
        const text = harnessResult.assistantMessage?.text ?? '';
        await note(ledgerUrl, { kind: 'delivering', turnId, worker, text });
        await work();
        await note(ledgerUrl, { kind: 'delivery', turnId, worker, text });
        return { status: 'delivered' };
      },
    },
  };
}
