/** What `npm start` does once its options are read and everything is loaded. */
import { join, relative } from 'node:path';
import { openLedger } from '../../examples/support-agent/ledger.ts';
import { createOutbox } from '../../examples/support-agent/outbox.ts';
import { ASSISTANT_ID, createSupportAgent, receive } from '../../examples/support-agent/support.ts';
import { createShop } from '../../examples/support-agent/tools.ts';
import { loadConfig } from '../config.ts';
import type { ContinuationClient, ContinuationRecord } from '../index.ts';
import type { PendingRecord } from '../schema.ts';
import { inboxUrlOf, startApi } from './api.ts';
import { type Board, describeAsk, describePlaces, narrate, narrated } from './board.ts';
import type { Cleanup } from './cleanup.ts';
import { preflight } from './preflight.ts';
import { createProgress } from './progress.ts';
import { quietTemporal, startBundling, startService } from './service.ts';
import { announceStack, startStack } from './stack.ts';
import type { StartOptions } from './start-options.ts';

const print = (line: string): void => console.log(line);
const event = (line: string): void => print(`${new Date().toTimeString().slice(0, 8)}  ${line}`);

export interface Start {
  readonly options: StartOptions;
  readonly cleanup: Cleanup;
  /** Aborts when everything is to end. */
  readonly ended: AbortSignal;
  /** Something broke later on. */
  readonly fail: (error: unknown) => void;
}

/** Starts everything, shows what waits, and tells what happens until the end. */
export async function start({ options, cleanup, ended, fail }: Start): Promise<void> {
  const given = loadConfig(process.env);
  const config = { ...given, http: { ...given.http, port: options.ports.http } };
  const progress = createProgress(print);
  await preflight(options, config, progress);
  quietTemporal(event);
  const { dataDir, ports } = options;
  const workflowBundle = startBundling();
  const stack = await startStack({ config, env: process.env, dataDir, ports }, progress, cleanup);
  const refundsFile = join(dataDir, 'refunds.jsonl');
  const agent = agentWith(refundsFile);
  const outbox = createOutbox(({ text }) => event(`follow-up delivered: “${text}”`));
  const { temporal, databaseUrl } = stack;
  const { taskQueue, scope } = config;
  const harness = narrated(agent, event);
  const linkTo = (id: string) => `${inboxUrlOf(config.http)}/${id}`;
  const { client, connection, work } = await startService(
    {
      temporal,
      databaseUrl,
      taskQueue,
      scope,
      harness,
      workflowBundle,
      delivery: outbox.delivery,
      onFailure: fail,
      linkTo,
    },
    progress,
    cleanup,
  );
  const api = await startApi({ ...config, temporal, databaseUrl }, progress, cleanup);
  announceStack(dataDir, stack, cleanup);
  const flags = [...(options.dataDirGiven ? ['--data', dataDir] : [])];
  const board: Board = { stack, connection, api, flags, env: process.env };
  const tellAsk = async (record: PendingRecord) => print(`\n${await describeAsk(record, board)}\n`);
  const show = async (): Promise<void> => {
    for (const record of await waiting(client, work, () => takeTurn(agent, client))) await tellAsk(record);
    print(`${describePlaces(board, relative('.', refundsFile))}\n`);
    print('Ctrl-C ends everything. What waits is kept, and is found again by the next `npm start`.\n');
  };
  // It listens before the worker runs: a turn that was cut off may end in a moment.
  await Promise.all([narrate(client, { print: event, ask: tellAsk, signal: ended }), show()]);
}

/** Its bank may take its time to answer, so that there is a moment to kill us in. */
function agentWith(refundsFile: string): ReturnType<typeof createSupportAgent> {
  const answersAfterMs = Number(process.env.BANK_ANSWERS_AFTER_MS ?? 0);
  return createSupportAgent(createShop(), openLedger(refundsFile, answersAfterMs));
}

/** What waited before goes on waiting, and what was cut off goes on; only when there is neither is there a new customer. */
async function waiting(
  client: ContinuationClient,
  work: () => Promise<void>,
  takeOne: () => Promise<void>,
): Promise<PendingRecord[]> {
  const find = async () => (await client.list({ status: 'open', assistantId: ASSISTANT_ID, limit: 5 })).records;
  const pendingOf = (records: readonly ContinuationRecord[]) => records.filter((record) => record.status === 'pending');
  const found = await find();
  const [waits, runs] = [pendingOf(found).length, found.length - pendingOf(found).length];
  if (runs > 0) print(`\n${runs === 1 ? 'A turn' : `${runs} turns`} cut off here before will go on.`);
  if (waits > 0) print(`\nFound ${waits === 1 ? 'a turn' : `${waits} turns`} that waited here before.`);
  await work();
  if (found.length > 0) return pendingOf(found);
  await takeOne();
  return pendingOf(await find());
}

async function takeTurn(agent: ReturnType<typeof createSupportAgent>, client: ContinuationClient): Promise<void> {
  const text = 'My kettle from order 1042 arrived broken. I would like my money back.';
  print(`\nA customer writes: “${text}”`);
  await receive(agent, client, { conversation: `chat-${Date.now().toString(36)}`, customer: 'ada', text });
}
