/** The worker: runs continuations, turns and deliveries, and sees to it that maintenance runs. */

import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import {
  bundleWorkflowCode,
  type NativeConnection,
  Worker,
  type WorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import type { ActivityDeps } from '../activities/deps.ts';
import { createActivities } from '../activities/index.ts';
import { MAINTENANCE_TYPE } from '../workflows/messages.ts';
import { createClient } from './client.ts';
import { DEFAULT_HEARTBEAT_TIMEOUT_MS, DEFAULT_TASK_QUEUE } from './client-options.ts';
import { ContinuationError } from './errors.ts';
import { keyPolicy } from './keys.ts';
import type { Policy } from './policy.ts';
import type { Delivery, Harness, StateKind, Store, Trace } from './ports.ts';
import type { RepairDeps } from './repair.ts';
import { createReplies } from './reply-to.ts';
import { createStarter } from './start.ts';
import { harmless } from './trace.ts';

export interface ContinuationWorkerOptions {
  readonly connection: NativeConnection;
  /** Default `default`. */
  readonly namespace?: string;
  readonly store: Store;
  /** One harness, or one for each assistant id. */
  readonly harness: Harness | Readonly<Record<string, Harness>>;
  /** Without it, follow-ups are `not_applicable`. */
  readonly delivery?: Delivery;
  /** Asked again when a turn starts, with what holds then. Default: by the permissions of whoever answered, and of its API key as it is then. */
  readonly policy?: Policy;
  /** As the client's: checked when a turn pauses again. */
  readonly stateKinds?: readonly StateKind[];
  readonly trace?: Trace;
  /** Default `continuations`. */
  readonly taskQueue?: string;
  /** Run only turns and bring their follow-ups, on this queue's own workers: no workflows (see `turnTaskQueue` of the client). Default false. */
  readonly turnsOnly?: boolean;
  readonly payloadCodecs?: PayloadCodec[];
  readonly maintenance?: Partial<MaintenanceSettings> | false;
  /** A bundle made earlier by `bundleWorkflows`; default: made now, which takes a second or two. */
  readonly workflowBundle?: WorkflowBundleOption;
  /** As the client's, like the next three: used when maintenance starts a workflow from its row. */
  readonly searchAttributes?: boolean;
  readonly announce?: boolean;
  readonly directMessages?: boolean;
  /** It also paces the heartbeats of this worker: four in that time. */
  readonly heartbeatTimeoutMs?: number;
  /** Anything else of Temporal's worker options. */
  readonly worker?: Partial<WorkerOptions>;
}

export interface MaintenanceSettings {
  /** Between two passes, milliseconds. Default 1 min. */
  readonly intervalMs: number;
  /** How long after its deadline, or its creation when it was not marked started, a row is looked at. Default 1 min. */
  readonly graceMs: number;
  /** How long ended continuations are kept, milliseconds. Default 90 days. */
  readonly retentionMs: number;
}
const DEFAULT_MAINTENANCE: MaintenanceSettings = { intervalMs: 60_000, graceMs: 60_000, retentionMs: 90 * 86_400_000 };

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** The same text runs from `src` and from `dist`. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/** Bundles the workflows with the payload converter that cannot be poisoned (C15). */
export function bundleWorkflows(): Promise<{ code: string }> {
  return bundleWorkflowCode({
    workflowsPath: here('../workflows'),
    // Pure modules are shared by all continuations of a worker instead of being evaluated for each.
    preloadModules: ['stack-traces', 'continuation', 'message', 'summary'].map((name) =>
      here(`./${name}.${extension}`),
    ),
    payloadConverterPath: here(`./payload-converter.${extension}`),
    logger: QUIET,
  });
}
const nothing = () => undefined;
const QUIET = { log: nothing, trace: nothing, debug: nothing, info: nothing, warn: console.warn, error: console.error };

/** Creates a Temporal worker; run it with `run()`. Starts the maintenance of its task queue. */
export async function createWorker(options: ContinuationWorkerOptions): Promise<Worker> {
  const { connection, namespace = 'default', taskQueue = DEFAULT_TASK_QUEUE, turnsOnly = false } = options;
  const dataConverter = options.payloadCodecs ? { payloadCodecs: options.payloadCodecs } : {};
  const temporal = new Client({ connection, namespace, dataConverter });
  const maintenance = { ...DEFAULT_MAINTENANCE, ...(options.maintenance || undefined) };
  const identity = options.worker?.identity ?? `${process.pid}@${hostname()}`;
  const activities = createActivities(depsOf(options, temporal, identity), maintenance);
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    identity,
    activities: turnsOnly ? { runTurn: activities.runTurn } : activities,
    ...(turnsOnly ? {} : { workflowBundle: options.workflowBundle ?? (await bundleWorkflows()) }),
    dataConverter,
    // A dead worker must not cost the next answer ten seconds, and an evicted continuation costs little.
    stickyQueueScheduleToStartTimeout: '1s',
    maxCachedWorkflows: 300,
    // By itself the SDK holds heartbeats back for 0.8 of the timeout: a worker that is merely busy would be taken for a lost one.
    maxHeartbeatThrottleInterval: (options.heartbeatTimeoutMs ?? DEFAULT_HEARTBEAT_TIMEOUT_MS) / 4,
    // Where most that waits is evicted, every answer comes by the queue of all workers, not by a worker's own: half of the pollers for
    // each, instead of a fifth, or a worker takes no more than two of these at a time.
    maxConcurrentWorkflowTaskPolls: 16,
    nonStickyToStickyPollRatio: 0.5,
    shutdownGraceTime: '10s',
    shutdownForceTime: '30s',
    ...options.worker,
  });
  if (!turnsOnly && options.maintenance !== false) await startMaintenance(temporal, taskQueue, maintenance);
  return worker;
}

