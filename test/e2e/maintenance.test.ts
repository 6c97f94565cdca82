/** Nothing waits without an owner (C13): what became of rows whose workflow was never started, or was closed from outside. */
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { MaintenanceReport } from '../../activities/contract.ts';
import { createMaintain, type MaintenanceOptions } from '../../activities/maintain.ts';
import { type ContinuationClient, OutcomeUnknown, type Store } from '../../src/index.ts';
import { type RepairDeps, repair } from '../../src/repair.ts';
import { createStarter } from '../../src/start.ts';
import { MAINTENANCE_TYPE } from '../../workflows/messages.ts';
import { DAY, HOUR, reply } from '../support/builders.ts';
import { query } from '../support/database.ts';
import { bundleMutated } from '../support/mutated-bundle.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  gate,
  pause,
  refusalOf,
  type Stack,
  startStack,
  taken,
  untilAborted,
} from '../support/stack.ts';

let stack: Stack;
let actors: Actors;
/** A client that reaches the database and not the Temporal server. */
let cutOff: ContinuationClient;
let nowhere: Connection;

beforeAll(async () => {
  stack = await startStack();
  actors = createActors();
  await stack.startWorker(actors);
  nowhere = Connection.lazy({ address: '127.0.0.1:1' });
  cutOff = stack.newClient({ connection: nowhere, startTimeoutMs: 200, answerTimeoutMs: 200 });
});
afterAll(async () => {
  await nowhere?.close();
  await stack?.close();
});

function repairDeps(store: Store = stack.store): RepairDeps {
  const options = { searchAttributes: true, announce: false, directMessages: true, heartbeatTimeoutMs: 10_000 };
  const starter = createStarter(stack.temporal, { taskQueue: stack.taskQueue, ...options }, () => {});
  return { store, temporal: stack.temporal, starter };
}

/** One pass, as the activity makes it. */
async function pass(options: Partial<MaintenanceOptions> = {}, store?: Store): Promise<MaintenanceReport> {
  const maintain = createMaintain(repairDeps(store), { graceMs: 0, retentionMs: 90 * DAY, ...options });
  return new MockActivityEnvironment().run(maintain);
}

const sql = (text: string, ...values: unknown[]) => query(stack.databaseUrl, text, values);
/** As if nobody had looked at it for `ms`. */
const unseenFor = (id: string, ms: number) =>
  sql(`update continuations.continuations set seen_at = now() - $2 * interval '1 millisecond' where id = $1`, id, ms);
const rowOf = async (id: string) => (await sql('select xmin, * from continuations.continuations where id = $1', id))[0];
const kindsOf = async (id: string) => (await stack.client.receipts(id))?.map((one) => one.kind);

const CLOSED = { code: 'workflow_closed', message: 'Its workflow was closed from outside: TERMINATED.' };

