/** The Temporal server killed and started again on its file: what waited goes on, what fell due meanwhile happens, nothing twice. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startTemporalServer, type TemporalServer } from '../../src/dev/temporal-server.ts';
import { isTerminal } from '../../src/record.ts';
import { reply } from '../support/builders.ts';
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
import { inMs, reached } from '../support/time.ts';

const folder = mkdtempSync(join(tmpdir(), 'restart-temporal-'));
const dbFilename = join(folder, 'temporal.db');
let server: TemporalServer;
let stack: Stack;
let actors: Actors;

const start = (port?: number) =>
  startTemporalServer({ cliPath: inject('temporalCli'), dbFilename, ...(port && { port }) });
const portOf = ({ address }: TemporalServer) => Number(address.split(':')[1]);

async function kill(): Promise<void> {
  process.kill(server.pid, 'SIGKILL');
  // Until nobody answers on its port.
  await server.stop();
}
async function restart(): Promise<void> {
  server = await start(portOf(server));
}

beforeAll(async () => {
  server = await start();
  stack = await startStack({ answerTimeoutMs: 4_000, startTimeoutMs: 2_000 }, { address: server.address });
  actors = createActors();
  await stack.startWorker(actors);
}, 120_000);
afterAll(async () => {
  await stack?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function ended(id: string) {
  await becomes(stack.client, id, isTerminal, 90_000);
  return agreedEnd(stack, id);
}

describe('the Temporal server is killed and started again', () => {
  test('what waits goes on, what fell due expires, what ran is kept; meanwhile callers are told, and lose nothing', {
    timeout: 180_000,
  }, async () => {
    const { client } = stack;
    const expiresAt = inMs(25_000);
    const waiting = await created(client);
    const due = await created(client, pause('user_reply', { bounds: { expiresAt } }));
    const wakes = await created(
      client,
      pause('scheduled_wake', {
        harnessResult: {
          outcome: 'deferred',
          continuation: { state: { question: 'Later', scheduledWake: true, wakeAt: expiresAt } },
        },
      }),
    );
    const runs = await created(client);
    const result = gate();
    actors.plays(runs.id, async () => {
      await result.opened;
      return DONE;
    });
    taken(await client.resume({ continuationId: runs.id, trigger: reply() }));
    await actors.running(runs.id);
    await Promise.all([waiting, due, wakes].map(({ id }) => stack.waits(id)));

    await kill();

    // The harness ends while the workflow cannot be told: the turn ends in its row, and its follow-up arrives all the same.
    result.open();
    expect(await becomes(client, runs.id, isTerminal, 60_000)).toMatchObject({
      status: 'completed',
      delivery: { status: 'delivered' },
    });
    await expect(client.resume({ continuationId: waiting.id, trigger: reply('too early') })).rejects.toMatchObject({
      code: 'temporal_unavailable',
    });
    await expect(client.stop({ continuationId: waiting.id, reason: 'cancelled_by_user' })).rejects.toMatchObject({
      code: 'temporal_unavailable',
    });
    const meanwhile = taken(await client.create(pause()));
    expect(meanwhile).toMatchObject({ created: true, started: false });
    await reached(expiresAt);

    await restart();

    expect((await ended(due.id)).record).toMatchObject({
      status: 'expired',
      delivery: { status: 'suppressed_expired' },
    });
    expect((await ended(wakes.id)).record).toMatchObject({
      status: 'completed',
      answers: [{ type: 'scheduled_wake', subject: 'system', receivedAt: expiresAt }],
    });
    const kept = await ended(runs.id);
    expect(kept.record).toMatchObject({
      status: 'completed',
      resume: { attempt: 1 },
      delivery: { status: 'delivered' },
    });
    expect(kept.kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(actors.turns(runs.id)).toHaveLength(1);
    expect(actors.deliveries(runs.id)).toHaveLength(1);
    for (const id of [waiting.id, meanwhile.record.id]) {
      const answered = await client.resume(
        { continuationId: id, trigger: reply() },
        { until: 'finished', timeoutMs: 60_000 },
      );
      expect(taken(answered)).toMatchObject({ outcome: 'accepted', harnessResult: DONE });
      expect((await ended(id)).record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
      expect(actors.turns(id)).toHaveLength(1);
    }
  });

  test('the database that was lost with the server: the next answer starts the workflow from the row', {
    timeout: 180_000,
  }, async () => {
    const { client } = stack;
    const { id } = await created(client);
    await stack.waits(id);
    await kill();
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${dbFilename}${suffix}`, { force: true });
    await restart();
    await expect(stack.historyLength(id)).rejects.toThrow(/not found/);
    const answered = await client.resume(
      { continuationId: id, trigger: reply() },
      { until: 'finished', timeoutMs: 60_000 },
    );
    expect(taken(answered)).toMatchObject({ outcome: 'accepted', harnessResult: DONE });
    expect((await ended(id)).kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(actors.turns(id)).toHaveLength(1);
  });
});
