/** Who wins when things happen at once: answers, repeats, stops, a newer turn, and workers that are not there. */
import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { ContinuationClient, ContinuationClientOptions, Trigger } from '../../src/index.ts';
import { answerSignals, stopSignal } from '../../workflows/messages.ts';
import { approve, deny, reply } from '../support/builders.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  gate,
  pause,
  refusalOf,
  type Stack,
  startStack,
  taken,
  untilAborted,
} from '../support/stack.ts';
import { eventually, sleep } from '../support/time.ts';

let stack: Stack;
let actors: Actors;
let secondConnection: Connection;
const unreachable = Connection.lazy({ address: '127.0.0.1:1', connectTimeout: 200 });

beforeAll(async () => {
  stack = await startStack({ heartbeatTimeoutMs: 1000 });
  actors = createActors();
  secondConnection = await Connection.connect({ address: inject('temporalAddress') });
  await stack.startWorker(actors);
});
afterAll(async () => {
  await stack?.close();
  await secondConnection?.close();
  await unreachable.close();
});

/** Runs `work` for 0..count-1, `atOnce` at a time. */
async function times(count: number, atOnce: number, work: (index: number) => Promise<void>): Promise<void> {
  let index = 0;
  const worker = async () => {
    while (index < count) await work(index++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

describe('two different answers at once', () => {
  test('have one winner, a loser that is told who won, and one run of the harness, a hundred times', async () => {
    const ann = stack.client.as({ subject: 'ann', verified: true, channel: 'slack' });
    const bob = stack.newClient({
      connection: secondConnection,
      caller: { subject: 'bob', verified: true, channel: 'web' },
    });
    const wins = { ann: 0, bob: 0 };
    await times(100, 5, async (index) => {
      const onDenied = index % 2 === 0 ? 'stop' : 'tell_model';
      const { id } = await created(stack.client, pause('approval_resolution', { bounds: { onDenied } }));
      const say = (client: ContinuationClient, trigger: Trigger) => client.resume({ continuationId: id, trigger });
      const both = await Promise.all(
        index % 4 < 2 ? [say(ann, approve()), say(bob, deny())] : [say(bob, deny()), say(ann, approve())].reverse(),
      );
      const winners = both.filter((one) => one.ok);
      expect(winners).toHaveLength(1);
      const [winner] = winners;
      if (!winner?.ok || winner.outcome !== 'accepted') throw new Error('nobody was accepted');
      const { subject, decision } = winner.answer;
      wins[subject as 'ann' | 'bob'] += 1;
      expect(decision).toBe(subject === 'ann' ? 'approved' : 'denied');
      const refusal = refusalOf(both.find((one) => !one.ok) ?? winner);
      expect(['already_resumed', 'already_terminal']).toContain(refusal.code);
      expect(refusal.winner).toEqual(winner.answer);
      expect(refusal.winner?.channel).toBe(subject === 'ann' ? 'slack' : 'web');

      const { record } = await agreedEnd(stack, id);
      expect(record.answers).toHaveLength(1);
      expect(record.answers[0]).toMatchObject(winner.answer);
      const stops = decision === 'denied' && onDenied === 'stop';
      expect(record.status).toBe(stops ? 'cancelled' : 'completed');
      expect(actors.turns(id)).toHaveLength(stops ? 0 : 1);
      if (!stops) expect(actors.turns(id)[0]?.trigger).toMatchObject({ decision });
    });
    expect(wins.ann + wins.bob).toBe(100);
  });

  test('the loser is still told who won when the continuation has long ended', async () => {
    const { id } = await created(stack.client, pause('approval_resolution'));
    const ann = stack.client.as({ subject: 'ann', verified: true, channel: 'slack' });
    const first = taken(await ann.resume({ continuationId: id, trigger: approve() }, { until: 'finished' }));
    await agreedEnd(stack, id);
    expect(refusalOf(await stack.client.resume({ continuationId: id, trigger: deny() }))).toMatchObject({
      code: 'already_terminal',
      status: 'completed',
      winner: { subject: 'ann', decision: 'approved', channel: 'slack', suspensionId: expect.any(String) },
    });
    expect(first.outcome).toBe('accepted');
  });
});

describe.concurrent('the same message', () => {
  const message = { messageId: 'm_1', trigger: reply('blue') };

  test('three times at once has one effect and one outcome', async () => {
    const { id } = await created(stack.client);
    const send = () => stack.client.resume({ continuationId: id, ...message });
    const outcomes = (await Promise.all([send(), send(), send()])).map(taken);
    for (const one of outcomes) {
      expect(one.outcome === 'accepted' && outcomes[0]?.outcome === 'accepted' && one.answer).toEqual(
        outcomes[0]?.outcome === 'accepted' && outcomes[0].answer,
      );
    }
    const { record } = await agreedEnd(stack, id);
    expect(record.answers).toHaveLength(1);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('again while its turn runs and after the end gets the first outcome and adds nothing to the history', async () => {
    const { id } = await created(stack.client);
    const running = gate();
    actors.plays(id, async () => {
      await running.opened;
      return DONE;
    });
    const send = () => stack.client.resume({ continuationId: id, ...message });
    const first = taken(await send());
    await actors.running(id);
    const length = await stack.historyLength(id);
    const again = taken(await send());
    // The server knows this update; another client sends what only the workflow can recognise.
    const signal = stack.handle(id).executeUpdate('resume', {
      args: [{ ...message, stamp: { ...stampOf(first), updateId: 'another' } }],
    });
    await expect(signal).rejects.toMatchObject({ cause: { type: 'repeated' } });
    expect(await stack.historyLength(id)).toBe(length);
    running.open();
    await agreedEnd(stack, id);
    const late = taken(await send());
    expect([again, late]).toMatchObject([
      { outcome: 'accepted', answer: answerOf(first) },
      { outcome: 'accepted', answer: answerOf(first), record: { status: 'completed' } },
    ]);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('with other content is a conflict, before and after the end; of another subject it is another message', async () => {
    const { id } = await created(stack.client);
    const running = gate();
    actors.plays(id, async () => {
      await running.opened;
      return DONE;
    });
    await stack.client.resume({ continuationId: id, ...message });
    await actors.running(id);
    const length = await stack.historyLength(id);
    const other = { continuationId: id, messageId: 'm_1', trigger: reply('red') };
    const conflict = refusalOf(await stack.client.resume(other));
    expect(conflict).toMatchObject({ code: 'message_conflict', winner: { messageId: 'm_1', type: 'user_reply' } });
    const bob = stack.client.as({ subject: 'bob' });
    expect(refusalOf(await bob.resume({ continuationId: id, ...message })).code).toBe('already_resumed');
    expect(await stack.historyLength(id)).toBe(length);
    running.open();
    await agreedEnd(stack, id);
    expect(refusalOf(await stack.client.resume(other)).code).toBe('message_conflict');
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('without an id is recognised by its content', async () => {
    const { id } = await created(stack.client);
    const send = () => stack.client.resume({ continuationId: id, trigger: reply('blue') });
    const first = taken(await send());
    await agreedEnd(stack, id);
    expect(taken(await send())).toMatchObject({ answer: answerOf(first) });
    expect(actors.turns(id)).toHaveLength(1);
  });

  function answerOf(result: { outcome: string; answer?: unknown }) {
    if (result.outcome !== 'accepted') throw new Error('was stored');
    return result.answer;
  }
  function stampOf(result: { outcome: string; answer?: { subject: string; channel: string; receivedAt: string } }) {
    const { subject, channel, receivedAt } = result.answer ?? { subject: '', channel: '', receivedAt: '' };
    return { subject, channel, receivedAt, verified: false };
  }
});

describe.concurrent('without Temporal or without a worker', () => {
  /** A task queue that no worker listens on yet, and a client that does not wait long for one. */
  function lonely(options: Partial<ContinuationClientOptions> = {}) {
    const taskQueue = `lonely-${randomUUID()}`;
    const client = stack.newClient({ taskQueue, answerTimeoutMs: 300, ...options });
    return { client, start: () => stack.startWorker({ ...actors, taskQueue }) };
  }

  test('a pause is kept while Temporal is down; the next answer starts its workflow from the row', async () => {
    const down = stack.newClient({ connection: unreachable, startTimeoutMs: 300, answerTimeoutMs: 300 });
    const input = pause();
    const result = taken(await down.create(input));
    expect(result).toMatchObject({ created: true, started: false, record: { status: 'pending' } });
    const { id } = result.record;
    await expect(down.resume({ continuationId: id, trigger: reply() })).rejects.toMatchObject({
      code: 'temporal_unavailable',
    });
    await expect(down.stop({ continuationId: id, reason: 'cancelled_by_user' })).rejects.toMatchObject({
      code: 'temporal_unavailable',
    });
    const answered = await stack.client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
    expect(taken(answered)).toMatchObject({ outcome: 'accepted', harnessResult: DONE });
    await agreedEnd(stack, id);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('a create that is repeated when Temporal is back starts the workflow', async () => {
    const down = stack.newClient({ connection: unreachable, startTimeoutMs: 300 });
    const input = pause();
    const { record } = taken(await down.create(input));
    expect(taken(await stack.client.create(input))).toMatchObject({
      created: false,
      started: true,
      record: { id: record.id },
    });
    expect((await stack.handle(record.id).describe()).status.name).toBe('RUNNING');
    await stack.client.stop({ continuationId: record.id, reason: 'cancelled_by_user' });
  });

  test('a stop starts the workflow from the row as well, and ends it', async () => {
    const down = stack.newClient({ connection: unreachable, startTimeoutMs: 300 });
    const { id } = await created(down);
    const stopped = taken(await stack.client.stop({ continuationId: id, reason: 'cancelled_by_product' }));
    expect(stopped).toMatchObject({ outcome: 'done', record: { terminalReason: 'cancelled_by_product' } });
    await agreedEnd(stack, id);
  });

  test('an answer is stored, and applied once when a worker comes, though update and signal both arrive', async () => {
    const { client, start } = lonely();
    const { id } = await created(client);
    expect(taken(await client.resume({ continuationId: id, trigger: reply() })).outcome).toBe('stored');
    expect((await client.get({ continuationId: id }))?.status).toBe('pending');
    await start();
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
    expect(actors.turns(id)).toHaveLength(1);
    expect(await stack.handle(id).result()).not.toHaveProperty('refusedSignals');
  });

  test('a stored answer can be waited for; the one that came too late is told who won', async () => {
    const { client, start } = lonely({ answerTimeoutMs: 200 });
    const { id } = await created(client);
    const wait = { until: 'settled', timeoutMs: 15_000 } as const;
    const ann = client.as({ subject: 'ann' }).resume({ continuationId: id, trigger: reply('blue') }, wait);
    await eventually(async () => expect(await stack.historyLength(id)).toBeGreaterThan(1));
    const bob = client.as({ subject: 'bob' }).resume({ continuationId: id, trigger: reply('red') }, wait);
    await eventually(async () => expect(await stack.historyLength(id)).toBeGreaterThan(2));
    await start();
    expect(taken(await ann)).toMatchObject({ outcome: 'accepted', answer: { subject: 'ann' }, harnessResult: DONE });
    expect(refusalOf(await bob)).toMatchObject({ winner: { subject: 'ann', type: 'user_reply' } });
    await agreedEnd(stack, id);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('a stored denial ends it once', async () => {
    const { client, start } = lonely();
    const { id } = await created(client, pause('approval_resolution'));
    expect(taken(await client.resume({ continuationId: id, trigger: deny() })).outcome).toBe('stored');
    await start();
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ terminalReason: 'approval_denied', answers: [{ decision: 'denied' }] });
    expect(kinds).toEqual(['created', 'admitted', 'stopped']);
    // The update that the server still held gets the same answer.
    expect(taken(await client.resume({ continuationId: id, trigger: deny() })).outcome).toBe('accepted');
  });

  test('a stop that comes right behind an answer ends the turn before it runs', async () => {
    const { client, start } = lonely();
    const { id } = await created(client);
    await stack.handle(id).signal(answerSignals.user_reply, { message: { text: 'blue' } });
    await stack.handle(id).signal(stopSignal, { reason: 'cancelled_by_user' });
    await start();
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'cancelled', terminalReason: 'cancelled_by_user' });
    expect(actors.turns(id)).toHaveLength(0);
    expect(kinds).toEqual(['created', 'admitted', 'stopped']);
  });

  test('a stop is stored as well, and applied when a worker comes', async () => {
    const { client, start } = lonely();
    const { id } = await created(client);
    const stopped = await client.stop({ continuationId: id, reason: 'cancelled_by_product' });
    expect(taken(stopped).outcome).toBe('stored');
    await start();
    expect((await agreedEnd(stack, id)).record.terminalReason).toBe('cancelled_by_product');
  });
});

describe.concurrent('a stop', () => {
  test('while it waits is seen by the next read', async () => {
    const { id } = await created(stack.client);
    const stopped = taken(
      await stack.client.stop({
        continuationId: id,
        reason: 'cancelled_by_user',
        metadata: { why: 'changed my mind' },
      }),
    );
    expect(stopped).toMatchObject({
      outcome: 'done',
      record: { status: 'cancelled', metadata: { why: 'changed my mind' } },
    });
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ status: 'cancelled' });
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record.delivery.status).toBe('not_applicable');
    expect(kinds).toEqual(['created', 'stopped']);
    const late = refusalOf(await stack.client.resume({ continuationId: id, trigger: reply() }));
    expect(late).toMatchObject({ code: 'already_terminal', status: 'cancelled' });
  });

  test('again keeps the first reason', async () => {
    const { id } = await created(stack.client);
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_product' });
    const again = taken(await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    expect(again).toMatchObject({ record: { terminalReason: 'cancelled_by_product' } });
    expect((await agreedEnd(stack, id)).record.terminalReason).toBe('cancelled_by_product');
    const late = taken(await stack.client.stop({ continuationId: id, reason: 'superseded_by_newer_turn' }));
    expect(late).toMatchObject({ record: { terminalReason: 'cancelled_by_product' } });
  });

  test('while the turn runs aborts the harness, whose late result changes nothing', async () => {
    const { id } = await created(stack.client);
    const late = gate();
    let told: unknown;
    actors.plays(id, async (turn) => {
      await untilAborted(turn).catch((reason) => {
        told = reason;
      });
      await late.opened;
      return DONE;
    });
    await stack.client.resume({ continuationId: id, trigger: reply() });
    await actors.running(id);
    const stopped = taken(await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    expect(stopped).toMatchObject({ record: { status: 'cancelled', resume: { turnId: `${id}:resume:1` } } });
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ status: 'cancelled' });
    await eventually(() => expect(told).toBeDefined());
    late.open();
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ terminalReason: 'cancelled_by_user', delivery: { status: 'not_applicable' } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'stopped']);
    expect(actors.deliveries(id)).toHaveLength(0);
    expect(await stack.client.get({ continuationId: id, include: ['result'] })).not.toHaveProperty('result');
  });

  test('by cancelling the workflow, as the Temporal UI does, ends it as cancelled by the user', async () => {
    const waiting = await created(stack.client);
    await stack.waits(waiting.id);
    await stack.handle(waiting.id).cancel();
    const running = await created(stack.client);
    actors.plays(running.id, untilAborted);
    await stack.client.resume({ continuationId: running.id, trigger: reply() });
    await actors.running(running.id);
    await stack.handle(running.id).cancel();
    for (const { id } of [waiting, running]) {
      const { record } = await agreedEnd(stack, id);
      expect(record).toMatchObject({ status: 'cancelled', terminalReason: 'cancelled_by_user' });
    }
  });

  test('reaches a turn that holds the only place of its worker', async () => {
    const taskQueue = `single-${randomUUID()}`;
    const client = stack.newClient({ taskQueue });
    await stack.startWorker({ ...actors, taskQueue, worker: { maxConcurrentActivityTaskExecutions: 1 } });
    const { id } = await created(client);
    actors.plays(id, untilAborted);
    await client.resume({ continuationId: id, trigger: reply() });
    await actors.running(id);
    await stack.handle(id).signal('stop', { reason: 'cancelled_by_user' });
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'cancelled', terminalReason: 'cancelled_by_user' });
  });

  test('while the follow-up is delivered leaves the turn’s end and the delivery as they are', async () => {
    const { id } = await created(stack.client);
    const delivering = gate();
    const asked = gate();
    actors.delivers(id, async () => {
      asked.open();
      await delivering.opened;
      return { status: 'delivered' };
    });
    await stack.client.resume({ continuationId: id, trigger: reply() });
    await asked.opened;
    const stopped = taken(await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' }));
    expect(stopped).toMatchObject({ record: { status: 'resuming', resume: { outcome: 'completed' } } });
    delivering.open();
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'delivered' } });
    expect(actors.deliveries(id)).toHaveLength(1);
    const { events } = await stack.handle(id).fetchHistory();
    expect(events?.filter((one) => one.activityTaskCancelRequestedEventAttributes)).toEqual([]);
  });

  test('for a session that is gone suppresses a follow-up that is still being delivered, unless it arrives', async () => {
    const reason = 'session_no_longer_deliverable';
    const stopWhileDelivering = async (ends: 'throws' | 'arrives') => {
      const { id } = await created(stack.client);
      const asked = gate();
      actors.delivers(id, async (input) => {
        asked.open();
        const aborted = untilAborted(input);
        if (ends === 'throws') return aborted;
        await aborted.catch(() => undefined);
        return { status: 'delivered' };
      });
      await stack.client.resume({ continuationId: id, trigger: reply() });
      await asked.opened;
      await stack.client.stop({ continuationId: id, reason });
      return (await agreedEnd(stack, id)).record;
    };
    const [thrown, arrived] = await Promise.all([stopWhileDelivering('throws'), stopWhileDelivering('arrives')]);
    expect(thrown).toMatchObject({ status: 'completed', delivery: { status: 'suppressed_session_reengaged' } });
    expect(arrived).toMatchObject({ status: 'completed', delivery: { status: 'delivered' } });
  });
});

