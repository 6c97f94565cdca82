/** PostgreSQL killed and started again: turns and follow-ups end once, and nothing is half-written. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type PostgresServer, startPostgres } from '../../src/dev/postgres.ts';
import type { Store } from '../../src/index.ts';
import { createStore } from '../../src/index.ts';
import { isTerminal } from '../../src/record.ts';
import { reply } from '../support/builders.ts';
import { query } from '../support/database.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  gate,
  pause,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';

const folder = mkdtempSync(join(tmpdir(), 'restart-postgres-'));
chmodSync(folder, 0o755);
const dataDir = join(folder, 'data');
let server: PostgresServer;
let up = false;
let stack: Stack;
let actors: Actors;
/** Gives up after a second: the worker's, so that what it waits for is what the activities wait for. */
let impatient: Store;
/** Opens when the worker's store has given up for the first time on the end of a turn or a delivery. */
let gaveUp = gate();

const start = async (port?: number) => {
  server = await startPostgres({ dataDir, persistent: true, ...(port && { port }) });
  up = true;
};
async function kill(): Promise<void> {
  process.kill(server.pid, 'SIGKILL');
  up = false;
  await server.stop();
}
const restart = () => start(Number(new URL(server.url).port));

beforeAll(async () => {
  await start();
  stack = await startStack({}, { databaseUrl: server.url, waitMs: 90_000 });
  impatient = createStore({ url: stack.databaseUrl, waitMs: 1_000 });
  actors = createActors();
  const store: Store = {
    ...impatient,
    endTurn: (end) => impatient.endTurn(end).catch(giveUp),
    endDelivery: (end) => impatient.endDelivery(end).catch(giveUp),
  };
  await stack.startWorker({ ...actors, store });
}, 120_000);
function giveUp(error: unknown): never {
  gaveUp.open();
  throw error;
}
beforeEach(() => {
  gaveUp = gate();
});
afterEach(async () => {
  if (!up) await restart();
});
afterAll(async () => {
  await impatient?.close();
  await stack?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function ended(id: string) {
  await becomes(stack.client, id, isTerminal, 90_000);
  return agreedEnd(stack, id);
}
const counts = async () =>
  (
    await query(
      stack.databaseUrl,
      `select (select count(*)::int from continuations.continuations) as continuations,
        (select count(*)::int from continuations.receipts) as receipts, (select count(*)::int from continuations.contents) as contents,
        (select count(*)::int from continuations.content_refs) as refs`,
    )
  )[0];

const PATIENCE = { timeout: 180_000 };

describe('PostgreSQL is killed and started again', () => {
  test('while a harness runs: its result waits for the database, and the turn settles once', PATIENCE, async () => {
    const { client } = stack;
    const { id } = await created(client);
    const result = gate();
    const returned = gate();
    actors.plays(id, async () => {
      await result.opened;
      returned.open();
      return DONE;
    });
    const answered = client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
    await actors.running(id);
    await kill();
    result.open();
    await returned.opened;
    await gaveUp.opened;
    await restart();
    // Whoever waited for the end hears of it.
    expect(taken(await answered)).toMatchObject({ outcome: 'accepted', harnessResult: DONE });
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', resume: { attempt: 1 }, delivery: { status: 'delivered' } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(actors.turns(id)).toHaveLength(1);
    expect(actors.deliveries(id)).toHaveLength(1);
  });

  test('while a follow-up is delivered: it is told as delivered, once', PATIENCE, async () => {
    const { client } = stack;
    const { id } = await created(client);
    const delivering = gate();
    const goOn = gate();
    actors.delivers(id, async () => {
      delivering.open();
      await goOn.opened;
      return { status: 'delivered' };
    });
    taken(await client.resume({ continuationId: id, trigger: reply() }));
    await delivering.opened;
    await kill();
    goOn.open();
    await gaveUp.opened;
    await restart();
    expect((await ended(id)).record.delivery).toMatchObject({ status: 'delivered' });
    expect(actors.deliveries(id)).toHaveLength(1);
  });

  test(
    'while it is away, an answer is refused with a code and nothing is consumed; after it, the same answer works',
    PATIENCE,
    async () => {
      const { id } = await created(stack.client);
      const client = stack.newClient({ store: impatient });
      await kill();
      const answer = { continuationId: id, messageId: 'once', trigger: reply() };
      await expect(client.resume(answer)).rejects.toMatchObject({ code: 'database_unavailable' });
      await expect(client.get({ continuationId: id })).rejects.toMatchObject({ code: 'database_unavailable' });
      await restart();
      taken(await client.resume(answer));
      expect((await ended(id)).record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
    },
  );

  test('while it is away, an accepted answer is kept by its workflow until its turn can begin', PATIENCE, async () => {
    const { id } = await created(stack.client);
    await kill();
    // As from the Temporal UI: no row is read on the way.
    await stack.handle(id).signal('user_reply', { message: { text: 'by hand' } });
    await vi.waitFor(
      async () => expect(await stack.handle(id).query('status')).toMatchObject({ status: 'resuming' }),
      30_000,
    );
    await restart();
    expect((await ended(id)).record).toMatchObject({ status: 'completed', answers: [{ channel: 'temporal' }] });
    expect(actors.turns(id)).toMatchObject([{ attempt: 1, trigger: { message: { text: 'by hand' } } }]);
  });
});

describe('a create while PostgreSQL is away', () => {
  test('fails with a code when the wait is over, leaves nothing, and can be repeated', PATIENCE, async () => {
    const client = stack.newClient({ store: impatient });
    const before = await counts();
    await kill();
    const input = pause();
    const started = Date.now();
    await expect(client.create(input)).rejects.toMatchObject({
      name: 'ContinuationError',
      code: 'database_unavailable',
      message: expect.stringContaining('PostgreSQL did not answer'),
    });
    expect(Date.now() - started).toBeGreaterThanOrEqual(900);
    await restart();
    expect(await counts()).toEqual(before);
    const again = taken(await client.create(input));
    expect(again).toMatchObject({ created: true, started: true });
    taken(await client.resume({ continuationId: again.record.id, trigger: reply() }));
    expect((await ended(again.record.id)).record).toMatchObject({ status: 'completed' });
  });

  test(
    'a burst of creates that it dies under: each is whole, there once, and known to its caller',
    PATIENCE,
    async () => {
      const { client } = stack;
      const before = (await counts()) as Record<string, number>;
      const inputs = Array.from({ length: 60 }, (_, index) =>
        pause('user_reply', {
          harnessResult: {
            outcome: 'needs_clarification',
            continuation: { state: { question: `Which one? ${index}` } },
          },
        }),
      );
      let answered = 0;
      const creating = inputs.map((input) =>
        client.create(input).finally(() => {
          answered += 1;
        }),
      );
      await vi.waitFor(() => expect(answered).toBeGreaterThan(5), { timeout: 60_000, interval: 1 });
      await kill();
      expect(answered).toBeLessThan(inputs.length);
      await restart();
      const results = (await Promise.all(creating)).map((result) => taken(result));
      expect(results.filter((result) => !result.created)).toEqual([]);
      expect(new Set(results.map((result) => result.record.id)).size).toBe(60);
      expect(await counts()).toEqual({
        continuations: (before.continuations ?? 0) + 60,
        receipts: (before.receipts ?? 0) + 60,
        contents: (before.contents ?? 0) + 60,
        refs: (before.refs ?? 0) + 60,
      });
      for (const result of results.slice(0, 3)) {
        expect(await client.get({ continuationId: result.record.id, include: ['state'] })).toMatchObject({
          state: { question: expect.stringMatching(/^Which one\? \d+$/) },
        });
      }
    },
  );
});