function depsOf(options: ContinuationWorkerOptions, temporal: Client, identity: string): ActivityDeps & RepairDeps {
  const { connection, namespace, store, taskQueue = DEFAULT_TASK_QUEUE, payloadCodecs } = options;
  const started = {
    taskQueue,
    searchAttributes: options.searchAttributes ?? true,
    announce: options.announce ?? false,
    directMessages: options.directMessages ?? true,
    heartbeatTimeoutMs: options.heartbeatTimeoutMs ?? DEFAULT_HEARTBEAT_TIMEOUT_MS,
  };
  const answering = {
    connection,
    store,
    taskQueue,
    ...(namespace && { namespace }),
    ...(payloadCodecs && { payloadCodecs }),
  };
  return {
    store,
    temporal,
    identity,
    starter: createStarter(temporal, started, console.warn),
    policy: options.policy ?? keyPolicy(store),
    delivery: options.delivery,
    stateKinds: options.stateKinds,
    replies: createReplies(createClient(answering)),
    trace: harmless(options.trace, console.warn),
    harnessFor: harnessFor(options.harness),
  };
}

function harnessFor(
  harness: ContinuationWorkerOptions['harness'],
): (assistantId: string) => Harness | ContinuationError {
  if (isHarness(harness)) return () => harness;
  return (assistantId) =>
    (Object.hasOwn(harness, assistantId) ? harness[assistantId] : undefined) ??
    new ContinuationError('invalid_configuration', `This worker has no harness for assistant ${assistantId}.`);
}

function isHarness(harness: ContinuationWorkerOptions['harness']): harness is Harness {
  return 'runResumedTurn' in harness && typeof harness.runResumedTurn === 'function';
}

async function startMaintenance(
  temporal: Client,
  taskQueue: string,
  { intervalMs }: MaintenanceSettings,
): Promise<void> {
  try {
    await temporal.workflow.start(MAINTENANCE_TYPE, {
      workflowId: `continuation-maintenance:${taskQueue}`,
      taskQueue,
      args: [{ intervalMs }],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `Maintenance of continuations on ${taskQueue}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