describe('a stop and the end of the turn', () => {
  test('at the same moment: one of the two wins, and everything tells the same, a hundred times', async () => {
    const ends = { completed: 0, cancelled: 0 };
    // How long after the stop the turn ends: moves towards the moment at which neither is sure to be first.
    let delayMs = 40;
    await times(100, 4, async () => {
      const { id } = await created(stack.client);
      const end = gate();
      actors.plays(id, async () => {
        await end.opened;
        return DONE;
      });
      await stack.client.resume({ continuationId: id, trigger: reply() });
      await actors.running(id);
      const stopping = stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
      await sleep(delayMs);
      end.open();
      const stopped = taken(await stopping);
      const { record, kinds } = await agreedEnd(stack, id);
      ends[record.status as keyof typeof ends] += 1;
      delayMs = Math.max(0, delayMs + (record.status === 'completed' ? 4 : -4));
      expect(actors.turns(id)).toHaveLength(1);
      if (record.status === 'completed') {
        expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
        expect(actors.deliveries(id)).toHaveLength(1);
      } else {
        expect(stopped).toMatchObject({ record: { status: 'cancelled' } });
        expect(kinds).toEqual(['created', 'admitted', 'started', 'stopped']);
        expect(actors.deliveries(id)).toHaveLength(0);
      }
    });
    expect(ends.completed + ends.cancelled).toBe(100);
    expect(Math.min(ends.completed, ends.cancelled)).toBeGreaterThan(5);
  });
});

