/**
 * Workers that end in time, and workers that do not notice that they have ended: told to shut down, frozen until they are
 * taken for lost, or deaf to a stop. What a zombie comes to is kept as evidence and writes nothing else (C6).
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ContinuationClient } from '../../src/index.ts';
import { isTerminal } from '../../src/record.ts';
import { reply } from '../support/builders.ts';
import { type ChildWorker, type Options, startChildWorker } from '../support/child-worker.ts';
import { query } from '../support/database.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  gate,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';
import { sleep } from '../support/time.ts';

const PATIENCE = { timeout: 150_000 };
/** Longer than a harness may take after its signal was aborted. */
const BEYOND_GRACE_MS = 5_500;

let stack: Stack;
const children: ChildWorker[] = [];
beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => {
  await Promise.all(children.map((child) => child.kill()));
  await stack?.close();
});

async function childOn(taskQueue: string, options: Partial<Options> = {}): Promise<ChildWorker> {
  const { address, databaseUrl } = stack;
  const child = await startChildWorker({ address, databaseUrl, taskQueue, ...options });
  children.push(child);
  return child;
}

async function workerOn(taskQueue: string, change: (actors: Actors) => Partial<Actors> = () => ({})): Promise<Actors> {
  const actors = createActors();
  await stack.startWorker({ ...actors, ...change(actors), taskQueue });
  return actors;
}

function queue() {
  const taskQueue = `zombies-${randomUUID()}`;
  return { taskQueue, client: stack.newClient({ taskQueue, heartbeatTimeoutMs: 3_000 }) };
}

async function answered(client: ContinuationClient): Promise<string> {
  const { id } = await created(client);
  taken(await client.resume({ continuationId: id, trigger: reply() }));
  return id;
}

async function ended(id: string) {
  await becomes(stack.client, id, isTerminal, 90_000);
  return agreedEnd(stack, id);
}

const turnRow = async (id: string) =>
  (await query(stack.databaseUrl, 'select * from continuations.turns where continuation_id = $1', [id]))[0];
async function evidence(id: string, expected: unknown): Promise<void> {
  await vi.waitFor(async () => expect((await turnRow(id))?.evidence).toEqual(expected), {
    timeout: 60_000,
    interval: 100,
  });
}

describe('a worker that is told to shut down', () => {
  test(
    'aborts the harness; the attempt has a recorded end, and another worker runs the turn again',
    PATIENCE,
    async () => {
      const { taskQueue, client } = queue();
      const child = await childOn(taskQueue);
      const id = await answered(client);
      const call = await child.next('turn');
      child.signal('SIGTERM');
      await child.aborted(call);
      expect(await child.ended).toBe('0');
      expect(await turnRow(id)).toMatchObject({ state: 'ended', attempt: 1 });
      const next = await workerOn(taskQueue);
      const { record, kinds } = await ended(id);
      expect(record).toMatchObject({
        status: 'completed',
        resume: { attempt: 2 },
        bounds: { resumeAttempts: 1 },
        answers: [{ type: 'user_reply' }],
      });
      expect(kinds).toEqual(['created', 'admitted', 'started', 'attempt_ended', 'started', 'settled', 'delivered']);
      expect(next.turns(id)).toMatchObject([{ attempt: 2, trigger: reply(), resumedTurnId: `${id}:resume:1` }]);
      expect(child.ledger()).toEqual([`turn ${id}:resume:1 1`]);
    },
  );
});

