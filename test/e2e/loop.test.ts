/** The loop on a real Temporal server and a real PostgreSQL: pause, answer, resume, deliver. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeliveryInput, HarnessResultInput, ResumedTurn } from '../../src/index.ts';
import { type Stack, startStack } from '../support/stack.ts';

let stack: Stack;
const turns: ResumedTurn[] = [];
const deliveries: DeliveryInput[] = [];
const script: (turn: ResumedTurn) => HarnessResultInput | Promise<HarnessResultInput> = () => ({
  outcome: 'completed',
  assistantMessage: { text: 'done' },
});

beforeAll(async () => {
  stack = await startStack();
  await stack.startWorker({
    harness: {
      async runResumedTurn(turn) {
        turns.push(turn);
        return script(turn);
      },
    },
    delivery: {
      async deliver(input) {
        deliveries.push(input);
        return { status: 'delivered' };
      },
    },
  });
});
afterAll(() => stack?.close());

let count = 0;
const clarification = () => ({
  assistantId: 'support',
  originTurnId: `turn-${++count}`,
  harnessResult: {
    outcome: 'needs_clarification' as const,
    continuation: { state: { question: 'Which order?', transcript: ['hello'] } },
  },
});

describe('one pause and resume', () => {
  test('a clarification is created, answered, resumed once with its state, and delivered', async () => {
    const created = await stack.client.create(clarification());
    expect(created).toMatchObject({
      ok: true,
      created: true,
      started: true,
      record: { status: 'pending', waitFor: { type: 'user_reply' } },
    });
    if (!created.ok) return;
    const { id } = created.record;
    const answered = await stack.client.resume(
      { continuationId: id, trigger: { type: 'user_reply', message: { text: 'Order 42' } } },
      { until: 'finished', timeoutMs: 20_000 },
    );
    expect(answered).toMatchObject({
      ok: true,
      outcome: 'accepted',
      record: {
        status: 'completed',
        terminalReason: 'completed',
        delivery: { status: 'delivered' },
        bounds: { resumeAttempts: 1 },
      },
      harnessResult: { outcome: 'completed', assistantMessage: { text: 'done' } },
    });
    const turn = turns.filter((one) => one.continuation.id === id);
    expect(turn).toHaveLength(1);
    expect(turn[0]).toMatchObject({
      resumedTurnId: `${id}:resume:1`,
      trigger: { type: 'user_reply', message: { text: 'Order 42' } },
      continuation: { continuation: { state: { question: 'Which order?', transcript: ['hello'] } } },
    });
    expect(deliveries.filter((one) => one.continuation.id === id)).toHaveLength(1);
    const receipts = await stack.client.receipts(id);
    expect(receipts?.map((one) => one.kind)).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
  });
});
