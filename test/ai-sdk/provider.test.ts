/** Over a real provider and real sockets: what the model's service gets, and what becomes of its failures. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool } from 'ai';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAiSdkHarness } from '../../src/ai-sdk/index.ts';
import { pendingOf, resumed } from '../support/ai-sdk.ts';

const FIRST = { turnId: 'turn-1', prompt: 'Refund order 1042.' };
const REFUND = '{ "order": "1042", "amount": 49.90 }';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

type Asked = { messages: unknown[]; stream?: boolean };
/** A service that answers one question with one entry of `answers`; the last one again and again. */
async function service(...answers: Array<(response: ServerResponse, asked: Asked) => void>) {
  const asked: Asked[] = [];
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Asked;
    asked.push(body);
    answers[Math.min(asked.length, answers.length) - 1]?.(response, body);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, model: createOpenAICompatible({ name: 'shop', baseURL })('gpt') };
}

const refundCall = { id: 'call_1', type: 'function', function: { name: 'refund', arguments: REFUND } };
const saysIt =
  (message: object, finish: string) =>
  (response: ServerResponse, { stream }: Asked) => {
    const head = { id: 'x', created: 1, model: 'gpt' };
    if (!stream) {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ ...head, choices: [{ index: 0, message, finish_reason: finish }] }));
    }
    response.setHeader('content-type', 'text/event-stream');
    const choice = { index: 0, delta: message, finish_reason: finish };
    return response.end(`data: ${JSON.stringify({ ...head, choices: [choice] })}\n\ndata: [DONE]\n\n`);
  };
const calls = saysIt({ role: 'assistant', content: null, tool_calls: [{ index: 0, ...refundCall }] }, 'tool_calls');
const done = saysIt({ role: 'assistant', content: 'Done.' }, 'stop');
const fails =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end('{"error":{"message":"no"}}');
  };
const breaksOff = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const delta = { role: 'assistant', content: 'Half' };
  response.write(`data: ${JSON.stringify({ id: 'x', created: 1, model: 'gpt', choices: [{ index: 0, delta }] })}\n\n`);
  setImmediate(() => response.destroy());
};

const tools = {
  refund: tool({
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    needsApproval: true,
    execute: async ({ amount }) => ({ refunded: amount }),
  }),
};

describe.each([false, true])('streamed: %s', (stream) => {
  const heard: string[] = [];
  const onPart = (part: { type: string; text?: string }) =>
    void (part.type === 'text-delta' && heard.push(part.text ?? ''));
  const more = stream ? { onPart } : {};

  test.each([
    ['approved', { decision: 'approved' }, '{"refunded":49.9}'],
    ['denied', { decision: 'denied', reason: 'paid twice' }, 'paid twice'],
    [
      'edited',
      { decision: 'approved', edited: true, arguments: '{"order":"1","amount":2}' },
      'A person changed the arguments of this call; it ran with {"order":"1","amount":2}\n{"refunded":2}',
    ],
    ['no answer', { decision: 'error', reason: 'no answer in time' }, 'no answer in time'],
  ] as const)('%s: the service gets the call and its result', async (_, decided, content) => {
    const { model, asked } = await service(calls, done);
    const harness = createAiSdkHarness({ model, tools, instructions: 'Be kind.', ...more });
    const paused = await harness.runFirstTurn(FIRST);
    expect(pendingOf(paused)).toMatchObject([{ id: 'call_1', name: 'refund', arguments: REFUND }]);
    expect(await harness.runResumedTurn(resumed(paused, [{ id: 'call_1', ...decided }]))).toEqual({
      outcome: 'completed',
      assistantMessage: { text: 'Done.' },
    });
    expect(asked[1]?.messages).toMatchObject([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: FIRST.prompt },
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_1', function: { name: 'refund', arguments: '{"order":"1042","amount":49.9}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content },
    ]);
    if (stream) expect(heard.splice(0)).toEqual(['Done.']);
  });

  test('busy for a moment: asked again when the service says', async () => {
    const { model, asked } = await service(
      fails(429, { 'retry-after-ms': '1' }),
      fails(503, { 'retry-after-ms': '1' }),
      done,
    );
    expect(await createAiSdkHarness({ model, ...more }).runFirstTurn(FIRST)).toMatchObject({ outcome: 'completed' });
    expect(asked).toHaveLength(3);
  });

  test.each([
    ['429', fails(429)],
    ['500', fails(500)],
    ['a connection that breaks off', stream ? breaksOff : (response: ServerResponse) => response.destroy()],
  ])('%s for longer: the same turn runs again later', async (_, answer) => {
    const { model } = await service(answer as never);
    const turn = createAiSdkHarness({ model, maxRetries: 0, ...more }).runFirstTurn(FIRST);
    await expect(turn).rejects.toMatchObject({ name: 'TransientError' });
  });

  test('nobody there: the same turn runs again later', async () => {
    const { model } = await service();
    server?.close();
    const turn = createAiSdkHarness({ model, maxRetries: 0, ...more }).runFirstTurn(FIRST);
    await expect(turn).rejects.toMatchObject({ name: 'TransientError' });
  });

  test.each([400, 401, 404])('%d: the turn fails with what the service said, asked once', async (status) => {
    const { model, asked } = await service(fails(status));
    expect(await createAiSdkHarness({ model, ...more }).runFirstTurn(FIRST)).toEqual({
      outcome: 'failed',
      stopReason: 'model_error',
      assistantMessage: { text: 'no' },
    });
    expect(asked).toHaveLength(1);
  });

  test('told to stop: the connection is closed', async () => {
    const stop = new AbortController();
    let closed: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { model } = await service((response) => {
      response.on('close', closed);
      stop.abort(new Error('enough'));
    });
    const turn = createAiSdkHarness({ model, ...more }).runFirstTurn(FIRST, { signal: stop.signal });
    await expect(turn).rejects.toThrow('enough');
    await gone;
  });
});
