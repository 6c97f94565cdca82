/** Exact state through the whole stack: what is stored at the pause is what the resumed turn gets (000, 001), at any size. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  readRunState,
  readTranscript,
  resumeMessages,
  resumeRun,
  runState,
  stateKinds,
  transcriptState,
} from '../../src/engine/index.ts';
import type { ContinuationClient, Trigger } from '../../src/index.ts';
import { reply, result } from '../support/builders.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  pause,
  refusalOf,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';

let stack: Stack;
let client: ContinuationClient;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack();
  client = stack.newClient({ stateKinds });
  actors = createActors();
  await stack.startWorker({ ...actors, stateKinds });
});
afterAll(() => stack?.close());

const ASSISTANT = `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s=="},
  {"type":"tool_use","id":"tu_1","name":"ask_user","input":{"n":12345678901234567890}}]}`;
const pausedOn = (state: unknown, sessionId = 'exact') =>
  pause('user_reply', { sessionId, harnessResult: { outcome: 'needs_clarification', continuation: { state } } });

describe.concurrent('state', () => {
  test('a transcript goes on byte for byte with the answer behind it, on a worker (000, unattended)', async () => {
    const { id } = await created(client, pausedOn(transcriptState({ toolUseId: 'tu_1', assistant: ASSISTANT })));
    let resumed = '';
    actors.plays(id, ({ continuation, trigger }) => {
      const transcript = readTranscript(continuation.continuation.state);
      const content = trigger.type === 'user_reply' ? trigger.message.text : '';
      resumed = resumeMessages(transcript, { type: 'tool_result', tool_use_id: transcript.toolUseId, content });
      return DONE;
    });
    taken(await client.resume({ continuationId: id, trigger: reply('blue') }, { until: 'finished' }));
    expect(resumed.startsWith(`[${ASSISTANT},`)).toBe(true);
    expect(JSON.parse(resumed)[1].content[0]).toMatchObject({ tool_use_id: 'tu_1', content: 'blue' });
  });

  test('of a mixed batch is refused at the pause, and leaves nothing to answer (000)', async () => {
    const mixed = ASSISTANT.replace(']}', ',{"type":"tool_use","id":"tu_2","name":"x","input":{}}]}');
    const good = transcriptState({ toolUseId: 'tu_1', assistant: ASSISTANT });
    const text = good.text
      .replace(`"assistant":${ASSISTANT.length}`, `"assistant":${mixed.length}`)
      .replace(ASSISTANT, mixed);
    const refused = refusalOf(await client.create(pausedOn({ ...good, text }, 'mixed')));
    expect(refused).toMatchObject({
      code: 'invalid_input',
      path: 'harnessResult.continuation.state',
      message: expect.stringContaining('calls tu_2'),
    });
    expect(await client.listBySession('mixed')).toEqual([]);
  });

  test('that a turn pauses with is checked as it settles: a broken one fails it instead of asking', async () => {
    const { id } = await created(client);
    const broken = {
      text: '{}',
      mediaType: runState({ messages: [], stepIndex: 0, config: { model: 'm' } }).mediaType,
    };
    actors.plays(id, () => ({ outcome: 'needs_clarification', continuation: { state: broken } }));
    taken(await client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' }));
    expect((await agreedEnd(stack, id)).record).toMatchObject({
      status: 'failed',
      resume: { error: { code: 'invalid_input', message: expect.stringContaining('messages') } },
    });
  });

  test('of a run is frozen over two pauses, and its budget is carried (001)', async () => {
    const run = {
      messages: [{ role: 'user' }],
      stepIndex: 1,
      config: { model: 'm', maxSteps: 3, tools: [], toolsRestricted: true },
    };
    const { id } = await created(client, pausedOn(runState(run)));
    actors.plays(id, ({ continuation, resumedTurnId }) => {
      const { stepsLeft, ...before } = resumeRun(continuation.continuation.state);
      if (resumedTurnId.endsWith(':2')) return { ...DONE, assistantMessage: { text: `${stepsLeft} left` } };
      return {
        outcome: 'needs_clarification',
        continuation: { state: runState({ ...before, stepIndex: before.stepIndex + 1 }) },
      };
    });
    taken(await client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' }));
    const { suspension } = await becomes(client, id, (record) => record.status === 'pending');
    const again = { continuationId: id, suspensionId: suspension.id, trigger: reply() };
    const end = taken(await client.resume(again, { until: 'finished' }));
    expect(end).toMatchObject({ harnessResult: { assistantMessage: { text: '1 left' } } });
    const view = await client.get({ continuationId: id, include: ['state'] });
    expect(readRunState(view?.state)).toMatchObject({ ...run, stepIndex: 2 });
  });
});

describe('an input', () => {
  const LIMIT = 8 * 1024 * 1024;
  const sized = (continuationId: string, bytes: number) => {
    const input = (payload: string) => ({ continuationId, trigger: { ...result(), payload } as Trigger });
    const rest = Buffer.byteLength(JSON.stringify(input('')));
    return input('x'.repeat(bytes - rest));
  };

  test('of exactly 8 MiB travels by reference; one byte more is refused with the limit; the history stays small', async () => {
    const { id } = await created(client, pause('external_result'));
    const refused = refusalOf(await client.resume(sized(id, LIMIT + 1)));
    expect(refused).toMatchObject({ code: 'too_large', message: expect.stringContaining(String(LIMIT)) });
    const largest = sized(id, LIMIT);
    taken(await client.resume(largest, { until: 'finished' }));
    const [turn] = actors.turns(id);
    expect(turn?.trigger.type === 'external_result' && turn.trigger.payload).toBe(
      (largest.trigger as { payload?: unknown }).payload,
    );
    await agreedEnd(stack, id);
    const { workflowExecutionInfo } = (await stack.handle(id).describe()).raw;
    expect(Number(workflowExecutionInfo?.historySizeBytes)).toBeLessThan(64 * 1024);
  }, 60_000);
});
