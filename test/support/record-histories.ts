/**
 * Records the histories that `workflows.replay.test.ts` replays: every path of a continuation, on servers of its own.
 *
 *   npx tsx test/support/record-histories.ts [name …]
 *
 * Run it when a path is new. A history that is there stays as it is when the workflow changes: old ones have to replay.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { startPostgres } from '../../src/dev/postgres.ts';
import { findTemporalCli } from '../../src/dev/temporal-cli.ts';
import { startTemporalServer } from '../../src/dev/temporal-server.ts';
import { digestText } from '../../src/digest.ts';
import {
  bundleWorkflows,
  type ContinuationClientOptions,
  type CreateContinuationInput,
  createClient,
  createStore,
  createWorker,
  type DeliveryInput,
  ensureSearchAttributes,
  type HarnessResultInput,
  migrate,
  OutcomeUnknown,
  type ReconcileContinuationInput,
  type ResumedTurn,
  TransientError,
  type Trigger,
} from '../../src/index.ts';

const TASK_QUEUE = 'histories';
/** `RESET_REAPPLY_EXCLUDE_TYPE_UPDATE` */
const EXCLUDE_UPDATES = 2;
const DONE: HarnessResultInput = { outcome: 'completed', assistantMessage: { text: 'Done.' } };
const QUESTION = { outcome: 'needs_clarification', continuation: { state: { question: 'Which colour?' } } } as const;
const APPROVAL = {
  outcome: 'awaiting_approval',
  continuation: { state: { question: 'Refund order 42?', approvalId: 'appr_1' } },
} as const;
const reply: Trigger = { type: 'user_reply', message: { text: 'blue' } };

/* What the harness and the delivery do is said by the name of the scenario, the assistant of its continuation. */

const turns: Record<string, (turn: ResumedTurn) => Promise<HarnessResultInput>> = {
  'asks-again': async ({ resumedTurnId }) => (resumedTurnId.endsWith(':1') ? APPROVAL : DONE),
  'attempts-used-up': async () => QUESTION,
  failed: async () => {
    throw new Error('the tool is broken');
  },
  'tried-again': async ({ attempt }) => {
    if (attempt === 1) throw new TransientError('busy');
    return DONE;
  },
  'uncertain-then-stopped': async () => {
    throw new OutcomeUnknown('the bank did not answer');
  },
  'reconciled-happened': async () => {
    throw new OutcomeUnknown('the bank did not answer');
  },
  'reconciled-runs-again': async ({ attempt }) => {
    if (attempt === 1) throw new OutcomeUnknown('the bank did not answer');
    return DONE;
  },
  'closed-incomplete': async () => {
    throw new OutcomeUnknown('the bank did not answer');
  },
  'stopped-while-running': untilAborted,
  'cancelled-while-running': untilAborted,
};
const deliveries: Record<string, (input: DeliveryInput) => Promise<{ status: 'delivered' }>> = {
  'delivered-again': failsOnce(),
  'stopped-while-delivering': async () => {
    delivering();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return { status: 'delivered' };
  },
  'superseded-while-delivering': (input) => {
    delivering();
    return untilAborted(input);
  },
};

/** Called when a delivery is under way. */
let delivering: () => void = () => undefined;
const underWay = () =>
  new Promise<void>((resolve) => {
    delivering = resolve;
  });

function failsOnce(): () => Promise<{ status: 'delivered' }> {
  let failed = false;
  return async () => {
    if (failed) return { status: 'delivered' };
    failed = true;
    throw new TransientError('busy');
  };
}

function untilAborted({ signal }: { signal: AbortSignal }): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

/* Servers, and one worker for all */

Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
});
const folder = mkdtempSync(join(tmpdir(), 'record-histories-'));
await chmod(folder, 0o755);
const server = await startTemporalServer({ cliPath: await findTemporalCli() });
const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), persistent: false });
await migrate({ url: postgres.url });
const store = createStore({ url: postgres.url });
const connection = await Connection.connect({ address: server.address });
await ensureSearchAttributes(connection);
const temporal = new Client({ connection });
const native = await NativeConnection.connect({ address: server.address });
const worker = await createWorker({
  connection: native,
  store,
  taskQueue: TASK_QUEUE,
  workflowBundle: await bundleWorkflows(),
  maintenance: { intervalMs: 500 },
  harness: { runResumedTurn: async (turn) => (await turns[turn.continuation.assistantId]?.(turn)) ?? DONE },
  delivery: {
    deliver: async (input) => (await deliveries[input.continuation.assistantId]?.(input)) ?? { status: 'delivered' },
    announce: async () => {},
  },
  worker: { identity: 'worker', shutdownGraceTime: 100 },
});
const working = worker.run();

const client = (options: Partial<ContinuationClientOptions> = {}) =>
  createClient({ connection, store, taskQueue: TASK_QUEUE, ...options });
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const handleOf = (id: string) => temporal.workflow.getHandle(id);

