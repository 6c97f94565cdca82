/** What is wrong between this machine, the database and Temporal, each fault with what to do about it. Changes nothing. */
import { Connection } from '@temporalio/client';
import type { Config } from './config.ts';
import { missingSearchAttributes } from './search-attributes.ts';
import { databaseTime } from './store/clock.ts';
import { migrationStatus } from './store/migrate.ts';

export interface Finding {
  readonly check: 'database' | 'migrations' | 'clock' | 'temporal' | 'namespace' | 'search attributes' | 'worker';
  /** `warning`: continuations work without it, though not as well. */
  readonly level: 'ok' | 'warning' | 'fault';
  readonly message: string;
}

const PATIENCE_MS = 5_000;
const MAX_SKEW_MS = 2_000;
const NOT_FOUND = 5;
const WORKFLOW_TASKS = 1;

export async function diagnose(config: Config & { readonly databaseUrl: string }): Promise<Finding[]> {
  const [database, temporal] = await Promise.all([lookAtDatabase(config.databaseUrl), lookAtTemporal(config)]);
  return [...database, ...temporal];
}

async function lookAtDatabase(url: string): Promise<Finding[]> {
  const options = { url, connectTimeoutMs: PATIENCE_MS };
  try {
    const before = Date.now();
    const skewMs = (await databaseTime(options)).getTime() - (before + Date.now()) / 2;
    const roundTripMs = Date.now() - before;
    const { missing } = await migrationStatus(options);
    return [
      { check: 'database', level: 'ok', message: 'answers' },
      missing.length === 0
        ? { check: 'migrations', level: 'ok', message: 'none is missing' }
        : {
            check: 'migrations',
            level: 'fault',
            message: `missing: ${missing.join(', ')}. Run \`continuations migrate\`.`,
          },
      clockFinding(skewMs, roundTripMs),
    ];
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it does not answer';
    return [{ check: 'database', level: 'fault', message: `${why}. Check DATABASE_URL and that the server runs.` }];
  }
}

/** A slow answer says little about the clock: half of its time may be wrong either way. */
export function clockFinding(skewMs: number, roundTripMs: number): Finding {
  if (Math.abs(skewMs) <= MAX_SKEW_MS + roundTripMs / 2)
    return { check: 'clock', level: 'ok', message: 'this machine and the database agree' };
  const message = `this machine is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'behind' : 'ahead of'} the database. Answers are stamped here: synchronise both clocks (NTP).`;
  return { check: 'clock', level: 'fault', message };
}

async function lookAtTemporal({ temporal, taskQueue }: Config): Promise<Finding[]> {
  const { connection: options, namespace } = temporal;
  let connection: Connection;
  try {
    connection = await Connection.connect({ ...options, connectTimeout: PATIENCE_MS });
  } catch {
    const message = `no server answers at ${options.address}. Start one, or check TEMPORAL_ADDRESS, TLS and API key.`;
    return [{ check: 'temporal', level: 'fault', message }];
  }
  try {
    return [
      { check: 'temporal', level: 'ok', message: `answers at ${options.address}` },
      ...(await connection.withDeadline(Date.now() + PATIENCE_MS, () =>
        lookAtNamespace(connection, namespace, taskQueue),
      )),
    ];
  } finally {
    await connection.close();
  }
}

async function lookAtNamespace(connection: Connection, namespace: string, taskQueue: string): Promise<Finding[]> {
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } catch (error) {
    const unknown = (error as { code?: number }).code === NOT_FOUND;
    const message = unknown
      ? `${namespace} does not exist. Create it: temporal operator namespace create ${namespace}; or check TEMPORAL_NAMESPACE.`
      : `${namespace} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    return [{ check: 'namespace', level: 'fault', message }];
  }
  return [
    { check: 'namespace', level: 'ok', message: `${namespace} exists` },
    await attributesFinding(connection, namespace),
    await workerFinding(connection, namespace, taskQueue),
  ];
}

async function attributesFinding(connection: Connection, namespace: string): Promise<Finding> {
  const missing = await missingSearchAttributes(connection, namespace);
  if (missing.length === 0) return { check: 'search attributes', level: 'ok', message: 'all are registered' };
  const message = `missing: ${missing.join(', ')}. The Temporal UI cannot tell continuations apart; \`continuations worker\` registers them when it may.`;
  return { check: 'search attributes', level: 'warning', message };
}

async function workerFinding(connection: Connection, namespace: string, name: string): Promise<Finding> {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name },
    taskQueueType: WORKFLOW_TASKS,
  });
  if (pollers && pollers.length > 0) return { check: 'worker', level: 'ok', message: `polls ${name}` };
  const message = `none polls ${name}: answers are stored and applied when one comes. Start one, or check CONTINUATIONS_TASK_QUEUE.`;
  return { check: 'worker', level: 'fault', message };
}