describe('a workflow terminated from outside', () => {
  test('right after it took an answer: the row ends first, and the caller is not told that it was accepted (C1)', async () => {
    // Turns that nobody runs, so that only the client can write the answer.
    const { id } = await created(stack.newClient({ turnTaskQueue: `nobody-${randomUUID()}` }));
    const store: Store = {
      ...stack.store,
      async write(record, receipts) {
        if (record.status === 'resuming' && (await stack.handle(id).describe()).status.name === 'RUNNING') {
          await stack.handle(id).terminate('by hand');
          const row = await stack.store.getAcrossScopes(id);
          if (row) await repair(repairDeps(), row);
        }
        return stack.store.write(record, receipts);
      },
    };
    const refusal = refusalOf(await stack.newClient({ store }).resume({ continuationId: id, trigger: reply() }));
    expect(refusal).toMatchObject({ code: 'already_terminal', status: 'failed' });
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ status: 'failed', answers: [] });
    expect(await kindsOf(id)).toEqual(['created', 'stopped']);
  });

  test('while it waits: the next answer repairs the row and is refused, and so is every other', async () => {
    const { id } = await created(stack.client);
    await stack.waits(id);
    await stack.handle(id).terminate('by hand');
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ status: 'pending' });
    for (const text of ['first', 'second']) {
      const refusal = refusalOf(await stack.client.resume({ continuationId: id, trigger: reply(text) }));
      expect(refusal).toMatchObject({ code: 'already_terminal', status: 'failed' });
    }
    expect(await stack.client.get({ continuationId: id })).toMatchObject({
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      error: CLOSED,
      delivery: { status: 'not_applicable' },
      answers: [],
    });
    expect(await kindsOf(id)).toEqual(['created', 'stopped']);
    expect(actors.turns(id)).toHaveLength(0);
  });

  test('while it waits: a stop repairs the row as well, and what it failed of stays', async () => {
    const { id } = await created(stack.client);
    await stack.waits(id);
    await stack.handle(id).terminate('by hand');
    const stopped = taken(await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    expect(stopped).toMatchObject({ record: { status: 'failed', error: CLOSED } });
  });

  test('while a turn runs: the turn is closed, the harness hears of it, and the next answer is told who had won', async () => {
    const client = stack.newClient({ heartbeatTimeoutMs: 2_000 });
    const { id } = await created(client);
    actors.plays(id, untilAborted);
    taken(await client.resume({ continuationId: id, trigger: reply('mine') }));
    const { signal } = await actors.running(id);
    await stack.handle(id).terminate('by hand');
    const refusal = refusalOf(await client.resume({ continuationId: id, trigger: reply('other'), messageId: 'other' }));
    expect(refusal).toMatchObject({ code: 'already_terminal', winner: { type: 'user_reply', subject: 'anonymous' } });
    expect(await client.get({ continuationId: id })).toMatchObject({
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      error: CLOSED,
      delivery: { status: 'not_applicable' },
    });
    await vi.waitFor(() => expect(signal.aborted).toBe(true), 20_000);
    expect(await kindsOf(id)).toEqual(['created', 'admitted', 'started', 'stopped']);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('while a follow-up is on its way: the turn keeps what it earned, and the follow-up may have arrived', async () => {
    const { id } = await created(stack.client);
    const arrived = gate();
    const delivering = gate();
    actors.delivers(id, async () => {
      delivering.open();
      await arrived.opened;
      return { status: 'delivered' };
    });
    taken(await stack.client.resume({ continuationId: id, trigger: reply() }));
    await delivering.opened;
    await stack.handle(id).terminate('by hand');
    refusalOf(await stack.client.resume({ continuationId: id, trigger: reply('x'), messageId: 'other' }));
    const record = await becomes(stack.client, id);
    expect(record).toMatchObject({
      status: 'completed',
      delivery: { status: 'delivery_failed', uncertain: true, error: expect.stringContaining('may have arrived') },
    });
    arrived.open();
    await unseenFor(id, 2 * DAY);
    await pass();
    expect(await stack.client.get({ continuationId: id })).toEqual(record);
    expect(await kindsOf(id)).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
  });

  test('between a turn and its follow-up: nobody delivers it, and that is said', async () => {
    const taskQueue = `maintenance-${randomUUID()}`;
    const client = stack.newClient({ taskQueue });
    const own = createActors();
    const settled = gate();
    const told = gate();
    // The end of the turn is committed, and its activity not told.
    const store: Store = {
      ...stack.store,
      async endTurn(end) {
        const ended = await stack.store.endTurn(end);
        settled.open();
        await told.opened;
        return ended;
      },
    };
    await stack.startWorker({ ...own, store, taskQueue });
    const { id } = await created(client);
    taken(await client.resume({ continuationId: id, trigger: reply() }));
    await settled.opened;
    await stack.handle(id).terminate('by hand');
    refusalOf(await client.resume({ continuationId: id, trigger: reply('x'), messageId: 'other' }));
    const record = await becomes(stack.client, id);
    expect(record).toMatchObject({
      status: 'completed',
      delivery: { status: 'delivery_failed', error: CLOSED.message },
    });
    expect(record.delivery.uncertain).toBeUndefined();
    expect(own.deliveries(id)).toHaveLength(0);
    told.open();
  });

  test('a pass repairs it as failed, with the cause, when it was not seen for a day or its deadline is past', async () => {
    const { id } = await created(stack.client);
    const late = await created(
      stack.client,
      pause('user_reply', { bounds: { expiresAt: new Date(Date.now() + HOUR).toISOString() } }),
    );
    await Promise.all([stack.waits(id), stack.waits(late.id)]);
    await Promise.all([stack.handle(id).terminate('by hand'), stack.handle(late.id).terminate('by hand')]);
    expect(await pass()).toMatchObject({ repaired: 0 });
    await unseenFor(id, 2 * DAY);
    await sql(`update continuations.continuations set expires_at = now() - interval '1 minute' where id = $1`, late.id);
    expect(await pass()).toMatchObject({ repaired: 2 });
    for (const one of [id, late.id]) {
      expect(await stack.client.get({ continuationId: one })).toMatchObject({
        status: 'failed',
        terminalReason: 'resume_runtime_error',
        error: CLOSED,
      });
      expect(await kindsOf(one)).toEqual(['created', 'stopped']);
    }
  });

  test('a repair that read an old row changes nothing', async () => {
    const { id } = await created(stack.client);
    const before = await stack.store.getAcrossScopes(id);
    taken(await stack.client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' }));
    const { record } = await agreedEnd(stack, id);
    expect(await repair(repairDeps(), before as never)).toBe('ended');
    expect(await stack.client.get({ continuationId: id })).toEqual(record);
    expect(await kindsOf(id)).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
  });
});

describe('one pass', () => {
  test('starts what was created while Temporal could not be reached, after the grace', async () => {
    const { record, ...result } = taken(await cutOff.create(pause()));
    const { id } = record;
    expect(result).toMatchObject({ created: true, started: false });
    expect(await pass({ graceMs: HOUR })).toMatchObject({ started: 0 });
    expect(await rowOf(id)).toMatchObject({ started: false });
    expect(await pass()).toMatchObject({ started: 1 });
    expect(await rowOf(id)).toMatchObject({ started: true });
    expect(await pass()).toMatchObject({ started: 0 });
    taken(await stack.client.resume({ continuationId: id, trigger: reply() }));
    expect((await agreedEnd(stack, id)).kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
  });

  test('leaves alone what runs, though it was not marked started', async () => {
    const { id } = await created(stack.client);
    await stack.waits(id);
    const { runId } = await stack.handle(id).describe();
    await vi.waitFor(async () => expect(await rowOf(id)).toMatchObject({ started: true }));
    await sql('update continuations.continuations set started = false where id = $1', id);
    expect(await pass()).toMatchObject({ started: 0, repaired: 0 });
    expect(await rowOf(id)).toMatchObject({ started: true, status: 'pending' });
    expect((await stack.handle(id).describe()).runId).toBe(runId);
  });

  test('starts the newer turn of a session and stops the older one, when the client could do neither', async () => {
    const sessionId = randomUUID();
    const older = await created(stack.client, pause('user_reply', { sessionId }));
    await stack.waits(older.id);
    const newer = taken(await cutOff.create(pause('user_reply', { sessionId, supersede: true })));
    expect(newer).toMatchObject({ started: false });
    // The client refuses at once: the row is marked.
    const refusal = refusalOf(await stack.client.resume({ continuationId: older.id, trigger: reply() }));
    expect(refusal).toMatchObject({ code: 'already_terminal', message: `superseded by ${newer.record.id}` });
    expect(await pass()).toMatchObject({ started: 1, superseded: 1 });
    const { record, kinds } = await agreedEnd(stack, older.id);
    expect(record).toMatchObject({
      status: 'superseded',
      supersededBy: newer.record.id,
      delivery: { status: 'suppressed_superseded' },
    });
    expect(kinds).toEqual(['created', 'stopped']);
    taken(await stack.client.resume({ continuationId: newer.record.id, trigger: reply() }));
    expect((await agreedEnd(stack, newer.record.id)).record).toMatchObject({ status: 'completed' });
    expect(await pass()).toMatchObject({ superseded: 0 });
  });

  test('deletes what ended longer ago than the retention, and nothing else', async () => {
    const [old, recent, waiting] = await Promise.all([1, 2, 3].map(() => created(stack.client)));
    for (const one of [old, recent]) {
      await stack.client.stop({ continuationId: one?.id as string, reason: 'cancelled_by_user' });
      await agreedEnd(stack, one?.id as string);
    }
    const age = `update continuations.continuations set updated_at = now() - $2 * interval '1 millisecond' where id = $1`;
    await sql(age, old?.id, 91 * DAY);
    await sql(age, recent?.id, 89 * DAY);
    await sql(age, waiting?.id, 900 * DAY);
    expect(await pass()).toMatchObject({ purgedRecords: 1 });
    expect(await rowOf(old?.id as string)).toBeUndefined();
    expect(await stack.client.receipts(old?.id as string)).toBeNull();
    expect(await rowOf(recent?.id as string)).toMatchObject({ status: 'cancelled' });
    expect(await rowOf(waiting?.id as string)).toMatchObject({ status: 'pending' });
  });

  test('does not touch a terminal row', async () => {
    const { id } = await created(stack.client);
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
    await agreedEnd(stack, id);
    // Whatever would make an open row due.
    await sql(
      `update continuations.continuations set started = false, seen_at = now() - interval '9 days', expires_at = now() - interval '1 day',
        superseded_by = 'cont_01KBCDEFGHJKMNPQRSTVWXYZ01' where id = $1`,
      id,
    );
    const before = await rowOf(id);
    await pass();
    expect(await rowOf(id)).toEqual(before);
  });

  test('a row that cannot be read does not keep the others from their pass', async () => {
    const broken = taken(await cutOff.create(pause())).record.id;
    const whole = taken(await cutOff.create(pause())).record.id;
    await sql(`update continuations.continuations set record = record - 'waitFor' where id = $1`, broken);
    expect(await pass()).toMatchObject({ started: 1 });
    expect(await rowOf(whole)).toMatchObject({ started: true });
    expect(await rowOf(broken)).toMatchObject({ started: false, status: 'pending' });
    await sql('delete from continuations.continuations where id = $1', broken);
  });

  test('goes on while batches are full, and purges until nothing is left', async () => {
    const due = Array.from({ length: 1_200 }, (_, n) => ({
      id: `cont_${String(n).padStart(26, '0')}`,
      reason: 'unseen' as const,
    }));
    const [asked, seen]: [number[], string[]] = [[], []];
    const ended = [500, 500, 7];
    const store: Store = {
      ...stack.store,
      async dueAcrossScopes({ limit }) {
        asked.push(limit);
        return due.splice(0, limit);
      },
      async markSeen(ids) {
        seen.push(...ids);
      },
      purgeAcrossScopes: async () => ({ records: ended.shift() ?? 0, contents: 0 }),
    };
    expect(await pass({}, store)).toMatchObject({ purgedRecords: 1_007 });
    expect(asked).toHaveLength(3);
    expect(new Set(seen).size).toBe(1_200);
  });

  test('leaves what it did not come to for the next pass while Temporal is away', async () => {
    const { id } = taken(await cutOff.create(pause())).record;
    const before = await rowOf(id);
    const away: RepairDeps = { ...repairDeps(), temporal: new Client({ connection: nowhere }) };
    const maintain = createMaintain(away, { graceMs: 0, retentionMs: 90 * DAY });
    expect(await new MockActivityEnvironment().run(maintain)).toMatchObject({ started: 0 });
    expect(await rowOf(id)).toEqual(before);
    expect(await pass()).toMatchObject({ started: 1 });
  });

  test('reports what is overdue, uncertain and never expires', async () => {
    const before = await pass();
    const never = await created(stack.client, pause('user_reply', { bounds: { neverExpires: true } }));
    const overdue = await created(stack.client);
    const unknown = await created(stack.client);
    actors.plays(unknown.id, () => Promise.reject(new OutcomeUnknown('the bank did not answer')));
    taken(await stack.client.resume({ continuationId: unknown.id, trigger: reply() }));
    await becomes(stack.client, unknown.id, (record) => record.resume?.uncertain !== undefined);
    await sql(
      `update continuations.continuations set expires_at = now() - interval '1 second' where id = $1`,
      overdue.id,
    );
    const report = await pass();
    expect(report).toMatchObject({
      neverExpires: before.neverExpires + 1,
      overdue: before.overdue + 1,
      uncertain: before.uncertain + 1,
      open: before.open + 3,
    });
    for (const { id } of [never, overdue, unknown])
      await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });
});

describe('the maintenance workflow', () => {
  const handleOf = (taskQueue: string) => stack.handle(`continuation-maintenance:${taskQueue}`);

  test('is started by any worker, one for each task queue, and passes again and again', async () => {
    const taskQueue = `maintenance-${randomUUID()}`;
    const own = createActors();
    const maintenance = { intervalMs: 100, graceMs: 0 };
    const first = await stack.startWorker({ ...own, taskQueue, maintenance });
    const { runId } = await handleOf(taskQueue).describe();
    await first.stop();
    await stack.startWorker({ ...own, taskQueue, maintenance });
    expect(await handleOf(taskQueue).describe()).toMatchObject({
      runId,
      type: MAINTENANCE_TYPE,
      status: { name: 'RUNNING' },
    });
    // Two, one after the other: the second is found by a later pass.
    const client = stack.newClient({ taskQueue, connection: nowhere, startTimeoutMs: 200 });
    for (let round = 0; round < 2; round++) {
      const { record, started } = taken(await client.create(pause()));
      expect(started).toBe(false);
      await vi.waitFor(async () => expect(await rowOf(record.id)).toMatchObject({ started: true }), 30_000);
      taken(await stack.client.resume({ continuationId: record.id, trigger: reply() }, { until: 'finished' }));
      expect(own.turns(record.id)).toHaveLength(1);
    }
    await handleOf(taskQueue).terminate('the test is over');
  });

  test('survives a pass that fails for good, and goes on in a new run before its history grows long', async () => {
    const taskQueue = `maintenance-${randomUUID()}`;
    let passes = 0;
    const store: Store = {
      ...stack.store,
      async dueAcrossScopes(what) {
        passes += 1;
        // As often as one pass is tried.
        if (passes <= 3) throw new Error('out of order');
        return stack.store.dueAcrossScopes(what);
      },
    };
    // A run of 100 passes takes minutes.
    const passesPerRun = { file: 'workflows/maintenance.ts', from: 'PASSES_PER_RUN = 100', to: 'PASSES_PER_RUN = 3' };
    const workflowBundle = await bundleMutated(passesPerRun);
    const maintenance = { intervalMs: 1, graceMs: HOUR };
    await stack.startWorker({ ...createActors(), store, taskQueue, maintenance, workflowBundle });
    const { runId } = await handleOf(taskQueue).describe();
    await vi.waitFor(async () => expect((await handleOf(taskQueue).describe()).runId).not.toBe(runId), 60_000);
    const id = `continuation-maintenance:${taskQueue}`;
    const { events } = await stack.temporal.workflow.getHandle(id, runId).fetchHistory();
    const count = (name: string) => events?.filter((event) => name in event && event[name as never]).length;
    expect(count('activityTaskFailedEventAttributes')).toBe(1);
    expect(count('activityTaskCompletedEventAttributes')).toBe(2);
    expect(events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes).toBeTruthy();
    expect((await handleOf(taskQueue).describe()).status.name).toBe('RUNNING');
    await handleOf(taskQueue).terminate('the test is over');
  }, 120_000);
});