/** A continuation of the scenario that waits, and the means to go on with it. */
async function waiting(
  name: string,
  input: Partial<CreateContinuationInput> = {},
  options: Partial<ContinuationClientOptions> = {},
) {
  const own = client(options);
  const result = await own.create({ assistantId: name, originTurnId: 'turn_1', harnessResult: QUESTION, ...input });
  if (!result.ok) throw new Error(`${name}: ${JSON.stringify(result)}`);
  const { id } = result.record;
  await reaches(id, 'pending');
  return {
    id,
    record: result.record,
    answer: (trigger: Trigger = reply, more: { suspensionId?: string } = {}) =>
      own.resume({ continuationId: id, messageId: 'msg_1', trigger, ...more }),
    stop: () => own.stop({ continuationId: id, reason: 'cancelled_by_user' }),
    client: own,
  };
}

/** An unknown outcome, and what an operator decides about it. */
async function reconciled(name: string, decision: Pick<ReconcileContinuationInput, 'action' | 'result'>) {
  const { id, answer, client: own } = await waiting(name);
  await answer();
  await reaches(id, '"uncertain"');
  const proof = { ref: 'ledger/1', digest: digestText('the ledger') };
  const execution = { continuationId: id, turnId: `${id}:resume:1`, attempt: 1 };
  await own.reconcile({ ...execution, ...decision, proof, observedAt: new Date() });
  return id;
}

