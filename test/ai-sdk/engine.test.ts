/** An agent of the AI SDK on the turn engine, with the SDK's own mock model: what it does without us it does with us, durably. */
import {
  APICallError,
  jsonSchema,
  type ModelMessage,
  Output,
  stepCountIs,
  type TextStreamPart,
  ToolLoopAgent,
  type ToolResultPart,
  type ToolSet,
  tool,
} from 'ai';
import type { MockLanguageModelV3 } from 'ai/test';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { aiSdkPorts, createAiSdkHarness, idempotencyKey } from '../../src/ai-sdk/index.ts';
import { runTurn } from '../../src/engine/index.ts';
import { memoryJournal } from '../../src/testing.ts';
import { call, memory, pendingOf, resumed, saying, scripted, text, toldResults } from '../support/ai-sdk.ts';

const FIRST = { turnId: 'turn-1', sessionId: 's1', prompt: 'Refund order 1042.' };
const order = z.object({ order: z.string(), amount: z.number() });

function shop() {
  const ran: Array<[name: string, input: unknown, key: string]> = [];
  const tools = {
    refund: tool({
      inputSchema: order,
      needsApproval: ({ amount }) => amount > 10,
      execute: async (input, options) => {
        ran.push(['refund', input, idempotencyKey(options)]);
        return { refunded: input.amount };
      },
    }),
    look: tool({
      inputSchema: z.object({ order: z.string() }),
      execute: async (input, options) => {
        ran.push(['look', input, idempotencyKey(options)]);
        return 'delivered';
      },
    }),
    ship: tool({ inputSchema: z.object({ order: z.string() }), outputSchema: z.string() }),
  };
  return { tools, ran };
}
const REFUND = '{ "order": "1042", "amount": 49.90 }';

