/**
 * A worker that is killed (`kill -9`) at every point of a continuation's life, and another that goes on: no effect twice (C7),
 * an unknown outcome is shown and never guessed (C8), and what was committed stands (C6).
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { digestText } from '../../src/digest.ts';
import type { ContinuationClient, ContinuationRecord } from '../../src/index.ts';
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
  PAUSES,
  pause,
  refusalOf,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack?.close());

const children: ChildWorker[] = [];
afterAll(() => Promise.all(children.map((child) => child.kill())));

/** A task queue of its own, a worker process on it, and a client that takes it for lost after three seconds. */
async function victim(options: Partial<Options> = {}) {
  const taskQueue = `crash-${randomUUID()}`;
  const client = stack.newClient({ taskQueue, heartbeatTimeoutMs: 3_000 });
  const start = async (more: Partial<Options> = {}) => {
    const child = await startChildWorker({ ...servers(), taskQueue, ...options, ...more });
    children.push(child);
    return child;
  };
  return { client, taskQueue, child: await start(), start };
}

const servers = () => ({ address: stack.address, databaseUrl: stack.databaseUrl });

/** Another worker on the same queue, in this process. */
async function successor(taskQueue: string, change: (actors: Actors) => Partial<Actors> = () => ({})): Promise<Actors> {
  const actors = createActors();
  await stack.startWorker({ ...actors, ...change(actors), taskQueue });
  return actors;
}

async function answered(client: ContinuationClient): Promise<string> {
  const { id } = await created(client);
  expect(taken(await client.resume({ continuationId: id, trigger: reply() }))).toMatchObject({ outcome: 'accepted' });
  return id;
}

/** How it ended, when row, workflow and receipts say the same. */
async function ended(id: string) {
  await becomes(stack.client, id, isTerminal, 90_000);
  return agreedEnd(stack, id);
}
const PATIENCE = { timeout: 150_000 };
const decision = (id: string) => ({
  continuationId: id,
  turnId: `${id}:resume:1`,
  attempt: 1,
  proof: { ref: 'ledger/1', digest: digestText('the ledger') },
  observedAt: new Date(),
});
const isUncertain = (record: ContinuationRecord) => record.resume?.uncertain !== undefined;
const turnRow = async (id: string) =>
  (await query(stack.databaseUrl, 'select * from continuations.turns where continuation_id = $1', [id]))[0];

