/**
 * `npm run demo`: the support agent with three customers, through the whole stack, in well under a minute. Uses the servers
 * that TEMPORAL_ADDRESS and DATABASE_URL name, else temporary ones of its own.
 */
import { randomUUID } from 'node:crypto';
import { loadConfig } from '../../src/config.ts';
import { createCleanup } from '../../src/dev/cleanup.ts';
import { createProgress } from '../../src/dev/progress.ts';
import { quietTemporal, startBundling, startService } from '../../src/dev/service.ts';
import { startStack } from '../../src/dev/stack.ts';
import { openLedger } from './ledger.ts';
import { createOutbox } from './outbox.ts';
import { play } from './play.ts';
import { createSupportAgent } from './support.ts';
import { createShop } from './tools.ts';

const print = (line: string) => console.log(line);
const cleanup = createCleanup();

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  quietTemporal(print);
  const progress = createProgress(print);
  const workflowBundle = startBundling();
  const stack = await startStack({ config, env: process.env }, progress, cleanup);
  const [shop, ledger, outbox] = [createShop(), openLedger(), createOutbox()];
  const agent = createSupportAgent(shop, ledger);
  // A queue and a scope of its own: on servers of yours it touches nothing else, and can be played again.
  const run = randomUUID().slice(0, 8);
  const { client, work } = await startService(
    {
      temporal: stack.temporal,
      databaseUrl: stack.databaseUrl,
      taskQueue: `support-demo-${run}`,
      scope: `demo=${run}`,
      harness: agent,
      delivery: outbox.delivery,
      workflowBundle,
      onFailure: fail,
    },
    progress,
    cleanup,
  );
  await work();
  const { waited, refunds } = await play({ client, agent, shop, ledger, outbox, print });
  print('');
  for (const { type, answeredBy, channel, waitedMs } of waited) {
    print(`${type.padEnd(20)} waited ${String(waitedMs).padStart(5)} ms for ${answeredBy} (${channel})`);
  }
  print(`Refunds made: ${refunds.length}.`);
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : String(error));
  void cleanup.run().then(() => process.exit(1));
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void cleanup.run().then(() => process.exit(130)));
}
main()
  .then(() => cleanup.run())
  .then(() => process.exit(0), fail);