/** Until the workflow itself says so. */
async function reaches(id: string, what: string): Promise<void> {
  for (;;) {
    const record = JSON.stringify(await handleOf(id).query('record'));
    if (record.includes(what)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Every path; each answers the id of the workflow to record, by default once that has ended. */
const SCENARIOS: Record<string, () => Promise<string | { running: string }>> = {
  async maintenance() {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    return { running: `continuation-maintenance:${TASK_QUEUE}` };
  },
  async 'completed-and-delivered'() {
    const { id, answer } = await waiting('completed-and-delivered', { sessionId: 'session_1' });
    await answer();
    return id;
  },
  async 'completed-without-delivery'() {
    const { id, answer } = await waiting('completed-without-delivery', { delivery: false });
    await answer();
    return id;
  },
  async 'answered-by-signal'() {
    const { id } = await waiting('answered-by-signal', {}, { announce: true });
    await handleOf(id).signal('user_reply', { message: { text: 'by hand' } });
    return id;
  },
  async 'answered-by-reference'() {
    const { id, answer } = await waiting('answered-by-reference', {}, { inlineInputBytes: 0, searchAttributes: false });
    await answer();
    return id;
  },
  async denied() {
    const { id, answer } = await waiting('denied', { harnessResult: APPROVAL });
    await answer({ type: 'approval_resolution', approvalId: 'appr_1', decision: 'denied', reason: 'too much' });
    return id;
  },
  async expired() {
    return (await waiting('expired', { bounds: { expiresAt: inMs(1500) } })).id;
  },
  async 'no-answer'() {
    const state = { question: 'Any stock?', agent: { replyWith: 'rw_1' } };
    const harnessResult = { outcome: 'deferred', continuation: { state } } as const;
    return (await waiting('no-answer', { harnessResult, bounds: { expiresAt: inMs(1500) } })).id;
  },
  async wake() {
    const state = { question: 'Later', scheduledWake: true, wakeAt: inMs(1500) };
    return (await waiting('wake', { harnessResult: { outcome: 'deferred', continuation: { state } } })).id;
  },
  async 'asks-again'() {
    const { id, answer, client: own } = await waiting('asks-again');
    await answer();
    await reaches(id, 'Refund order 42?');
    const record = await own.get({ continuationId: id });
    const suspensionId = ((await handleOf(id).query('record')) as typeof record)?.suspension.id as string;
    const trigger: Trigger = { type: 'approval_resolution', approvalId: 'appr_1', decision: 'approved' };
    await own.resume({ continuationId: id, messageId: 'msg_2', suspensionId, trigger });
    return id;
  },
  async 'attempts-used-up'() {
    const { id, answer } = await waiting('attempts-used-up', { bounds: { maxResumeAttempts: 1 } });
    await answer();
    return id;
  },
  async failed() {
    const { id, answer } = await waiting('failed');
    await answer();
    return id;
  },
  async 'tried-again'() {
    const { id, answer } = await waiting('tried-again');
    await answer();
    return id;
  },
  async 'uncertain-then-stopped'() {
    const { id, answer, stop } = await waiting('uncertain-then-stopped');
    await answer();
    await reaches(id, '"uncertain"');
    await stop();
    return id;
  },
  async 'reconciled-happened'() {
    return reconciled('reconciled-happened', { action: 'happened', result: DONE });
  },
  async 'reconciled-runs-again'() {
    return reconciled('reconciled-runs-again', { action: 'did_not_happen' });
  },
  async 'closed-incomplete'() {
    return reconciled('closed-incomplete', { action: 'close_incomplete' });
  },
  async taken() {
    const { id } = await waiting('taken');
    await client().take({ continuationId: id, trigger: reply });
    return id;
  },
  async 'stopped-while-pending'() {
    const { id, stop } = await waiting('stopped-while-pending');
    await stop();
    return id;
  },
  async 'stopped-while-running'() {
    const { id, answer, stop } = await waiting('stopped-while-running');
    await answer();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await stop();
    return id;
  },
  async 'delivered-again'() {
    const { id, answer } = await waiting('delivered-again');
    await answer();
    return id;
  },
  async 'stopped-while-delivering'() {
    const { id, answer, stop } = await waiting('stopped-while-delivering');
    const begun = underWay();
    await answer();
    await begun;
    await stop();
    return id;
  },
  async superseded() {
    const { id } = await waiting('superseded', { sessionId: 'session_2' });
    await client().create({
      assistantId: 'superseded',
      originTurnId: 'turn_2',
      sessionId: 'session_2',
      supersede: true,
      harnessResult: QUESTION,
    });
    return id;
  },
  async 'superseded-while-delivering'() {
    const { id, answer } = await waiting('superseded-while-delivering', { sessionId: 'session_3' });
    const begun = underWay();
    await answer();
    await begun;
    await handleOf(id).signal('stop', { reason: 'superseded_by_newer_turn' });
    return id;
  },
  async 'refused-signals'() {
    const { id, answer } = await waiting('refused-signals');
    const handle = handleOf(id);
    await handle.signal('user_reply');
    await handle.signal('user_reply', { message: 5 });
    await handle.signal('approval_resolution', { approvalId: 'x', decision: 'approved' });
    await handle.signal('no_such_signal', 1);
    await handle.signal('stop', { reason: 'no_such_reason' });
    await temporal.workflowService.signalWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: id },
      signalName: 'user_reply',
      input: { payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{"cut off') }] },
    });
    await answer();
    return id;
  },
  async extended() {
    const { id, client: own } = await waiting('extended', { bounds: { expiresAt: inMs(1500) } });
    await own.extend({ continuationId: id, expiresAt: inMs(3000) });
    return id;
  },
  async 'cancelled-while-pending'() {
    const { id } = await waiting('cancelled-while-pending');
    await handleOf(id).cancel();
    return id;
  },
  async 'cancelled-while-running'() {
    const { id, answer } = await waiting('cancelled-while-running');
    await answer();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await handleOf(id).cancel();
    return id;
  },
  async 'start-window-expired'() {
    const turnTaskQueue = 'nobody-works-here';
    const { id, answer } = await waiting(
      'start-window-expired',
      { bounds: { startWithinMs: 1000 } },
      { turnTaskQueue },
    );
    await answer();
    return id;
  },
  async 'start-window-kept'() {
    const { id, answer } = await waiting('start-window-kept', { bounds: { startWithinMs: 60_000 } });
    await answer();
    return id;
  },
  async 'stopped-in-the-start-window'() {
    const turnTaskQueue = 'nobody-works-here';
    const bounds = { startWithinMs: 60_000 };
    const { id, answer, stop } = await waiting('stopped-in-the-start-window', { bounds }, { turnTaskQueue });
    await answer();
    await stop();
    return id;
  },
  async 'reset-follows-the-row'() {
    const { id, answer, record } = await waiting('asks-again', {
      originTurnId: 'turn_reset',
      bounds: { expiresAt: inMs(5000) },
    });
    await answer();
    await reaches(id, 'Refund order 42?');
    const { runId } = await handleOf(id).describe();
    await temporal.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: id, runId },
      reason: 'to record it',
      requestId: 'reset',
      workflowTaskFinishEventId:
        (await handleOf(id).fetchHistory()).events?.find((event) => event.workflowTaskCompletedEventAttributes)
          ?.eventId ?? null,
      resetReapplyExcludeTypes: [EXCLUDE_UPDATES],
    });
    await reaches(id, record.suspension.id);
    await reaches(id, 'Refund order 42?');
    await handleOf(id).signal('stop', { reason: 'cancelled_by_product' });
    return id;
  },
};

/** Names of machines and folders are nobody's business. */
function anonymous(key: string, value: unknown): unknown {
  if (key === 'identity') return 'somebody';
  return key === 'stackTrace' ? '' : value;
}

const target = fileURLToPath(new URL('../histories/', import.meta.url));
mkdirSync(target, { recursive: true });
const wanted = process.argv.slice(2);
try {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const recorded = await scenario();
    const workflowId = typeof recorded === 'string' ? recorded : recorded.running;
    const handle = handleOf(workflowId);
    if (typeof recorded === 'string') await handle.result().catch(() => {});
    const { events } = JSON.parse(historyToJSON(await handle.fetchHistory())) as { events: unknown[] };
    const lines = events.map((event) => JSON.stringify(event, anonymous)).join(',\n');
    writeFileSync(
      join(target, `${name}.json`),
      `{"workflowId":${JSON.stringify(workflowId)},"events":[\n${lines}\n]}\n`,
    );
    console.log(`${name}: ${events.length} events, ${Math.round(lines.length / 1024)} KiB`);
  }
} finally {
  worker.shutdown();
  await working.catch(() => {});
  await native.close();
  await connection.close();
  await store.close();
  await Promise.all([server.stop(), postgres.stop()]);
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