describe.concurrent('a worker killed', PATIENCE, () => {
  test('while its continuation waits costs nothing: the next answer resumes it, once', async () => {
    const { client, taskQueue, child } = await victim();
    const { id } = await created(client);
    // It waits in the memory of the worker that is about to die.
    await stack.waits(id);
    await child.kill();
    const next = await successor(taskQueue);
    const result = await client.resume(
      { continuationId: id, trigger: reply() },
      { until: 'finished', timeoutMs: 90_000 },
    );
    expect(taken(result)).toMatchObject({ outcome: 'accepted', harnessResult: DONE });
    expect((await ended(id)).record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
    expect(next.turns(id)).toHaveLength(1);
    expect(child.ledger()).toEqual([]);
  });

  test('before it has opened what a turn asked next: another worker opens it as soon as it is missed', async () => {
    const { client, taskQueue, child } = await victim({ dieBefore: 'write' });
    const id = await answered(client);
    child.returns(await child.next('turn'), PAUSES.approval_resolution);
    expect(await child.ended).toBe('SIGKILL');
    await successor(taskQueue);
    // Well before the minute that such a write may take.
    await becomes(client, id, ({ status, answers }) => status === 'pending' && answers.length === 1, 30_000);
    taken(await client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    expect((await ended(id)).kinds).toEqual(['created', 'admitted', 'started', 'settled', 'opened', 'stopped']);
  });

  test('while its harness runs leaves an unknown outcome: shown, never run again, stopped by a person', async () => {
    const { client, taskQueue, child } = await victim();
    const id = await answered(client);
    await child.next('turn');
    await child.kill();
    const next = await successor(taskQueue);
    const uncertain = await becomes(client, id, isUncertain, 90_000);
    expect(uncertain).toMatchObject({
      status: 'resuming',
      resume: { attempt: 1, uncertain: { cause: 'lost', message: expect.stringContaining('never recorded') } },
      delivery: { status: 'pending_delivery' },
    });
    const refused = refusalOf(await client.resume({ continuationId: id, trigger: reply('again'), messageId: 'other' }));
    expect(refused).toMatchObject({ code: 'already_resumed', winner: { type: 'user_reply' } });
    expect(await turnRow(id)).toMatchObject({ state: 'uncertain', attempt: 1, fence: 2 });
    taken(await client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'cancelled', resume: { uncertain: { cause: 'lost' } } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'uncertain', 'stopped']);
    expect(next.turns(id)).toHaveLength(0);
    expect(child.ledger()).toEqual([`turn ${id}:resume:1 1`]);
  });

  test('while a replayable harness runs: another worker runs the turn again, as attempt 2', async () => {
    const { client, taskQueue, child } = await victim({ replayable: true });
    const id = await answered(client);
    await child.next('turn');
    await child.kill();
    const next = await successor(taskQueue, ({ harness }) => ({ harness: { ...harness, replayable: true } }));
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', resume: { attempt: 2 }, bounds: { resumeAttempts: 1 } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'started', 'settled', 'delivered']);
    expect(next.turns(id)).toMatchObject([{ attempt: 2, resumedTurnId: `${id}:resume:1`, trigger: reply() }]);
  });
});

describe.concurrent('a worker killed between a commit and its acknowledgement', PATIENCE, () => {
  test('of the begin of a turn: nobody can know that its harness was not called, so its outcome is unknown', async () => {
    const { client, taskQueue, child } = await victim({ dieAfter: 'beginTurn' });
    const id = await answered(client);
    expect(await child.ended).toBe('SIGKILL');
    const next = await successor(taskQueue);
    expect(await becomes(client, id, isUncertain, 90_000)).toMatchObject({
      status: 'resuming',
      resume: { uncertain: { cause: 'lost' } },
    });
    expect(next.turns(id)).toHaveLength(0);
    expect(child.ledger()).toEqual(['died after beginTurn']);
    taken(await client.stop({ continuationId: id, reason: 'cancelled_by_product' }));
    await ended(id);
  });

  test('of a turn: the stored result is adopted, the harness ran once', async () => {
    const { client, taskQueue, child } = await victim({ dieAfter: 'endTurn' });
    const id = await answered(client);
    child.returns(await child.next('turn'), { outcome: 'completed', assistantMessage: { text: 'from the dead' } });
    expect(await child.ended).toBe('SIGKILL');
    const next = await successor(taskQueue);
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', resume: { attempt: 1 }, delivery: { status: 'delivered' } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(next.turns(id)).toHaveLength(0);
    expect(next.deliveries(id)).toMatchObject([{ harnessResult: { assistantMessage: { text: 'from the dead' } } }]);
    expect(child.ledger()).toEqual([`turn ${id}:resume:1 1`, 'died after endTurn']);
  });

  test('of a turn that asks again: the new question is opened, once', async () => {
    const { client, taskQueue, child } = await victim({ dieAfter: 'endTurn' });
    const id = await answered(client);
    child.returns(await child.next('turn'), {
      outcome: 'needs_clarification',
      continuation: { state: { question: 'And which size?' } },
    });
    expect(await child.ended).toBe('SIGKILL');
    const next = await successor(taskQueue);
    const asks = await becomes(
      client,
      id,
      (record) => record.status === 'pending' && record.answers.length === 1,
      90_000,
    );
    expect(asks).toMatchObject({ suspension: { question: 'And which size?' }, bounds: { resumeAttempts: 1 } });
    const { suspension } = asks;
    taken(await client.resume({ continuationId: id, suspensionId: suspension.id, trigger: reply('large') }));
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 2 } });
    expect(kinds).toEqual([
      'created',
      'admitted',
      'started',
      'settled',
      'opened',
      'admitted',
      'started',
      'settled',
      'delivered',
    ]);
    expect(next.turns(id)).toMatchObject([{ resumedTurnId: `${id}:resume:2` }]);
  });

  test('of the end of a failed attempt: the turn is run again as attempt 2, nobody is asked again', async () => {
    const { client, taskQueue, child } = await victim({ dieAfter: 'endTurn' });
    const id = await answered(client);
    child.throwsTransient(await child.next('turn'));
    expect(await child.ended).toBe('SIGKILL');
    const next = await successor(taskQueue);
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', resume: { attempt: 2 }, bounds: { resumeAttempts: 1 } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'attempt_ended', 'started', 'settled', 'delivered']);
    expect(next.turns(id)).toMatchObject([{ attempt: 2, trigger: reply() }]);
  });
});