describe.concurrent('a worker frozen until it is taken for lost', PATIENCE, () => {
  test('its late result changes nothing: the outcome stays unknown, the result is evidence', async () => {
    const { taskQueue, client } = queue();
    const child = await childOn(taskQueue, { ignoresAbort: true });
    const id = await answered(client);
    const call = await child.next('turn');
    child.signal('SIGSTOP');
    const next = await workerOn(taskQueue);
    const uncertain = await becomes(client, id, (record) => record.resume?.uncertain !== undefined, 90_000);
    child.signal('SIGCONT');
    child.returns(call, DONE);
    await evidence(id, { 1: { outcome: 'completed' } });
    expect(await client.get({ continuationId: id })).toEqual(uncertain);
    expect(await turnRow(id)).toMatchObject({ state: 'uncertain', fence: 2, result: null });
    expect(next.turns(id)).toHaveLength(0);
    taken(await client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    expect((await ended(id)).kinds).toEqual(['created', 'admitted', 'started', 'uncertain', 'stopped']);
  });

  test('with a replayable harness, the result of attempt 2 stands and that of the zombie is evidence', async () => {
    const { taskQueue, client } = queue();
    const child = await childOn(taskQueue, { ignoresAbort: true, replayable: true });
    const id = await answered(client);
    const call = await child.next('turn');
    child.signal('SIGSTOP');
    const next = await workerOn(taskQueue, ({ harness }) => ({ harness: { ...harness, replayable: true } }));
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', resume: { attempt: 2 } });
    child.signal('SIGCONT');
    child.returns(call, { outcome: 'failed', assistantMessage: { text: 'from the past' } });
    await evidence(id, { 1: { outcome: 'failed' } });
    expect(await client.get({ continuationId: id, include: ['result'] })).toEqual({ ...record, result: DONE });
    expect((await stack.client.receipts(id))?.map((one) => one.kind)).toEqual(kinds);
    expect(next.deliveries(id)).toHaveLength(1);
  });

  test('its late delivery changes nothing: what was recorded as uncertain stays so', async () => {
    const { taskQueue, client } = queue();
    const child = await childOn(taskQueue, { ignoresAbort: true });
    const id = await answered(client);
    child.returns(await child.next('turn'), DONE);
    const call = await child.next('delivery');
    child.signal('SIGSTOP');
    const next = await workerOn(taskQueue);
    const { record } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'delivery_failed', uncertain: true } });
    child.signal('SIGCONT');
    child.delivers(call, { status: 'delivered' });
    // It has let go of the delivery when it has stopped in an orderly way.
    child.signal('SIGTERM');
    expect(await child.ended).toBe('0');
    expect(await client.get({ continuationId: id })).toEqual(record);
    expect(next.deliveries(id)).toHaveLength(0);
  });
});

describe.concurrent('a harness that does not hear a stop', PATIENCE, () => {
  const stopped = async (client: ContinuationClient, actors: Actors) => {
    const { id } = await created(client);
    const late = gate();
    const heard = gate();
    actors.plays(id, async ({ signal }) => {
      signal.addEventListener('abort', () => heard.open(), { once: true });
      await late.opened;
      return DONE;
    });
    taken(await client.resume({ continuationId: id, trigger: reply() }));
    await actors.running(id);
    taken(await client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    await heard.opened;
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'cancelled', terminalReason: 'cancelled_by_user' });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'stopped']);
    return { id, record, late };
  };

  test('and returns soon after: the continuation stays cancelled, nothing is delivered, the result is evidence', async () => {
    const { taskQueue, client } = queue();
    const actors = await workerOn(taskQueue);
    const { id, record, late } = await stopped(client, actors);
    late.open();
    await evidence(id, { 1: { outcome: 'completed' } });
    expect(await client.get({ continuationId: id })).toEqual(record);
    expect(actors.deliveries(id)).toHaveLength(0);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('and returns when nobody waits for it any more: that it returned is evidence', async () => {
    const { taskQueue, client } = queue();
    const actors = await workerOn(taskQueue);
    const { id, record, late } = await stopped(client, actors);
    await sleep(BEYOND_GRACE_MS);
    late.open();
    await evidence(id, { 1: { outcome: 'returned after it was stopped' } });
    expect(await client.get({ continuationId: id })).toEqual(record);
    expect(await turnRow(id)).toMatchObject({ state: 'closed', fence: 2, result: null });
  });
});