describe('approvals', () => {
  const asks = async (model: MockLanguageModelV3) => {
    const { tools, ran } = shop();
    const harness = createAiSdkHarness({ model, tools, instructions: 'Be kind.' });
    return { harness, ran, paused: await harness.runFirstTurn(FIRST) };
  };

  test('a tool that needs approval pauses the turn with the model’s verbatim arguments; approved, it runs once', async () => {
    const model = scripted([text('Let me see.'), call('refund', REFUND)], [text('Refunded.')]);
    const { harness, ran, paused } = await asks(model);
    expect(paused).toMatchObject({
      outcome: 'awaiting_approval',
      continuation: {
        pending: [{ id: 'call-refund', name: 'refund', arguments: REFUND, reason: 'approval_resolution' }],
      },
    });
    expect(ran).toEqual([]);
    const end = await harness.runResumedTurn(resumed(paused, [{ id: 'call-refund', decision: 'approved' }]));
    expect(end).toEqual({ outcome: 'completed', assistantMessage: { text: 'Refunded.' } });
    expect(ran).toEqual([
      ['refund', { order: '1042', amount: 49.9 }, expect.stringMatching(/^run_.*:tool:call-refund$/)],
    ]);
    expect(toldResults(model)).toEqual([['call-refund', { type: 'json', value: { refunded: 49.9 } }]]);
  });

  test('the model sees the conversation as the SDK itself would show it', async () => {
    const script = () => scripted([text('Let me see.'), call('look', '{"order":"1042"}')], [text('Done.')]);
    const [ours, theirs] = [script(), script()];
    const { tools } = shop();
    await createAiSdkHarness({ model: ours, tools, instructions: 'Be kind.', temperature: 0.5 }).runFirstTurn(FIRST);
    await new ToolLoopAgent({ model: theirs, tools, instructions: 'Be kind.', temperature: 0.5 }).generate(FIRST);
    expect(ours.doGenerateCalls).toHaveLength(2);
    const plain = (model: MockLanguageModelV3) =>
      JSON.parse(JSON.stringify(model.doGenerateCalls.map(({ abortSignal, ...asked }) => asked)));
    expect(plain(ours)).toEqual(plain(theirs));
  });

  test('below its own limit the tool runs at once', async () => {
    const model = scripted([call('refund', '{"order":"1","amount":5}')], [text('Done.')]);
    const { paused, ran } = await asks(model);
    expect(paused).toMatchObject({ outcome: 'completed' });
    expect(ran).toHaveLength(1);
  });

  test('denied: nothing runs, and the model is told in the form of the SDK', async () => {
    const model = scripted([call('refund', REFUND)], [text('Sorry.')]);
    const { harness, ran, paused } = await asks(model);
    const denied = { id: 'call-refund', decision: 'denied', reason: 'paid twice already' } as const;
    expect(await harness.runResumedTurn(resumed(paused, [denied]))).toMatchObject({ outcome: 'completed' });
    expect(ran).toEqual([]);
    expect(toldResults(model)).toEqual([['call-refund', { type: 'execution-denied', reason: 'paid twice already' }]]);
  });

  test('edited: it runs with the new arguments, and the model is told which', async () => {
    const model = scripted([call('refund', REFUND)], [text('Done.')]);
    const { harness, ran, paused } = await asks(model);
    const edit = '{"order":"1042","amount":20}';
    const edited = { id: 'call-refund', decision: 'approved', edited: true, arguments: edit } as const;
    await harness.runResumedTurn(resumed(paused, [edited]));
    expect(ran.map(([, input]) => input)).toEqual([{ order: '1042', amount: 20 }]);
    const value = `A person changed the arguments of this call; it ran with ${edit}\n{"refunded":20}`;
    expect(toldResults(model)).toEqual([['call-refund', { type: 'text', value }]]);
  });

  test('an edit that the schema refuses never runs', async () => {
    const model = scripted([call('refund', REFUND)], [text('Done.')]);
    const { harness, ran, paused } = await asks(model);
    const edited = { id: 'call-refund', decision: 'approved', edited: true, arguments: '{"order":"1042"}' } as const;
    await harness.runResumedTurn(resumed(paused, [edited]));
    expect(ran).toEqual([]);
    expect(toldResults(model)).toMatchObject([
      [
        'call-refund',
        {
          type: 'error-text',
          value: expect.stringMatching(/ran with \{"order":"1042"\}\nInvalid input for tool refund/),
        },
      ],
    ]);
  });

  test('nobody answered in time: an error, not a denial', async () => {
    const model = scripted([call('refund', REFUND)], [text('Later.')]);
    const { harness, paused } = await asks(model);
    const none = { id: 'call-refund', decision: 'error', reason: 'no answer in time' } as const;
    await harness.runResumedTurn(resumed(paused, [none], { noAnswer: true }));
    expect(toldResults(model)).toEqual([['call-refund', { type: 'error-text', value: 'no answer in time' }]]);
  });

  test('needsApproval sees input, call and conversation, and the context of the agent', async () => {
    const needsApproval = vi.fn(async () => false);
    const execute = vi.fn(async () => 'ok');
    const tools = { pay: tool({ inputSchema: order, needsApproval, execute }) };
    const model = scripted([call('pay', REFUND)], [text('Done.')]);
    await createAiSdkHarness({ model, tools, instructions: 'x', experimental_context: { user: 7 } }).runFirstTurn(
      FIRST,
    );
    const messages: ModelMessage[] = [{ role: 'user', content: [{ type: 'text', text: FIRST.prompt }] }];
    const seen = { toolCallId: 'call-pay', messages, experimental_context: { user: 7 } };
    expect(needsApproval).toHaveBeenCalledExactlyOnceWith({ order: '1042', amount: 49.9 }, seen);
    expect(execute).toHaveBeenCalledExactlyOnceWith(
      { order: '1042', amount: 49.9 },
      { ...seen, abortSignal: expect.any(AbortSignal), idempotencyKey: expect.any(String) },
    );
  });

  test('the person is asked in the agent’s words', async () => {
    const { tools } = shop();
    const model = scripted([call('refund', REFUND)]);
    const question = ({ toolName, input }: { toolName: string; input: unknown }) =>
      `May I ${toolName} ${JSON.stringify(input)}?`;
    const paused = await createAiSdkHarness({ model, tools, question }).runFirstTurn(FIRST);
    expect(paused).toMatchObject({ assistantMessage: { text: 'May I refund {"order":"1042","amount":49.9}?' } });
  });
});

