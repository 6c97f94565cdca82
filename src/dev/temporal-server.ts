/** Starts Temporal's development server as a child of this process. */
import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { type Child, startChild } from './child.ts';
import { DevError } from './dev-error.ts';
import { assertPortFree, freePort, LOOPBACK, portInUse } from './tcp-port.ts';

const READY_WITHIN_MS = 60_000;
const STOP_GRACE_MS = 5_000;
const ATTEMPTS = 3;

/** How to start the server. */
export interface TemporalServerOptions {
  /** The `temporal` executable: see `findTemporalCli`. */
  cliPath: string;
  /** Keeps everything in this SQLite file; without it, in memory. No two servers may use one file. */
  dbFilename?: string;
  /** Without it, any free port. */
  port?: number;
  /** Serves Temporal's web UI there; without it there is none. */
  uiPort?: number;
  /** Lets tests move a workflow's clock (never for production). */
  timeSkipping?: boolean;
  /** Gets every line that the server prints. */
  log?: (line: string) => void;
}

/** A development server that answers. */
export interface TemporalServer {
  address: string;
  uiUrl?: string;
  namespace: 'default';
  pid: number;
  stop(): Promise<void>;
}

/** Starts the server and waits until it answers; a `DevError` says in one sentence why it did not. */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  if (options.port !== undefined) await assertPortFree(options.port, 'The Temporal server');
  if (options.uiPort !== undefined) await assertPortFree(options.uiPort, 'The Temporal UI');
  if (options.dbFilename) mkdirSync(dirname(resolve(options.dbFilename)), { recursive: true });
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(options, options.port ?? (await freePort()));
    } catch (error) {
      // Between our choice of a free port and the server's start somebody may have taken it.
      const taken = error instanceof DevError && error.code === 'port-in-use';
      if (!taken || options.port !== undefined || attempt === ATTEMPTS) throw error;
    }
  }
}

async function launch(options: TemporalServerOptions, port: number): Promise<TemporalServer> {
  const child = await startChild({
    command: options.cliPath,
    args: commandLine(options, port),
    log: options.log,
  }).catch((cause: Error) => {
    throw new DevError('temporal-cli-broken', `The Temporal CLI ${options.cliPath} cannot be run: ${cause.message}.`, {
      cause,
    });
  });
  const address = `${LOOPBACK}:${port}`;
  try {
    await untilReady(child, address, port);
  } catch (error) {
    await child.stop('SIGINT', STOP_GRACE_MS);
    throw error;
  }
  return {
    address,
    ...(options.uiPort !== undefined && { uiUrl: `http://${LOOPBACK}:${options.uiPort}` }),
    namespace: 'default',
    pid: child.pid,
    stop: () => child.stop('SIGINT', STOP_GRACE_MS),
  };
}

function commandLine(options: TemporalServerOptions, port: number): string[] {
  return [
    ...['server', 'start-dev', '--ip', LOOPBACK, '--port', String(port), '--log-level', 'error'],
    ...(options.uiPort === undefined ? ['--headless'] : ['--ui-port', String(options.uiPort)]),
    ...(options.dbFilename ? ['--db-filename', resolve(options.dbFilename)] : []),
    ...(options.timeSkipping ? ['--dynamic-config-value', 'frontend.WorkflowTimeSkippingEnabled=true'] : []),
  ];
}

async function untilReady(child: Child, address: string, port: number): Promise<void> {
  let ending: string | undefined;
  void child.ended.then((how) => {
    ending = how;
  });
  const deadline = Date.now() + READY_WITHIN_MS;
  while (ending === undefined) {
    if (await answers(address)) return;
    if (Date.now() > deadline) {
      throw failed(`The Temporal server did not answer within ${READY_WITHIN_MS / 1000} seconds`, child);
    }
    await sleep(100);
  }
  const taken = child
    .lastLines()
    .some((line) => /address already in use|port is already|can't set .* port/i.test(line));
  throw taken ? portInUse(port, 'The Temporal server') : failed(`The Temporal server ended at once (${ending})`, child);
}

function failed(what: string, child: Child): DevError {
  const words = child.lastLines().slice(-10).join('\n');
  return new DevError('temporal-start-failed', words ? `${what}. It said:\n${words}` : `${what} and said nothing.`);
}

/** The server answers before its namespace exists; both are needed. */
async function answers(address: string): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: '2s' });
    await connection.workflowService.describeNamespace({ namespace: 'default' });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}
