/** `turn.effect` for any harness, on the whole stack: at most once over all attempts of a turn (C7), unknown is asked about (C8). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OutcomeUnknown, type ResumedTurn, TransientError } from '../../src/index.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';

let stack: Stack;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack();
  actors = createActors();
  await stack.startWorker(actors);
});
afterAll(() => stack?.close());

const answer = async (id: string) =>
  taken(await stack.client.resume({ continuationId: id, trigger: { type: 'user_reply', message: { text: 'yes' } } }));

test('an effect that is done comes back with its value in the next attempt; one that did not happen runs again', async () => {
  const { id } = await created(stack.client);
  const ran: string[] = [];
  const pay = (turn: ResumedTurn) =>
    turn.effect('pay', (key) => {
      ran.push(`pay ${key}`);
      return { paid: 49.9 };
    });
  const mail = (turn: ResumedTurn) =>
    turn.effect('mail', (key) => {
      ran.push(`mail ${key}`);
      if (turn.attempt === 1) throw new TransientError('503');
      return undefined;
    });
  const values: unknown[] = [];
  actors.plays(id, async (turn) => {
    values.push(await pay(turn), await mail(turn));
    return DONE;
  });
  await answer(id);
  expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed', resume: { attempt: 2 } });
  expect(values).toEqual([{ paid: 49.9 }, undefined]);
  const key = `${id}:resume:1`;
  expect(ran).toEqual([`pay ${key}:pay`, `mail ${key}:mail`, `mail ${key}:mail`]);
});

test('one that started and has no end is asked about; on the word of an operator it runs again, with its key', async () => {
  const { id } = await created(stack.client);
  const keys: string[] = [];
  actors.plays(id, async (turn) => {
    await turn.effect('pay', (key) => {
      keys.push(key);
      if (turn.attempt === 1) throw new OutcomeUnknown('the bank did not answer');
      return 'paid';
    });
    return DONE;
  });
  await answer(id);
  const { resume } = await becomes(stack.client, id, ({ resume: now }) => now?.uncertain !== undefined);
  expect(resume?.uncertain?.message).toBe('the bank did not answer');
  const view = await stack.client.get({ continuationId: id, include: ['executions'] });
  expect(view?.executions).toMatchObject([{ effects: [{ key: 'pay', state: 'started', attempt: 1 }] }]);
  taken(
    await stack.client.reconcile({
      continuationId: id,
      turnId: resume?.turnId ?? '',
      attempt: resume?.attempt ?? 0,
      action: 'did_not_happen',
      proof: { ref: 'bank statement', digest: `sha256:${'0'.repeat(64)}` },
      observedAt: new Date().toISOString(),
    }),
  );
  expect(await becomes(stack.client, id)).toMatchObject({ status: 'completed' });
  expect(keys).toEqual([`${id}:resume:1:pay`, `${id}:resume:1:pay`]);
});

test('within one attempt a second call does not run what is done, and refuses what failed in the middle', async () => {
  const { id } = await created(stack.client);
  let runs = 0;
  actors.plays(id, async (turn) => {
    const once = () =>
      turn.effect('pay', () => {
        runs += 1;
        throw new Error('cut off');
      });
    await expect(once()).rejects.toThrow('cut off');
    await expect(once()).rejects.toMatchObject({ code: 'outcome_unknown' });
    await expect(turn.effect('pay', () => 'again', { idempotent: true })).resolves.toBe('again');
    await expect(once()).resolves.toBe('again');
    return DONE;
  });
  await answer(id);
  expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed' });
  expect(runs).toBe(1);
});

test('of two that are unknown one is decided: its value comes back, the other is asked about again', async () => {
  const { id } = await created(stack.client);
  const ran: string[] = [];
  actors.plays(id, async (turn) => {
    const pay = (key: string) =>
      turn.effect(key, () => {
        ran.push(key);
        if (turn.attempt === 1) throw new OutcomeUnknown('no answer');
        return `${key} ran`;
      });
    // One after the other: which of two at once is begun first is for the database to say.
    const [left] = await Promise.allSettled([pay('left')]);
    const [right] = await Promise.allSettled([pay('right')]);
    if (left.status === 'rejected') throw left.reason;
    if (right.status === 'rejected') throw right.reason;
    return { outcome: 'completed', assistantMessage: { text: `${left.value}, ${right.value}` } };
  });
  await answer(id);
  const decision = {
    continuationId: id,
    turnId: `${id}:resume:1`,
    proof: { ref: 'bank statement', digest: `sha256:${'0'.repeat(64)}` },
    observedAt: new Date().toISOString(),
  };
  await becomes(stack.client, id, ({ resume }) => resume?.uncertain !== undefined);
  const value = 'it was paid';
  taken(await stack.client.reconcile({ ...decision, attempt: 1, action: 'happened', effect: 'left', value }));
  const { resume } = await becomes(
    stack.client,
    id,
    ({ resume: now }) => now?.attempt === 2 && now.uncertain !== undefined,
  );
  expect(resume?.uncertain?.message).toMatch(/^Effect right /);
  taken(await stack.client.reconcile({ ...decision, attempt: 2, action: 'did_not_happen', effect: 'right' }));
  await agreedEnd(stack, id);
  const view = await stack.client.get({ continuationId: id, include: ['result'] });
  expect(view?.result?.assistantMessage?.text).toBe('it was paid, right ran');
  expect(ran).toEqual(['left', 'right', 'right']);
});