describe('what runs elsewhere', () => {
  test('waits for a result from outside; siblings run first, an approval is asked for after it', async () => {
    const { tools, ran } = shop();
    const model = scripted(
      [call('ship', '{"order":"1042"}'), call('refund', REFUND), call('look', '{"order":"1042"}')],
      [text('Done.')],
    );
    const harness = createAiSdkHarness({ model, tools });
    const first = await harness.runFirstTurn(FIRST);
    expect(first).toMatchObject({ outcome: 'deferred' });
    expect(pendingOf(first)).toMatchObject([{ name: 'ship', arguments: '{"order":"1042"}' }]);
    expect(ran.map(([name]) => name)).toEqual(['look']);
    const shipped = { id: 'call-ship', decision: 'result', result: { parcel: 7 } } as const;
    const second = await harness.runResumedTurn(resumed(first, [shipped]));
    expect(second).toMatchObject({ outcome: 'awaiting_approval' });
    await harness.runResumedTurn(resumed(second, [{ id: 'call-refund', decision: 'approved' }]));
    expect(toldResults(model)).toEqual([
      ['call-ship', { type: 'json', value: { parcel: 7 } }],
      ['call-refund', { type: 'json', value: { refunded: 49.9 } }],
      ['call-look', { type: 'text', value: 'delivered' }],
    ]);
  });

  test('its error is the model’s; told to run here after all, it cannot', async () => {
    const { tools } = shop();
    const failed = { id: 'call-ship', decision: 'error', reason: 'no stock' } as const;
    for (const [decided, told] of [
      [failed, 'no stock'],
      [{ id: 'call-ship', decision: 'execute' } as const, 'ship cannot be run here: it has no execute.'],
    ] as const) {
      const model = scripted([call('ship', '{"order":"1"}')], [text('Sorry.')]);
      const harness = createAiSdkHarness({ model, tools });
      await harness.runResumedTurn(resumed(await harness.runFirstTurn(FIRST), [decided]));
      expect(toldResults(model)).toEqual([['call-ship', { type: 'error-text', value: told }]]);
    }
  });

  test('a tool that needs approval and has no execute is refused when the harness is made', () => {
    const tools = { ship: tool({ inputSchema: order, outputSchema: z.string(), needsApproval: true }) };
    expect(() => createAiSdkHarness({ model: scripted(), tools })).toThrow(
      /Tool ship needs approval and has no execute/,
    );
  });
});

describe('calls that cannot run', () => {
  test.each([
    ['no such tool', call('nothing', '{}'), /unavailable tool 'nothing'. Available tools: refund, look, ship/],
    ['arguments of another shape', call('refund', '{"order":1042}'), /Invalid input for tool refund/],
    ['arguments that are no JSON', call('refund', '{"order":'), /Invalid input for tool refund/],
    [
      'a tool that is not active',
      call('look', '{"order":"1"}'),
      /unavailable tool 'look'/,
      ['refund', 'ship'] as const,
    ],
  ])(
    '%s: the model is told, nobody is asked, nothing runs',
    async (title, wrong, message, active?: readonly ('refund' | 'ship')[]) => {
      const { tools, ran } = shop();
      const model = scripted([wrong], [text('I see.')]);
      const harness = createAiSdkHarness({ model, tools, ...(active && { activeTools: [...active] }) });
      expect(await harness.runFirstTurn(FIRST), title).toMatchObject({ outcome: 'completed' });
      expect(ran).toEqual([]);
      expect(toldResults(model)).toMatchObject([
        [expect.any(String), { type: 'error-text', value: expect.stringMatching(message) }],
      ]);
    },
  );

  test('a call that the agent’s own repair mends runs with what it mended', async () => {
    const { tools, ran } = shop();
    const model = scripted([call('look', '{"order":1042}')], [text('Done.')]);
    const harness = createAiSdkHarness({
      model,
      tools,
      experimental_repairToolCall: async ({ toolCall }) => ({ ...toolCall, input: '{"order":"1042"}' }),
    });
    await harness.runFirstTurn(FIRST);
    expect(ran.map(([, input]) => input)).toEqual([{ order: '1042' }]);
  });

  test('a tool’s error is the model’s, and what it returned must be JSON', async () => {
    const model = scripted([call('bad', '{}'), call('big', '{}'), call('none', '')], [text('I see.')]);
    const inputSchema = jsonSchema<object>({ type: 'object' });
    const tools = {
      bad: tool({ inputSchema, execute: (): Promise<string> => Promise.reject(new Error('out of order')) }),
      big: tool({ inputSchema, execute: async () => 1n }),
      none: tool({ inputSchema, execute: async () => undefined }),
    };
    await createAiSdkHarness({ model, tools }).runFirstTurn(FIRST);
    expect(toldResults(model)).toEqual([
      ['call-bad', { type: 'error-text', value: 'out of order' }],
      ['call-big', { type: 'error-text', value: 'big ran, but what it returned cannot be kept as JSON.' }],
      ['call-none', { type: 'json', value: null }],
    ]);
  });

  test('calls of an answer that was cut off are not run', async () => {
    const { tools, ran } = shop();
    const model = scripted();
    model.doGenerate = async () => ({
      ...(await scripted([call('look', '{"order":"1"}')]).doGenerate({ prompt: [] })),
      finishReason: { unified: 'length', raw: undefined },
    });
    expect(await createAiSdkHarness({ model, tools }).runFirstTurn(FIRST)).toMatchObject({
      outcome: 'failed',
      stopReason: 'model_error',
      assistantMessage: { text: 'the model stopped (length) before its answer was complete' },
    });
    expect(ran).toEqual([]);
  });
});

