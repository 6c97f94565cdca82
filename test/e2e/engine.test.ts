/** The turn engine as a harness on the whole stack: it asks, goes on with the answer, and runs no tool twice (003). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngineHarness, type Message, type ModelInvocationResponse } from '../../src/engine/index.ts';
import { reply } from '../support/builders.ts';
import { agreedEnd, becomes, created, type Stack, startStack, taken } from '../support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack?.close());

const call = (name: string) => ({ id: `call-${name}`, name, arguments: '{ "n": 1.0 }' });
const ROUNDS: readonly ModelInvocationResponse[] = [
  { toolRequests: [call('ask')] },
  { toolRequests: [call('look'), call('pay'), call('ship')] },
  { output: 'done' },
];
const said = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'assistant').length;

test('a turn of three tools pauses for a person and for another system; the tools between them run once', async () => {
  const ran: string[] = [];
  const harness = createEngineHarness({
    model: { invoke: async ({ context }) => ROUNDS[said(context.messages)] ?? { output: 'too far' } },
    tools: {
      describe({ name }) {
        if (name === 'ask') return { effect: 'once', gate: { wait: 'user_reply', question: 'Which?' } };
        if (name === 'ship') return { effect: 'once', gate: { wait: 'external_result' } };
        return { effect: name === 'look' ? 'idempotent' : 'once' };
      },
      async execute({ name, arguments: text }, { key }) {
        ran.push(`${name} ${String(text)} ${key}`);
        return `${name} done`;
      },
    },
  });
  await stack.startWorker({ harness });
  const messages = [{ role: 'user' as const, parts: [{ kind: 'text', value: 'please' }] }];
  const harnessResult = await harness.runFirstTurn({ sessionId: 's1', turnId: 'turn-1', messages });
  const { id } = await created(stack.client, { assistantId: 'support', originTurnId: 'turn-1', harnessResult });

  taken(await stack.client.resume({ continuationId: id, trigger: reply('the blue one') }));
  const asks = await becomes(stack.client, id, ({ status, answers }) => status === 'pending' && answers.length === 1);
  if (asks.waitFor.type !== 'external_result') throw new Error(asks.waitFor.type);
  expect(asks.suspension.pending).toMatchObject([{ name: 'ship', arguments: '{ "n": 1.0 }' }]);
  expect(ran.map((line) => line.split(' ')[0])).toEqual(['look', 'pay']);
  expect(ran[1]).toMatch(/^pay { "n": 1.0 } run_.*:tool:call-pay$/);

  const trigger = { type: 'external_result', operationId: asks.waitFor.operationId, payload: 'shipped' } as const;
  const shipped = { continuationId: id, suspensionId: asks.suspension.id, trigger };
  expect(taken(await stack.client.resume(shipped, { until: 'finished' }))).toMatchObject({
    harnessResult: { outcome: 'completed', assistantMessage: { text: 'done' } },
  });
  await agreedEnd(stack, id);
  expect(ran).toHaveLength(2);
});
