/** A worker in a process of its own, to be killed: `worker.ts <settings as JSON>`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import { createStore, createWorker, type Delivery, type Harness, type HarnessResultInput } from '../../src/index.ts';
import { note } from './ledger.ts';
import { between, randomOf } from './random.ts';

export interface WorkerSettings {
  readonly address: string;
  readonly databaseUrl: string;
  readonly ledgerUrl: string;
  readonly taskQueue: string;
  readonly bundlePath: string;
  readonly seed: string;
}

const settings: WorkerSettings = JSON.parse(process.argv[2] ?? '{}');
const random = randomOf(settings.seed);
const LONGEST_WORK_MS = 40;
const work = () => sleep(between(random, 0, LONGEST_WORK_MS));

/** Asks once more where its state says so; has one effect in every turn. */
const harness: Harness = {
  async runResumedTurn({ continuation, trigger, resumedTurnId }): Promise<HarnessResultInput> {
    const { asksAgain } = continuation.continuation.state as { asksAgain: boolean };
    await work();
    const text = trigger.type === 'user_reply' ? trigger.message.text : trigger.type;
    await note(settings.ledgerUrl, { kind: 'effect', turnId: resumedTurnId, text });
    await work();
    if (!asksAgain) return { outcome: 'completed', assistantMessage: { text } };
    const state = { question: 'And then?', asksAgain: false };
    return { outcome: 'needs_clarification', continuation: { state } };
  },
};
const delivery: Delivery = {
  async deliver({ deliveryId, harnessResult }) {
    await work();
    await note(settings.ledgerUrl, {
      kind: 'delivery',
      turnId: deliveryId,
      text: harnessResult.assistantMessage?.text ?? '',
    });
    return { status: 'delivered' };
  },
};

process.on('disconnect', () => process.exit());
Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) } },
});
const connection = await NativeConnection.connect({ address: settings.address });
const worker = await createWorker({
  connection,
  store: createStore({ url: settings.databaseUrl }),
  harness,
  delivery,
  taskQueue: settings.taskQueue,
  workflowBundle: { codePath: settings.bundlePath },
  maintenance: { intervalMs: 2_000, graceMs: 5_000 },
  worker: { identity: `${process.pid}` },
});
process.send?.('ready');
await worker.run();