test('toModelOutput makes what the model sees, also of a result from outside', async () => {
  const inputSchema = z.object({ n: z.number() });
  const toModelOutput = ({ input, output }: { input: { n: number }; output: unknown }): ToolResultPart['output'] => ({
    type: 'content',
    value: [{ type: 'text', text: `${input.n}: ${JSON.stringify(output)}` }],
  });
  const tools = {
    here: tool({ inputSchema, execute: async ({ n }) => ({ twice: 2 * n }), toModelOutput }),
    there: tool({ inputSchema, outputSchema: z.any(), toModelOutput }),
  };
  const model = scripted([call('here', '{"n":1}'), call('there', '{"n":2}')], [text('Done.')]);
  const harness = createAiSdkHarness({ model, tools });
  const paused = await harness.runFirstTurn(FIRST);
  await harness.runResumedTurn(resumed(paused, [{ id: 'call-there', decision: 'result', result: 'x' }]));
  expect(toldResults(model)).toEqual([
    ['call-here', { type: 'content', value: [{ type: 'text', text: '1: {"twice":2}' }] }],
    ['call-there', { type: 'content', value: [{ type: 'text', text: '2: "x"' }] }],
  ]);
});

test('what a provider signed goes back as it came, over a pause; bytes of a message too', async () => {
  const providerMetadata = { mock: { signature: 'c2lnbmVk' } };
  const { tools } = shop();
  const thinking = { type: 'reasoning', text: '', providerMetadata } as const;
  const signed = { ...call('refund', REFUND), providerMetadata };
  const model = scripted([thinking, text('Hm.'), signed], [text('Done.')]);
  const harness = createAiSdkHarness({ model, tools });
  const image = { type: 'image', image: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]) } as const;
  const options = { mock: { cacheControl: { type: 'ephemeral' } } };
  const messages: ModelMessage[] = [
    { role: 'system', content: 'Be kind.', providerOptions: options },
    { role: 'user', content: [image, { type: 'text', text: 'Look.', providerOptions: options }] },
  ];
  const paused = await harness.runFirstTurn({ turnId: 't', messages });
  await harness.runResumedTurn(resumed(paused, [{ id: 'call-refund', decision: 'approved' }]));
  const [before, after] = model.doGenerateCalls.map(({ prompt }) => prompt);
  expect(before).toMatchObject([
    { role: 'system', content: 'Be kind.', providerOptions: options },
    {
      role: 'user',
      content: [
        { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
        { type: 'text', text: 'Look.', providerOptions: options },
      ],
    },
  ]);
  expect(after?.slice(0, 2)).toEqual(before);
  expect(after?.[2]).toMatchObject({
    role: 'assistant',
    content: [
      { type: 'reasoning', text: '', providerOptions: providerMetadata },
      { type: 'text', text: 'Hm.' },
      {
        type: 'tool-call',
        toolCallId: 'call-refund',
        input: { order: '1042', amount: 49.9 },
        providerOptions: providerMetadata,
      },
    ],
  });
});

test('a tool that its provider runs is neither run nor asked for', async () => {
  const searched = {
    type: 'tool-call',
    toolCallId: 'w1',
    toolName: 'web',
    input: '{"q":"x"}',
    providerExecuted: true,
  } as const;
  const found = { type: 'tool-result', toolCallId: 'w1', toolName: 'web', result: { hits: 1 } } as const;
  const web = {
    type: 'provider',
    id: 'mock.web',
    args: {},
    inputSchema: jsonSchema<object>({}),
    outputSchema: z.any(),
  } as const;
  const model = scripted([searched, found, text('Found.')]);
  expect(await createAiSdkHarness({ model, tools: { web } }).runFirstTurn(FIRST)).toEqual({
    outcome: 'completed',
    assistantMessage: { text: 'Found.' },
  });
});