describe.concurrent('a worker killed right before', PATIENCE, () => {
  test('the begin of a turn: nothing had happened, and another worker runs it, once', async () => {
    const { client, taskQueue, child } = await victim({ dieBefore: 'beginTurn' });
    const id = await answered(client);
    expect(await child.ended).toBe('SIGKILL');
    const next = await successor(taskQueue);
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', resume: { attempt: 1 }, bounds: { resumeAttempts: 1 } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(next.turns(id)).toHaveLength(1);
    expect(child.ledger()).toEqual(['died before beginTurn']);
  });

  test('the end of a turn: its harness may have acted, so its outcome is unknown until an operator says', async () => {
    const { client, taskQueue, child } = await victim({ dieBefore: 'endTurn' });
    const id = await answered(client);
    const turn = await child.next('turn');
    const heardOf = async () => {
      const [activity] = (await stack.handle(id).describe()).raw.pendingActivities ?? [];
      expect(activity?.heartbeatDetails?.payloads).toHaveLength(1);
    };
    await vi.waitFor(heardOf, 30_000);
    child.returns(turn, DONE);
    expect(await child.ended).toBe('SIGKILL');
    const next = await successor(taskQueue);
    const { resume } = await becomes(client, id, isUncertain, 90_000);
    const evidence = { worker: expect.any(String), lastHeartbeatAt: expect.stringMatching(/^2/) };
    expect(resume?.uncertain).toMatchObject({ cause: 'lost', ...evidence });
    taken(await client.reconcile({ ...decision(id), action: 'happened', result: DONE }));
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'delivered' } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'uncertain', 'reconciled', 'settled', 'delivered']);
    expect(next.turns(id)).toHaveLength(0);
  });

  test('a delivery: nothing had happened, and another worker delivers it, once', async () => {
    const { client, taskQueue, child } = await victim({ dieBefore: 'beginDelivery' });
    const id = await answered(client);
    child.returns(await child.next('turn'), DONE);
    expect(await child.ended).toBe('SIGKILL');
    const next = await successor(taskQueue);
    expect((await ended(id)).record).toMatchObject({ status: 'completed', delivery: { status: 'delivered' } });
    expect(next.deliveries(id)).toHaveLength(1);
  });
});

describe.concurrent('a worker killed around an operator’s decision', PATIENCE, () => {
  test.for(['dieBefore', 'dieAfter'] as const)('%s it is committed: it is carried out, once', async (when) => {
    const taskQueue = `crash-${randomUUID()}`;
    const client = stack.newClient({ taskQueue, heartbeatTimeoutMs: 3_000, answerTimeoutMs: 90_000 });
    const first = await startChildWorker({ ...servers(), taskQueue });
    children.push(first);
    const id = await answered(client);
    await first.next('turn');
    await first.kill();
    const second = await startChildWorker({ ...servers(), taskQueue, [when]: 'reconcileTurn' });
    children.push(second);
    await becomes(client, id, isUncertain, 90_000);
    const deciding = client.reconcile({ ...decision(id), action: 'did_not_happen' });
    expect(await second.ended).toBe('SIGKILL');
    const next = await successor(taskQueue);
    expect(taken(await deciding).receipt).toMatchObject({ kind: 'reconciled' });
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', resume: { attempt: 2 }, bounds: { resumeAttempts: 1 } });
    expect(kinds).toEqual([
      'created',
      'admitted',
      'started',
      'uncertain',
      'reconciled',
      'started',
      'settled',
      'delivered',
    ]);
    expect(next.turns(id)).toHaveLength(1);
  });
});

