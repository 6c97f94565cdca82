/**
 * `npm run bench:engine`: what durability costs a turn of the engine. The same loop of model and tools in one run, bare, on a
 * journal in memory and on the journal in PostgreSQL; then how long a turn of 50 steps takes to resume from its middle and its end.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../src/dev/postgres.ts';
import {
  type EnginePorts,
  type Journal,
  loadCheckpoint,
  type Message,
  resumeTurn,
  runTurn,
} from '../src/engine/index.ts';
import { createStore, migrate, type Store } from '../src/index.ts';
import type { Json } from '../src/json.ts';
import type { Grant } from '../src/ports.ts';
import { answered, beginning, granted, paused } from '../test/support/stored.ts';

const STEPS = 50;
const RUNS = 10;

/** Asks for one tool in each step, then is done; says about as much as a model does. */
const ports = (journal: Journal): EnginePorts => ({
  journal,
  model: {
    async invoke({ context: { iteration } }) {
      if (iteration === STEPS - 1) return { output: 'done' };
      return {
        output: 'x'.repeat(200),
        toolRequests: [{ id: `call-${iteration}`, name: 'look', arguments: '{"n":1}' }],
      };
    },
  },
  tools: { describe: () => ({ effect: 'once' }), execute: async () => 'y'.repeat(200) },
});
const first = (turnId: string) => ({ sessionId: 's', turnId, messages: [], budgets: { maxIterations: STEPS } });

const said = (role: Message['role'], value: Json = ''): Message => ({ role, parts: [{ kind: 'text', value }] });

/** What a loop without durability does. */
async function bare(): Promise<void> {
  const { model, tools } = ports({ write: async () => {} });
  const messages: Message[] = [];
  const signal = new AbortController().signal;
  for (let iteration = 0; iteration < STEPS; iteration++) {
    const request = { context: { iteration, messages } } as unknown as Parameters<typeof model.invoke>[0];
    const response = await model.invoke(request, { signal, key: '' });
    messages.push(said('assistant', response.output));
    for (const call of response.toolRequests ?? [])
      messages.push(said('tool', await tools.execute(call, { signal, key: call.id, messages })));
  }
}

async function runningTurn(store: Store): Promise<Grant> {
  return granted(await store.beginTurn(beginning(answered(await paused(store)))));
}

interface Kept extends Journal {
  bytes: number;
  readonly checkpoints: string[];
}
function postgresJournal(store: Store, { record, fence }: Grant): Kept {
  const kept: Kept = {
    bytes: 0,
    checkpoints: [],
    async write({ events, checkpoint, effect }) {
      const bodies = events.map((event) => ({ sequence: event.sequence, body: JSON.stringify(event) }));
      const body = checkpoint && JSON.stringify(checkpoint);
      kept.bytes += bodies.reduce((sum, one) => sum + one.body.length, 0);
      if (body) kept.checkpoints.push(body);
      const entry = { turnId: record.resume.turnId, fence, events: bodies };
      const written = await store.writeJournal({
        ...entry,
        ...(body && { checkpoint: body }),
        ...(effect && { effect }),
      });
      if (!written) throw new Error('the turn is not held');
    },
  };
  return kept;
}

async function millis(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
async function repeated(work: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let run = 0; run < RUNS; run++) values.push(await work());
  return median(values.slice(1));
}

/** A turn that had `done` of its steps, resumed on a turn row of its own. */
async function resumeAt(store: Store, checkpoints: readonly string[], done: number): Promise<number> {
  const at = checkpoints.map((body) => loadCheckpoint(JSON.parse(body))).findLast((one) => one.iteration < done);
  if (!at) throw new Error('no checkpoint');
  const journal = postgresJournal(store, await runningTurn(store));
  const context = {
    checkpoint: at,
    maxIterations: STEPS,
    maxModelAttempts: 3,
    lastJournalSequence: at.lastSequence + 1,
  };
  return millis(() => resumeTurn(ports(journal), context));
}

async function measure(store: Store): Promise<void> {
  const bareMs = await repeated(() => millis(bare));
  const memoryMs = await repeated(() => millis(() => runTurn(ports({ write: async () => {} }), first('memory'))));
  let last: Kept | undefined;
  const durableMs = await repeated(async () => {
    const journal = postgresJournal(store, await runningTurn(store));
    last = journal;
    return millis(() => runTurn(ports(journal), first('durable')));
  });
  const perStep = (ms: number) => `${(ms / STEPS).toFixed(3)} ms`;
  console.log(`${STEPS} steps of one model call and one tool that runs once; medians of ${RUNS - 1} runs, per step:`);
  console.log(`  bare loop              ${perStep(bareMs)}`);
  console.log(`  engine, no journal     ${perStep(memoryMs)}`);
  console.log(`  engine, PostgreSQL     ${perStep(durableMs)}`);
  if (!last) return;
  const { bytes, checkpoints } = last;
  console.log(
    `  journal                ${Math.round(bytes / STEPS)} bytes; last checkpoint ${checkpoints.at(-1)?.length} bytes`,
  );
  for (const done of [1, STEPS / 2, STEPS - 5]) {
    const ms = await repeated(() => resumeAt(store, checkpoints, done));
    console.log(
      `  resumed with ${String(STEPS - done).padStart(2)} left   ${ms.toFixed(1)} ms, ${(ms / (STEPS - done)).toFixed(3)} ms each`,
    );
  }
}

const folder = mkdtempSync(join(tmpdir(), 'continuations-bench-engine-'));
chmodSync(folder, 0o755);
const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), persistent: false });
try {
  await migrate({ url: postgres.url });
  const store = createStore({ url: postgres.url });
  await measure(store);
  await store.close();
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
