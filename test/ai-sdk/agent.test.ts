/** A whole agent of the AI SDK as a harness: its own loop and its own messages, with every answer and every effect in the journal. */
import {
  APICallError,
  generateText,
  type ModelMessage,
  stepCountIs,
  streamText,
  type ToolCallRepairFunction,
  ToolLoopAgent,
  tool,
} from 'ai';
import type { MockLanguageModelV3 } from 'ai/test';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  type AiSdkAgentHarnessOptions,
  createAiSdkAgentHarness,
  idempotencyKey,
  MESSAGES_TYPE,
  stateKinds,
} from '../../src/ai-sdk/index.ts';
import { OutcomeUnknown } from '../../src/index.ts';
import { call, memory, pendingOf, resumed, saying, scripted, text, toldResults } from '../support/ai-sdk.ts';

const FIRST = { turnId: 'turn-1', sessionId: 's1', prompt: 'Refund order 1042.' };
const REFUND = '{ "order": "1042", "amount": 49.90 }';

function shop(refund: (input: { order: string; amount: number }) => unknown = ({ amount }) => ({ refunded: amount })) {
  const ran: Array<[name: string, input: unknown, key: string]> = [];
  const tools = {
    refund: tool({
      inputSchema: z.object({ order: z.string(), amount: z.number() }),
      needsApproval: true,
      execute: async (input, options): Promise<unknown> => {
        ran.push(['refund', input, idempotencyKey(options)]);
        return refund(input);
      },
    }),
    look: tool({
      inputSchema: z.object({ order: z.string() }),
      execute: async (input, options) => {
        ran.push(['look', input, idempotencyKey(options)]);
        return 'delivered';
      },
    }),
    ship: tool({ inputSchema: z.object({ order: z.string() }), outputSchema: z.any() }),
  };
  return { tools, ran };
}
type Tools = ReturnType<typeof shop>['tools'];
type Options = AiSdkAgentHarnessOptions<Tools>;

/** The three ways in which agents of the SDK are run. */
const RUNS: Record<string, Options['run']> = {
  generateText: ({ turn: _, ...run }) => generateText({ ...run, stopWhen: stepCountIs(5) }),
  streamText: ({ turn: _, ...run }) => streamText({ ...run, stopWhen: stepCountIs(5), onError: () => {} }),
  ToolLoopAgent: ({ model, tools, messages, abortSignal }) =>
    new ToolLoopAgent({ model, tools }).generate({ messages, abortSignal }),
};
const agentOf = (model: MockLanguageModelV3, tools: Tools, more: Partial<Options> = {}) =>
  createAiSdkAgentHarness({ model, tools, run: RUNS.generateText as Options['run'], ...more });