describe.concurrent('a worker killed while it delivers', PATIENCE, () => {
  const delivering = async (child: ChildWorker, client: ContinuationClient) => {
    const id = await answered(client);
    child.returns(await child.next('turn'), DONE);
    return id;
  };
  const isToldAsUncertain = async (id: string, next: Actors) => {
    const { record, kinds } = await ended(id);
    expect(record).toMatchObject({
      status: 'completed',
      terminalReason: 'completed',
      delivery: { status: 'delivery_failed', uncertain: true, error: expect.stringContaining('may have arrived') },
    });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(next.deliveries(id)).toHaveLength(0);
  };

  test('an adapter that is not idempotent is called once: the follow-up is told as failed and uncertain', async () => {
    const { client, taskQueue, child } = await victim();
    const id = await delivering(child, client);
    await child.next('delivery');
    await child.kill();
    const next = await successor(taskQueue);
    await isToldAsUncertain(id, next);
    expect(child.ledger()).toEqual([`turn ${id}:resume:1 1`, `delivery ${id}:resume:1 0`]);
  });

  test('after a stop that suppresses it: nobody knows whether it arrived, and it is not told as suppressed', async () => {
    const { client, taskQueue, child } = await victim({ ignoresAbort: true });
    const id = await delivering(child, client);
    await child.next('delivery');
    await stack.handle(id).signal('stop', { reason: 'session_no_longer_deliverable' });
    await vi.waitFor(async () => {
      const { events } = await stack.handle(id).fetchHistory();
      expect(events?.some((one) => one.activityTaskCancelRequestedEventAttributes)).toBe(true);
    }, 30_000);
    await child.kill();
    const next = await successor(taskQueue);
    await isToldAsUncertain(id, next);
  });

  test('an idempotent adapter is called again with the same delivery id', async () => {
    const { client, taskQueue, child } = await victim({ idempotent: true });
    const id = await delivering(child, client);
    const call = await child.next('delivery');
    await child.kill();
    const next = await successor(taskQueue, ({ delivery }) => ({ delivery: { ...delivery, idempotent: true } }));
    const { record } = await ended(id);
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'delivered' } });
    expect(record.delivery.uncertain).toBeUndefined();
    expect(next.deliveries(id)).toMatchObject([{ deliveryId: call.turnId }]);
    expect(next.turns(id)).toHaveLength(0);
  });

  test('between the commit of the delivery and its acknowledgement: it is not delivered again', async () => {
    const { client, taskQueue, child } = await victim({ dieAfter: 'endDelivery', idempotent: true });
    const id = await delivering(child, client);
    child.delivers(await child.next('delivery'), { status: 'delivered', metadata: { receipt: 'r-1' } });
    expect(await child.ended).toBe('SIGKILL');
    const next = await successor(taskQueue, ({ delivery }) => ({ delivery: { ...delivery, idempotent: true } }));
    const { record } = await ended(id);
    expect(record).toMatchObject({
      status: 'completed',
      delivery: { status: 'delivered', metadata: { receipt: 'r-1' } },
    });
    expect(next.deliveries(id)).toHaveLength(0);
  });
});

describe.concurrent('a client killed', PATIENCE, () => {
  test('between the commit of a create and the start: the repeated create finds the row and starts its workflow', async () => {
    const taskQueue = `crash-${randomUUID()}`;
    const client = stack.newClient({ taskQueue });
    const input = pause('user_reply', { originTurnId: randomUUID() });
    const child = await startChildWorker({ ...servers(), taskQueue, dieAfter: 'create', create: input });
    children.push(child);
    expect(await child.ended).toBe('SIGKILL');
    const [row] = (await client.list({ scope: 'app=default' })).records.filter(
      (one) => one.origin.turnId === input.originTurnId,
    );
    const id = row?.id as string;
    await expect(stack.historyLength(id)).rejects.toThrow('not found');
    const again = taken(await client.create(input));
    expect(again).toMatchObject({ created: false, started: true, record: { id } });
    const next = await successor(taskQueue);
    taken(await client.resume({ continuationId: id, trigger: reply() }));
    const { kinds } = await ended(id);
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(next.turns(id)).toHaveLength(1);
  });

  test('between the commit of a create and the start: an answer starts the workflow, without another create', async () => {
    const taskQueue = `crash-${randomUUID()}`;
    const client = stack.newClient({ taskQueue });
    const input = pause('user_reply', { originTurnId: randomUUID() });
    const child = await startChildWorker({ ...servers(), taskQueue, dieAfter: 'create', create: input });
    children.push(child);
    expect(await child.ended).toBe('SIGKILL');
    const [row] = (await client.list()).records.filter((one) => one.origin.turnId === input.originTurnId);
    const id = row?.id as string;
    await successor(taskQueue);
    taken(await client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' }));
    expect((await ended(id)).record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
  });
});