describe.concurrent('a newer turn of the session', () => {
  const session = () => ({ sessionId: `session-${randomUUID()}` });

  test('supersedes what waits: its answers are refused at once, and it ends', async () => {
    const { sessionId } = session();
    const older = await created(stack.client, pause('user_reply', { sessionId }));
    const newer = await created(stack.client, pause('user_reply', { sessionId, supersede: true }));
    const late = refusalOf(await stack.client.resume({ continuationId: older.id, trigger: reply() }));
    expect(late).toMatchObject({ code: 'already_terminal', message: expect.stringContaining(newer.id) });
    const { record, kinds } = await agreedEnd(stack, older.id);
    expect(record).toMatchObject({
      status: 'superseded',
      terminalReason: 'superseded_by_newer_turn',
      supersededBy: newer.id,
      delivery: { status: 'suppressed_superseded' },
    });
    expect(kinds).toEqual(['created', 'stopped']);
    expect(actors.turns(older.id)).toHaveLength(0);
    await stack.client.resume({ continuationId: newer.id, trigger: reply() }, { until: 'finished' });
    expect((await agreedEnd(stack, newer.id)).record.status).toBe('completed');
  });

  test('aborts the older turn that runs, and delivers none of it', async () => {
    const { sessionId } = session();
    const older = await created(stack.client, pause('user_reply', { sessionId }));
    actors.plays(older.id, untilAborted);
    await stack.client.resume({ continuationId: older.id, trigger: reply() });
    await actors.running(older.id);
    const newer = await created(stack.client, pause('user_reply', { sessionId, supersede: true }));
    const { record } = await agreedEnd(stack, older.id);
    expect(record).toMatchObject({ status: 'superseded', supersededBy: newer.id });
    expect(actors.deliveries(older.id)).toHaveLength(0);
    await stack.client.stop({ continuationId: newer.id, reason: 'cancelled_by_user' });
  });

  test('is noticed by the turn that is to start, though nobody could tell the workflow', async () => {
    const { sessionId } = session();
    const turnTaskQueue = `turns-${randomUUID()}`;
    const client = stack.newClient({ turnTaskQueue });
    const older = await created(client, pause('user_reply', { sessionId }));
    await client.resume({ continuationId: older.id, trigger: reply() });
    const down = stack.newClient({ connection: unreachable, startTimeoutMs: 300 });
    const newer = await created(down, pause('user_reply', { sessionId, supersede: true }));
    expect(await client.get({ continuationId: older.id })).toMatchObject({
      status: 'resuming',
      supersededBy: newer.id,
    });
    await stack.startWorker({ ...actors, taskQueue: turnTaskQueue, turnsOnly: true });
    const { record } = await agreedEnd(stack, older.id);
    expect(record).toMatchObject({ status: 'superseded', delivery: { status: 'suppressed_superseded' } });
    expect(actors.turns(older.id)).toHaveLength(0);
    await stack.client.stop({ continuationId: newer.id, reason: 'cancelled_by_user' });
  });

  test('leaves a turn that had settled its status and suppresses only the follow-up', async () => {
    const { sessionId } = session();
    const older = await created(stack.client, pause('user_reply', { sessionId }));
    const asked = gate();
    actors.delivers(older.id, (input) => {
      asked.open();
      return untilAborted(input);
    });
    await stack.client.resume({ continuationId: older.id, trigger: reply() });
    await asked.opened;
    const newer = await created(stack.client, pause('user_reply', { sessionId, supersede: true }));
    const { record } = await agreedEnd(stack, older.id);
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'suppressed_superseded' } });
    await stack.client.stop({ continuationId: newer.id, reason: 'cancelled_by_user' });
  });

  test('of two that come at once leaves exactly one waiting', async () => {
    const { sessionId } = session();
    const first = await created(stack.client, pause('user_reply', { sessionId }));
    const both = await Promise.all([
      created(stack.client, pause('user_reply', { sessionId, supersede: true })),
      created(stack.client, pause('user_reply', { sessionId, supersede: true })),
    ]);
    await agreedEnd(stack, first.id);
    const open = async () =>
      (await stack.client.listBySession(sessionId))
        .filter((one) => one.status === 'pending' && !one.supersededBy)
        .map((one) => one.id);
    await eventually(async () => expect(await open()).toHaveLength(1));
    const [left] = await open();
    expect(both.map((one) => one.id)).toContain(left);
    await stack.client.stop({ continuationId: left ?? '', reason: 'cancelled_by_user' });
  });

  test('leaves other sessions, assistants and scopes alone', async () => {
    const { sessionId } = session();
    const others = await Promise.all([
      created(stack.client, pause('user_reply', session())),
      created(stack.client, pause('user_reply', { sessionId, assistantId: 'sales' })),
      created(stack.client, pause('user_reply', { sessionId, scope: 'app=default/team=x' })),
    ]);
    const newer = await created(stack.client, pause('user_reply', { sessionId, supersede: true }));
    await sleep(300);
    for (const { id } of others) {
      const record = await becomes(stack.client, id, () => true);
      expect(record).toMatchObject({ status: 'pending' });
      expect(record).not.toHaveProperty('supersededBy');
    }
    await Promise.all(
      [...others, newer].map(({ id }) => stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' })),
    );
  });
});