describe.each(Object.entries(RUNS))('%s', (_, run) => {
  test('stops with its approval requests; approved, the tool runs once and the agent goes on', async () => {
    const { tools, ran } = shop();
    const model = scripted(
      [text('Hm.'), call('refund', REFUND)],
      [call('look', '{"order":"1042"}')],
      [text('Refunded.')],
    );
    const harness = agentOf(model, tools, { run });
    const paused = await harness.runFirstTurn(FIRST);
    expect(paused).toMatchObject({
      outcome: 'awaiting_approval',
      continuation: { state: { mediaType: MESSAGES_TYPE } },
    });
    expect(pendingOf(paused)).toEqual([
      { id: 'call-refund', name: 'refund', arguments: REFUND, reason: 'approval_resolution' },
    ]);
    expect(ran).toEqual([]);
    const end = await harness.runResumedTurn(resumed(paused, [{ id: 'call-refund', decision: 'approved' }]));
    expect(end).toEqual({ outcome: 'completed', assistantMessage: { text: 'Refunded.' } });
    expect(ran).toEqual([
      ['refund', { order: '1042', amount: 49.9 }, 'cont_1:resume:1:tool:call-refund'],
      ['look', { order: '1042' }, 'cont_1:resume:1:tool:call-look'],
    ]);
    expect(toldResults(model)).toEqual([
      ['call-refund', { type: 'json', value: { refunded: 49.9 } }],
      ['call-look', { type: 'text', value: 'delivered' }],
    ]);
  });

  test('denied and edited, as the SDK tells it; nobody in time is an error', async () => {
    for (const [decided, inputs, told] of [
      [{ decision: 'denied', reason: 'no' }, [], { type: 'execution-denied', reason: 'no' }],
      [{ decision: 'error', reason: 'no answer in time' }, [], { type: 'error-text', value: 'no answer in time' }],
      [
        { decision: 'approved', edited: true, arguments: '{"order":"1042","amount":20}' },
        [{ order: '1042', amount: 20 }],
        {
          type: 'text',
          value:
            'A person changed the arguments of this call; it ran with {"order":"1042","amount":20}\n{"refunded":20}',
        },
      ],
      [
        { decision: 'approved', edited: true, arguments: '{"order":"1042"}' },
        [],
        {
          type: 'error-text',
          value: expect.stringMatching(/it ran with \{"order":"1042"\}\nInvalid input for tool refund/),
        },
      ],
    ] as const) {
      const { tools, ran } = shop();
      const model = scripted([call('refund', REFUND)], [text('Done.')]);
      const harness = agentOf(model, tools, { run });
      const paused = await harness.runFirstTurn(FIRST);
      expect(await harness.runResumedTurn(resumed(paused, [{ id: 'call-refund', ...decided }]))).toMatchObject({
        outcome: 'completed',
      });
      expect(ran.map(([, input]) => input)).toEqual(inputs);
      expect(toldResults(model)).toEqual([['call-refund', told]]);
    }
  });

  test('results from outside are waited for first, then the approval; the agent goes on when all is answered', async () => {
    const { tools, ran } = shop();
    const model = scripted(
      [call('refund', REFUND), call('ship', '{ "order": "1042" }'), call('look', '{"order":"1042"}')],
      [text('Done.')],
    );
    const harness = agentOf(model, tools, {
      run,
      question: ({ toolName, input }) => `${toolName} ${JSON.stringify(input)}?`,
    });
    const first = await harness.runFirstTurn(FIRST);
    expect(first).toMatchObject({ outcome: 'deferred', assistantMessage: { text: 'ship {"order":"1042"}?' } });
    expect(pendingOf(first)).toMatchObject([{ id: 'call-ship', reason: 'external_result' }]);
    expect(ran.map(([name]) => name)).toEqual(['look']);
    const second = await harness.runResumedTurn(
      resumed(first, [{ id: 'call-ship', decision: 'result', result: { parcel: 7 } }]),
    );
    expect(second).toMatchObject({
      outcome: 'awaiting_approval',
      assistantMessage: { text: 'refund {"order":"1042","amount":49.9}?' },
    });
    await harness.runResumedTurn(resumed(second, [{ id: 'call-refund', decision: 'approved' }]));
    expect(ran.map(([name]) => name)).toEqual(['look', 'refund']);
    expect(new Map(toldResults(model))).toEqual(
      new Map<string, unknown>([
        ['call-look', { type: 'text', value: 'delivered' }],
        ['call-ship', { type: 'json', value: { parcel: 7 } }],
        ['call-refund', { type: 'json', value: { refunded: 49.9 } }],
      ]),
    );
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('a worker that dies at its write %d runs nothing twice', async (dieAt) => {
    const { tools, ran } = shop();
    // Ids of calls are new whenever the model is asked: what it said before the crash must come from the journal.
    let asked = 0;
    const script = [[call('refund', REFUND)], [text('And '), call('look', '{"order":"1042"}', 'id')], [text('Done.')]];
    const model = saying((prompt) => {
      asked += 1;
      const content = script[prompt.filter(({ role }) => role === 'assistant').length] ?? [];
      return content.map((part) =>
        part.type === 'tool-call' && part.toolCallId === 'id' ? { ...part, toolCallId: `call-${asked}` } : part,
      );
    });
    const harness = agentOf(model, tools, { run, idempotentTools: ['refund', 'look'] });
    const paused = await harness.runFirstTurn(FIRST);
    const kept = memory();
    let writes = 0;
    kept.fails = () => {
      writes += 1;
      return writes >= dieAt;
    };
    const approved = [{ id: 'call-refund', decision: 'approved' }] as const;
    await expect(harness.runResumedTurn(resumed(paused, approved, { memory: kept }))).rejects.toThrow(
      'the worker is dead',
    );
    const before = ran.length;
    const committed = [...kept.effects].filter(
      ([key, { state }]) => key.startsWith('tool:') && state === 'done',
    ).length;
    kept.fails = undefined;
    expect(await harness.runResumedTurn(resumed(paused, approved, { memory: kept, attempt: 2 }))).toMatchObject({
      outcome: 'completed',
      assistantMessage: { text: 'Done.' },
    });
    expect(ran.length - before).toBe(2 - committed);
    // Run again only with the key of the first time.
    expect(new Set(ran.map(([, , key]) => key)).size).toBe(2);
  });

  test('a run that a crash cut off is asked about, and not told to the model', async () => {
    const { tools, ran } = shop();
    const model = scripted([call('refund', REFUND)]);
    const harness = agentOf(model, tools, { run });
    const paused = await harness.runFirstTurn(FIRST);
    const kept = memory();
    kept.effects.set('tool:call-refund', { state: 'started' });
    const again = harness.runResumedTurn(
      resumed(paused, [{ id: 'call-refund', decision: 'approved' }], { memory: kept, attempt: 2 }),
    );
    await expect(again).rejects.toMatchObject({ name: 'OutcomeUnknown', message: /tool:call-refund/ });
    expect(ran).toEqual([]);
    expect([...model.doGenerateCalls, ...model.doStreamCalls]).toHaveLength(1);
  });

  test('failures of the model: what may pass lets the turn run again, anything else fails it', async () => {
    for (const [statusCode, name] of [
      [429, 'TransientError'],
      [400, 'AI_APICallError'],
    ] as const) {
      const { tools } = shop();
      const error = new APICallError({
        message: 'no',
        url: 'x',
        requestBodyValues: {},
        statusCode,
        responseHeaders: { 'retry-after-ms': '1' },
      });
      const harness = agentOf(scripted([call('refund', REFUND)], error, error, error), tools, { run });
      const paused = await harness.runFirstTurn(FIRST);
      await expect(
        harness.runResumedTurn(resumed(paused, [{ id: 'call-refund', decision: 'approved' }])),
      ).rejects.toMatchObject({ name });
    }
  });
});

test('what a stream says is heard at once; its calls only when they are durable', async () => {
  const { tools, ran } = shop();
  const model = scripted(
    [call('refund', REFUND)],
    [text('Well then '), call('look', '{"order":"1042"}')],
    [text('Done.')],
  );
  const kept = memory();
  const heard: string[] = [];
  const run: Options['run'] = async ({ turn: _, ...options }) => {
    const result = streamText({ ...options, stopWhen: stepCountIs(5) });
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') heard.push(`${part.text}${kept.effects.get('model:0')?.state}`);
      if (part.type === 'tool-call') heard.push(`${part.toolName} ${kept.effects.get('model:0')?.state}`);
    }
    return result;
  };
  const harness = agentOf(model, tools, { run });
  const paused = await harness.runFirstTurn(FIRST);
  heard.length = 0;
  await harness.runResumedTurn(resumed(paused, [{ id: 'call-refund', decision: 'approved' }], { memory: kept }));
  expect(heard).toEqual(['Well started', 'then started', 'look done', 'Done.done']);
  expect(ran).toHaveLength(2);
});

test('a tool’s error is kept as its end: it is not run again, and the model is told the same', async () => {
  const { tools, ran } = shop(() => Promise.reject(new Error('bank closed')));
  const model = saying((prompt) => (prompt.length === 1 ? [call('refund', REFUND)] : [text('Sorry.')]));
  const harness = agentOf(model, tools);
  const paused = await harness.runFirstTurn(FIRST);
  const kept = memory();
  const approved = [{ id: 'call-refund', decision: 'approved' }] as const;
  for (const attempt of [1, 2]) {
    await harness.runResumedTurn(resumed(paused, approved, { memory: kept, attempt }));
    expect(toldResults(model)).toEqual([['call-refund', { type: 'error-text', value: 'bank closed' }]]);
  }
  expect(ran).toHaveLength(1);
  expect(model.doGenerateCalls).toHaveLength(2);
});

test('a tool that does not know what it did stops the turn', async () => {
  const { tools } = shop(() => Promise.reject(new OutcomeUnknown('the bank hung up')));
  const model = scripted([call('refund', REFUND)], [text('never said')]);
  const harness = agentOf(model, tools);
  const paused = await harness.runFirstTurn(FIRST);
  const again = harness.runResumedTurn(resumed(paused, [{ id: 'call-refund', decision: 'approved' }]));
  await expect(again).rejects.toMatchObject({ name: 'OutcomeUnknown', message: 'the bank hung up' });
});

test('told to stop while a tool runs: unknown, unless the tool may be run again', async () => {
  for (const [idempotentTools, thrown] of [
    [[], { name: 'OutcomeUnknown' }],
    [['refund'], { message: 'worker shutdown' }],
  ] as const) {
    const stop = new AbortController();
    const { tools } = shop(() => {
      stop.abort(new Error('worker shutdown'));
      throw new Error('aborted');
    });
    const harness = agentOf(scripted([call('refund', REFUND)]), tools, { idempotentTools });
    const paused = await harness.runFirstTurn(FIRST);
    const turn = resumed(paused, [{ id: 'call-refund', decision: 'approved' }], { signal: stop.signal });
    await expect(harness.runResumedTurn(turn)).rejects.toMatchObject(thrown);
  }
});

test('an agent that asks its model something else after a crash is not guessed at', async () => {
  const { tools, ran } = shop();
  const model = saying((prompt) => (prompt.length === 2 ? [call('refund', REFUND)] : [text('Done.')]));
  let day = 'Monday';
  const run: Options['run'] = ({ turn: _, ...options }) => generateText({ ...options, system: `It is ${day}.` });
  const harness = agentOf(model, tools, { run });
  const paused = await harness.runFirstTurn(FIRST);
  const kept = memory();
  const approved = [{ id: 'call-refund', decision: 'approved' }] as const;
  await harness.runResumedTurn(resumed(paused, approved, { memory: kept }));
  day = 'Tuesday';
  const again = harness.runResumedTurn(resumed(paused, approved, { memory: kept, attempt: 2 }));
  await expect(again).rejects.toMatchObject({ name: 'OutcomeUnknown', message: /asked its model something else/ });
  // An operator let it run again: what was approved stays done, the model is asked anew, once.
  for (const attempt of [3, 4]) {
    const turn = resumed(paused, approved, { memory: kept, attempt, again: 2 });
    expect(await harness.runResumedTurn(turn)).toMatchObject({ outcome: 'completed' });
  }
  expect(ran).toHaveLength(1);
  expect(model.doGenerateCalls).toHaveLength(3);
});

test('what a person approved runs, also when the tool would not ask any more', async () => {
  const needsApproval = vi.fn().mockResolvedValueOnce(true).mockResolvedValue(false);
  const { tools, ran } = shop();
  const model = scripted([call('refund', REFUND)], [text('Done.')]);
  const harness = agentOf(model, { ...tools, refund: { ...tools.refund, needsApproval } });
  const paused = await harness.runFirstTurn(FIRST);
  await harness.runResumedTurn(resumed(paused, [{ id: 'call-refund', decision: 'approved' }]));
  expect(ran).toHaveLength(1);
});

test('people see the model’s text, unless something else was made of it: then that', async () => {
  const repair = async ({ toolCall }: Parameters<ToolCallRepairFunction<Tools>>[0]) => ({
    ...toolCall,
    input: '{"order":"1","amount":2}',
  });
  const run: Options['run'] = ({ turn: _, ...options }) =>
    generateText({ ...options, experimental_repairToolCall: repair });
  const inputSchema = z.object({ order: z.string(), amount: z.number().transform((n) => n * 100) });
  for (const [input, schema, shown] of [
    ['{"order":1042}', undefined, '{"order":"1","amount":2}'],
    ['{"order":', undefined, '{"order":"1","amount":2}'],
    [REFUND, inputSchema, REFUND],
  ] as const) {
    const { tools } = shop();
    const refund = schema ? { ...tools.refund, inputSchema: schema } : tools.refund;
    const harness = agentOf(scripted([call('refund', input)]), { ...tools, refund } as Tools, { run });
    expect(pendingOf(await harness.runFirstTurn(FIRST))).toMatchObject([{ arguments: shown }]);
  }
});

test('a model that uses the id of a call again: it is another call', async () => {
  for (const run of Object.values(RUNS)) {
    const { tools, ran } = shop();
    const look = (order: string) => call('look', JSON.stringify({ order }), 'call_0');
    const model = scripted([call('refund', REFUND, 'call_0')], [look('1')], [look('2')], [text('Done.')]);
    const harness = agentOf(model, tools, { run });
    const paused = await harness.runFirstTurn(FIRST);
    await harness.runResumedTurn(resumed(paused, [{ id: 'call_0', decision: 'approved' }]));
    expect(ran.map(([, input]) => input)).toEqual([{ order: '1042', amount: 49.9 }, { order: '1' }, { order: '2' }]);
    expect(toldResults(model).map(([id]) => id)).toEqual(['call_0', 'call_0_2', 'call_0_3']);
  }
});

test('a tool of the provider that asks for approval', async () => {
  const mcp = {
    type: 'tool-call',
    toolCallId: 'm1',
    toolName: 'mcp',
    input: '{"q":1}',
    providerExecuted: true,
    dynamic: true,
  } as const;
  const asks = { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'm1' } as const;
  for (const [decided, told] of [
    [{ decision: 'approved' }, { approved: true }],
    [
      { decision: 'denied', reason: 'no' },
      { approved: false, reason: 'no' },
    ],
    [
      { decision: 'error', reason: 'no answer in time' },
      { approved: false, reason: 'no answer in time' },
    ],
    [
      { decision: 'approved', edited: true, arguments: '{"q":2}' },
      { approved: false, reason: expect.stringMatching(/other arguments/) },
    ],
  ] as const) {
    const { tools } = shop();
    const model = scripted([mcp, asks], [text('Done.')]);
    const harness = agentOf(model, tools);
    const paused = await harness.runFirstTurn(FIRST);
    expect(pendingOf(paused)).toMatchObject([
      { id: 'm1', name: 'mcp', arguments: '{"q":1}', reason: 'approval_resolution' },
    ]);
    await harness.runResumedTurn(resumed(paused, [{ id: 'm1', ...decided }]));
    const last = model.doGenerateCalls.at(-1)?.prompt.at(-1);
    const answer = last?.role === 'tool' ? last.content[0] : last;
    expect(answer).toMatchObject({ type: 'tool-approval-response', approvalId: 'a1', ...told });
  }
});

describe('state', () => {
  const fault = (state: unknown) =>
    stateKinds.find(({ mediaType }) => mediaType === MESSAGES_TYPE)?.fault(Buffer.from(JSON.stringify(state)));
  const open = [{ toolCallId: 'c', toolName: 't', arguments: '{}', input: {} }];
  const messages: ModelMessage[] = [{ role: 'user', content: 'x' }];
  const state = { messages, open, answers: [], edits: {} };

  test('is checked at the pause', () => {
    expect(fault(state)).toBeUndefined();
    expect(fault({ ...state, open: [] })).toMatch(/open/);
    expect(fault({ ...state, messages: [{ role: 'user', content: 7 }] })).toMatch(/messages/);
  });

  test('of another kind is refused', async () => {
    const { tools } = shop();
    const harness = agentOf(scripted(), tools);
    const other = { outcome: 'deferred', continuation: { state: { a: 1 } } } as const;
    await expect(harness.runResumedTurn(resumed(other, []))).rejects.toMatchObject({ code: 'record_malformed' });
  });
});