describe('ids of calls', () => {
  const look = (order: string) => call('look', JSON.stringify({ order }), 'call_0');
  test.each([false, true])('that the model uses again are made anew, streamed: %s', async (stream) => {
    const { tools, ran } = shop();
    const model = scripted([look('1')], [look('2')], [text('Done.')]);
    const heard: unknown[] = [];
    const onPart = (part: { type: string; id?: string; toolCallId?: string }) => {
      if (part.type.startsWith('tool-')) heard.push(`${part.type} ${part.id ?? part.toolCallId}`);
    };
    await createAiSdkHarness({ model, tools, ...(stream && { onPart }) }).runFirstTurn(FIRST);
    expect(ran.map(([, input]) => input)).toEqual([{ order: '1' }, { order: '2' }]);
    expect(new Set(ran.map(([, , key]) => key)).size).toBe(2);
    expect(toldResults(model).map(([id]) => id)).toEqual(['call_0', 'call_0_2']);
    const kinds = ['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'tool-result'];
    const all = ['call_0', 'call_0_2'].flatMap((id) => kinds.map((kind) => `${kind} ${id}`));
    expect(heard).toEqual(stream ? all : []);
  });
  test('that one answer uses twice fail it', async () => {
    const { tools, ran } = shop();
    const harness = createAiSdkHarness({ model: scripted([look('1'), look('2')]), tools });
    expect(await harness.runFirstTurn(FIRST)).toMatchObject({
      outcome: 'failed',
      assistantMessage: { text: 'the model made two calls with the id call_0' },
    });
    expect(ran).toEqual([]);
  });
});

test.each([false, true])('an output that the agent must give is checked, streamed: %s', async (stream) => {
  const output = Output.object({ schema: z.object({ total: z.number() }) });
  for (const [said, outcome] of [
    ['{"total":7}', 'completed'],
    ['{"total":"seven"}', 'failed'],
  ] as const) {
    const model = scripted([text(said)]);
    const harness = createAiSdkHarness({ model, output, ...(stream && { onPart: () => {} }) });
    expect(await harness.runFirstTurn(FIRST)).toMatchObject({ outcome });
  }
});

describe('steps', () => {
  test('more than maxSteps fails', async () => {
    const { tools } = shop();
    const look = call('look', '{"order":"1"}');
    const model = saying(() => [look]);
    expect(await createAiSdkHarness({ model, tools, maxSteps: 3 }).runFirstTurn(FIRST)).toMatchObject({
      outcome: 'failed',
      stopReason: 'max_iterations',
    });
    expect(model.doGenerateCalls).toHaveLength(3);
  });

  test('settings of the SDK reach the model; an aborted turn aborts its question', async () => {
    const stop = new AbortController();
    const model = saying(async () => {
      stop.abort(new Error('enough'));
      throw new Error('aborted');
    });
    const harness = createAiSdkHarness({
      model,
      temperature: 0,
      headers: { 'x-a': 'b' },
      providerOptions: { mock: { a: 1 } },
    });
    await expect(harness.runFirstTurn(FIRST, { signal: stop.signal })).rejects.toThrow('enough');
    const [asked] = model.doGenerateCalls;
    expect(asked).toMatchObject({ temperature: 0, headers: { 'x-a': 'b' }, providerOptions: { mock: { a: 1 } } });
    expect(asked?.abortSignal?.aborted).toBe(true);
    expect(model.doGenerateCalls).toHaveLength(1);
  });

  test('onFinish gets the whole conversation once the turn has ended well', async () => {
    const onFinish = vi.fn();
    const { tools } = shop();
    const model = scripted([call('look', '{"order":"1"}')], [text('Done.')]);
    await createAiSdkHarness({ model, tools, instructions: 'x', onFinish }).runFirstTurn(FIRST);
    expect(onFinish).toHaveBeenCalledExactlyOnceWith(
      {
        text: 'Done.',
        messages: [
          { role: 'user', content: [{ type: 'text', text: FIRST.prompt }] },
          {
            role: 'assistant',
            content: [{ type: 'tool-call', toolCallId: 'call-look', toolName: 'look', input: { order: '1' } }],
          },
          {
            role: 'tool',
            content: [
              {
                type: 'tool-result',
                toolCallId: 'call-look',
                toolName: 'look',
                output: { type: 'text', value: 'delivered' },
              },
            ],
          },
          { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
        ],
      },
      { turnId: 'turn-1', sessionId: 's1', attempt: 1 },
    );
  });

  test('the ports alone make an engine of one’s own', async () => {
    const { tools } = shop();
    const model = scripted([call('look', '{"order":"1"}')], [text('Done.')]);
    const messages = [{ role: 'user' as const, parts: [{ kind: 'text', value: 'hello' }] }];
    const ports = { ...aiSdkPorts({ model, tools }), journal: memoryJournal() };
    expect(await runTurn(ports, { sessionId: 's', turnId: 't', messages })).toMatchObject({
      commit: { output: 'Done.' },
    });
  });
});

describe('a listener', () => {
  test('hears texts, calls and results of the resumed turn as they come, and which turn they are of', async () => {
    const { tools } = shop();
    const model = scripted(
      [call('refund', REFUND)],
      [text('Refunded, '), call('look', '{"order":"1042"}')],
      [text('all is well')],
    );
    const heard: Array<[TextStreamPart<ToolSet>, unknown]> = [];
    const harness = createAiSdkHarness({
      model,
      tools,
      onPart: (part, turn) => void heard.push([part as never, turn]),
    });
    const paused = await harness.runFirstTurn(FIRST);
    heard.length = 0;
    await harness.runResumedTurn(resumed(paused, [{ id: 'call-refund', decision: 'approved' }]));
    expect(heard.map(([{ type }]) => type)).toEqual([
      'tool-result',
      'start-step',
      ...[
        'text-start',
        'text-delta',
        'text-end',
        'tool-input-start',
        'tool-input-delta',
        'tool-input-end',
        'tool-call',
      ],
      'finish-step',
      'tool-result',
      'start-step',
      ...['text-start', 'text-delta', 'text-delta', 'text-delta', 'text-end'],
      'finish-step',
    ]);
    const place = { turnId: 'cont_1:resume:1', continuationId: 'cont_1', sessionId: 's1', attempt: 1 };
    expect(heard[0]).toEqual([
      {
        type: 'tool-result',
        toolCallId: 'call-refund',
        toolName: 'refund',
        input: { order: '1042', amount: 49.9 },
        output: { refunded: 49.9 },
      },
      place,
    ]);
    for (const [, turn] of heard) expect(turn).toEqual(place);
    expect(model.doGenerateCalls).toEqual([]);
    expect(toldResults(model).map(([id]) => id)).toEqual(['call-refund', 'call-look']);
  });

  test('that throws harms nothing; errors of a tool are heard, and what a tool yields', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const inputSchema = z.object({});
    const tools = {
      slow: tool({
        inputSchema,
        async *execute() {
          yield 'half';
          yield 'whole';
        },
      }),
      bad: tool({ inputSchema, execute: (): Promise<string> => Promise.reject(new Error('out of order')) }),
    };
    const heard: unknown[] = [];
    const model = scripted([call('slow', '{}'), call('bad', '{}')], [text('Done.')]);
    const harness = createAiSdkHarness({
      model,
      tools,
      onPart(part) {
        if (/tool-(result|error)/.test(part.type)) heard.push(part);
        throw new Error('nobody listens');
      },
    });
    expect(await harness.runFirstTurn(FIRST)).toMatchObject({ outcome: 'completed' });
    expect(heard).toMatchObject([
      { toolName: 'slow', output: 'half', preliminary: true },
      { toolName: 'slow', output: 'whole', preliminary: true },
      { toolName: 'slow', output: 'whole' },
      { toolName: 'bad', type: 'tool-error' },
    ]);
    expect(toldResults(model)[0]).toEqual(['call-slow', { type: 'text', value: 'whole' }]);
    expect(warned).toHaveBeenCalled();
    warned.mockRestore();
  });
});

describe('failures of the model', () => {
  const failing = (error: unknown) =>
    new APICallError({ message: 'no', url: 'x', requestBodyValues: {}, ...(error as object) });
  const harnessOf = (error: Error, stream: boolean) => {
    const model = saying(() => Promise.reject(error));
    return { model, harness: createAiSdkHarness({ model, maxRetries: 0, ...(stream && { onPart: () => {} }) }) };
  };
  const broken = Object.assign(new TypeError('terminated'), {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  });

  describe.each([false, true])('streamed: %s', (stream) => {
    test.each([
      ['429', failing({ statusCode: 429 })],
      ['503', failing({ statusCode: 503 })],
      ['a network failure', failing({ isRetryable: true })],
      ['a connection that breaks off', broken],
      ['a timeout', new DOMException('Step timeout of 5ms exceeded', 'TimeoutError')],
    ])('%s may pass: the same turn runs again', async (_, error) => {
      await expect(harnessOf(error as Error, stream).harness.runFirstTurn(FIRST)).rejects.toMatchObject({
        name: 'TransientError',
      });
    });
    test.each([
      ['400', failing({ statusCode: 400 })],
      ['401', failing({ statusCode: 401 })],
      ['a bug', new TypeError('x is not a function')],
    ])('%s does not: the turn fails, asked once', async (_, error) => {
      const { model, harness } = harnessOf(error, stream);
      expect(await harness.runFirstTurn(FIRST)).toMatchObject({ outcome: 'failed', stopReason: 'model_error' });
      expect([...model.doGenerateCalls, ...model.doStreamCalls]).toHaveLength(1);
    });
  });

  test('what may pass is first tried again by the SDK, as often as maxRetries says', async () => {
    const model = scripted(failing({ statusCode: 429, responseHeaders: { 'retry-after-ms': '1' } }), [text('Done.')]);
    expect(await createAiSdkHarness({ model }).runFirstTurn(FIRST)).toMatchObject({ outcome: 'completed' });
    expect(model.doGenerateCalls).toHaveLength(2);
  });
});

describe('a crash in the middle of a resumed turn', () => {
  test('a tool that ran is not run again; the key is the same; the rest goes on', async () => {
    const { tools, ran } = shop();
    const says = saying((prompt) => (prompt.length === 1 ? [call('refund', REFUND)] : [text('Done.')]));
    const harness = createAiSdkHarness({ model: says, tools });
    const paused = await harness.runFirstTurn(FIRST);
    const kept = memory();
    let writes = 0;
    kept.fails = () => ++writes > 2;
    const approved = [{ id: 'call-refund', decision: 'approved' }] as const;
    await expect(harness.runResumedTurn(resumed(paused, approved, { memory: kept }))).rejects.toThrow();
    kept.fails = undefined;
    expect(await harness.runResumedTurn(resumed(paused, approved, { memory: kept, attempt: 2 }))).toMatchObject({
      outcome: 'completed',
    });
    expect(ran).toHaveLength(1);
  });

  test.each([
    ['once: an operator is asked', [], 'OutcomeUnknown', 1],
    ['idempotent: it runs again with the same key', ['refund'] as const, undefined, 2],
  ] as const)('a tool whose end was never recorded, %s', async (_, idempotentTools, thrown, times) => {
    const { tools, ran } = shop();
    const model = saying((prompt) => (prompt.length === 1 ? [call('refund', REFUND)] : [text('Done.')]));
    const harness = createAiSdkHarness({ model, tools, idempotentTools });
    const paused = await harness.runFirstTurn(FIRST);
    const kept = memory();
    let writes = 0;
    kept.fails = () => ++writes > (idempotentTools.length ? 0 : 1);
    const approved = [{ id: 'call-refund', decision: 'approved' }] as const;
    await expect(harness.runResumedTurn(resumed(paused, approved, { memory: kept }))).rejects.toThrow();
    kept.fails = undefined;
    const again = harness.runResumedTurn(resumed(paused, approved, { memory: kept, attempt: 2 }));
    if (thrown) await expect(again).rejects.toMatchObject({ name: thrown });
    else expect(await again).toMatchObject({ outcome: 'completed' });
    expect(ran).toHaveLength(times);
    expect(new Set(ran.map(([, , key]) => key)).size).toBe(1);
  });
});

test('an agent outside of ours takes the call’s id as its key', async () => {
  const { tools, ran } = shop();
  const model = scripted([call('look', '{"order":"1"}')], [text('Done.')]);
  await new ToolLoopAgent({ model, tools, stopWhen: stepCountIs(2) }).generate({ prompt: 'x' });
  expect(ran).toEqual([['look', { order: '1' }, 'call-look']]);
});
