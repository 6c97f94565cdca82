/** One whole stack for a test file: its own database and task queue on the shared servers, a real worker, a real client. */
import { randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import { expect, inject, vi } from 'vitest';
import {
  bundleWorkflows,
  type ContinuationClient,
  type ContinuationClientOptions,
  type ContinuationRecord,
  type ContinuationWorkerOptions,
  type CreateContinuationInput,
  createClient,
  createWorker,
  type Delivery,
  type DeliveryInput,
  type DeliveryResult,
  ensureSearchAttributes,
  type Harness,
  type HarnessResultInput,
  type Refusal,
  type ResumedTurn,
  type Store,
  type WaitType,
} from '../../src/index.ts';
import { isTerminal } from '../../src/record.ts';
import type { ContinuationOutcome } from '../../workflows/messages.ts';
import { createTestDatabase } from './database.ts';
import { chained } from './stored.ts';

let bundle: Promise<{ code: string }> | undefined;
/** Made once per test file: it takes seconds. */
export function workflowBundle(): Promise<{ code: string }> {
  bundle ??= bundleWorkflows();
  return bundle;
}
let quiet = false;

/** The SDK's own log is for operators; a test says what it expects. */
function installQuietRuntime(): void {
  if (quiet) return;
  quiet = true;
  const filter = { core: 'ERROR', other: 'ERROR' } as const;
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter } } });
}

/** `EVENT_TYPE_WORKFLOW_TASK_SCHEDULED` to `…_FAILED`. */
const WORKFLOW_TASKS: ReadonlySet<number> = new Set([5, 6, 7, 8, 9]);

export interface Stack {
  readonly client: ContinuationClient;
  readonly store: Store;
  readonly connection: Connection;
  readonly native: NativeConnection;
  /** Temporal as the UI and the CLI reach it, past our client. */
  readonly temporal: Client;
  readonly taskQueue: string;
  /** host:port of the Temporal server. */
  readonly address: string;
  readonly databaseUrl: string;
  /** Starts a worker in this process; stop it before the stack is closed. */
  startWorker(
    options: Partial<ContinuationWorkerOptions> & Pick<ContinuationWorkerOptions, 'harness'>,
  ): Promise<RunningWorker>;
  newClient(options?: Partial<ContinuationClientOptions>): ContinuationClient;
  handle(id: string): WorkflowHandle;
  /**
   * Length of the workflow's history without its tasks, which the server repeats when a worker is slow: a refused update adds
   * nothing to it.
   */
  historyLength(id: string): Promise<number>;
  /** Resolves when the workflow has no task: one that its worker holds as it stops is lost until it times out, 10 s later. */
  waits(id: string): Promise<void>;
  close(): Promise<void>;
}
export interface RunningWorker {
  readonly worker: Worker;
  stop(): Promise<void>;
}

/** `servers`: others than those of the test run, for tests that kill them. */
export async function startStack(
  options: Partial<ContinuationClientOptions> = {},
  servers: { readonly address?: string; readonly databaseUrl?: string; readonly waitMs?: number } = {},
): Promise<Stack> {
  installQuietRuntime();
  const { databaseUrl, waitMs } = servers;
  const database = await createTestDatabase({ ...(databaseUrl && { url: databaseUrl }), ...(waitMs && { waitMs }) });
  const address = servers.address ?? inject('temporalAddress');
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  await ensureSearchAttributes(connection);
  const temporal = new Client({ connection });
  const taskQueue = `test-${randomUUID()}`;
  const { store } = database;
  const clients: ContinuationClient[] = [];
  const newClient = (more: Partial<ContinuationClientOptions> = {}) => {
    // A busy machine is no reason to leave an answer as `stored`: tests of that say their own time.
    const client = createClient({ connection, store, taskQueue, answerTimeoutMs: 60_000, ...options, ...more });
    clients.push(client);
    return client;
  };
  const historyLength = async (id: string) => {
    const { events } = await temporal.workflow.getHandle(id).fetchHistory();
    return (events ?? []).filter(({ eventType }) => !WORKFLOW_TASKS.has(Number(eventType))).length;
  };
  const running = new Set<RunningWorker>();
  return {
    client: newClient(),
    store,
    connection,
    native,
    temporal,
    taskQueue,
    address,
    databaseUrl: database.url,
    newClient,
    handle: (id) => temporal.workflow.getHandle(id),
    historyLength,
    // Not expect.poll: that does not work in tests that run concurrently.
    waits: (id) =>
      vi.waitFor(async () => {
        const { raw } = await temporal.workflow.getHandle(id).describe();
        expect(raw.pendingWorkflowTask).toBeNull();
      }, 30_000),
    async startWorker(workerOptions) {
      const worker = await createWorker({
        connection: native,
        store,
        taskQueue,
        maintenance: false,
        workflowBundle: await workflowBundle(),
        ...workerOptions,
        worker: { shutdownGraceTime: 100, ...workerOptions.worker },
      });
      const run = worker.run();
      const started: RunningWorker = {
        worker,
        async stop() {
          if (!running.delete(started)) return;
          worker.shutdown();
          await run;
        },
      };
      running.add(started);
      return started;
    },
    async close() {
      await Promise.all([...running].map((worker) => worker.stop()));
      await Promise.all(clients.map((client) => client.close()));
      await connection.close();
      await native.close();
      await database.close();
    },
  };
}

/* What a test plays: harness and delivery */

export type Script = (turn: ResumedTurn) => HarnessResultInput | Promise<HarnessResultInput>;
export type DeliveryScript = (input: DeliveryInput) => DeliveryResult | Promise<DeliveryResult>;

/** A harness and a delivery that do what was said for a continuation, and remember what they were asked. */
export interface Actors {
  readonly harness: Harness;
  readonly delivery: Delivery;
  /** What its turns come to; without a script they complete. */
  plays(id: string, script: Script): void;
  /** How its follow-ups are delivered; without a script they are. */
  delivers(id: string, script: DeliveryScript): void;
  turns(id: string): ResumedTurn[];
  deliveries(id: string): DeliveryInput[];
  /** Resolves when the harness runs a turn of it. */
  running(id: string): Promise<ResumedTurn>;
}

export const DONE = {
  outcome: 'completed',
  assistantMessage: { text: 'done' },
} as const satisfies HarnessResultInput;

export function createActors(): Actors {
  const turns: ResumedTurn[] = [];
  const deliveries: DeliveryInput[] = [];
  const scripts = new Map<string, Script>();
  const deliveryScripts = new Map<string, DeliveryScript>();
  const waiting = new Map<string, (turn: ResumedTurn) => void>();
  return {
    harness: {
      async runResumedTurn(turn) {
        const { id } = turn.continuation;
        turns.push(turn);
        waiting.get(id)?.(turn);
        return scripts.get(id)?.(turn) ?? DONE;
      },
    },
    delivery: {
      async deliver(input) {
        deliveries.push(input);
        return deliveryScripts.get(input.continuation.id)?.(input) ?? { status: 'delivered' };
      },
    },
    plays: (id, script) => void scripts.set(id, script),
    delivers: (id, script) => void deliveryScripts.set(id, script),
    turns: (id) => turns.filter((turn) => turn.continuation.id === id),
    deliveries: (id) => deliveries.filter((input) => input.continuation.id === id),
    running: (id) =>
      new Promise((resolve) => {
        const turn = turns.find((one) => one.continuation.id === id);
        if (turn) resolve(turn);
        else waiting.set(id, resolve);
      }),
  };
}

/** Rejects when the turn is told to stop, as a well-behaved harness does. */
export function untilAborted({ signal }: { signal: AbortSignal }): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** Something that a test opens when it is time. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/* Pauses */

/** A result that pauses for each type of answer; ids are those of `builders.ts`. */
export const PAUSES = {
  user_reply: { outcome: 'needs_clarification', continuation: { state: { question: 'Which colour?' } } },
  approval_resolution: {
    outcome: 'awaiting_approval',
    continuation: { state: { question: 'Refund order 42?', approvalId: 'appr_1' } },
  },
  external_result: { outcome: 'deferred', continuation: { state: { question: 'The export', operationId: 'op_1' } } },
  agent_reply: {
    outcome: 'deferred',
    continuation: { state: { question: 'Any stock?', agent: { replyWith: 'rw_1' } } },
  },
  scheduled_wake: { outcome: 'deferred', continuation: { state: { question: 'Later', scheduledWake: true } } },
} as const satisfies Record<WaitType, HarnessResultInput>;

let pauses = 0;
/** Input of a create that nothing else in the file repeats. */
export function pause(type: WaitType = 'user_reply', more: Partial<CreateContinuationInput> = {}) {
  pauses += 1;
  return { assistantId: 'support', originTurnId: `turn_${pauses}`, harnessResult: PAUSES[type], ...more };
}

/** Creates a continuation, and says why when it could not. */
export async function created(
  client: ContinuationClient,
  input: CreateContinuationInput = pause(),
): Promise<ContinuationRecord> {
  return taken(await client.create(input)).record;
}

/* What came of it */

/** The result of a call that must not be refused. */
export function taken<R extends { readonly ok: boolean }>(result: R): Extract<R, { ok: true }> {
  if (!result.ok) throw new Error(`was refused: ${JSON.stringify(result)}`);
  return result as Extract<R, { ok: true }>;
}

export function refusalOf(result: { readonly ok: boolean; readonly refusal?: Refusal }): Refusal {
  if (result.ok || !result.refusal) throw new Error(`was not refused: ${JSON.stringify(result)}`);
  return result.refusal;
}

/** Plays a race many times, a few at once: what is raced is two callers, not the machine. */
export async function raced(times: number, race: () => Promise<void>, atOnce = 10): Promise<void> {
  for (let played = 0; played < times; played += atOnce) await Promise.all(Array.from({ length: atOnce }, race));
}

/** The record as soon as the row shows what `reached` asks for; by default, its end. */
export async function becomes(
  client: ContinuationClient,
  id: string,
  reached: (record: ContinuationRecord) => boolean = isTerminal,
  withinMs = 20_000,
): Promise<ContinuationRecord> {
  let last: ContinuationRecord | undefined;
  for await (const record of client.watch({ continuationId: id, signal: AbortSignal.timeout(withinMs) })) {
    last = record;
    if (reached(record)) return record;
  }
  throw new Error(`did not get there within ${withinMs} ms: ${JSON.stringify(last)}`);
}

/** Waits for the end, and for row, workflow, receipts and their chain to tell the same about it. */
export async function agreedEnd(stack: Stack, id: string): Promise<{ record: ContinuationRecord; kinds: string[] }> {
  const record = await becomes(stack.client, id);
  const outcome: ContinuationOutcome = await stack.handle(id).result();
  const receipts = (await stack.client.receipts(id)) ?? [];
  expect(outcome).toMatchObject({
    status: record.status,
    reason: record.terminalReason,
    delivery: record.delivery.status,
    receiptsHead: receipts.at(-1)?.digest,
  });
  expect(receipts.map((one) => one.digest)).toEqual(chained(receipts));
  const latest = await stack.client.get({ continuationId: id });
  expect(latest).toEqual(record);
  return { record, kinds: receipts.map((one) => one.kind) };
}
