/** What people and programs send past our client: Temporal's UI and CLI, and anything else that can write to the namespace. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WaitType } from '../../src/index.ts';
import type { ContinuationOutcome, ContinuationStatusView } from '../../workflows/messages.ts';
import { approve, reply } from '../support/builders.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  gate,
  pause,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';
import { eventually } from '../support/time.ts';

let stack: Stack;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack();
  actors = createActors();
  await stack.startWorker(actors);
});
afterAll(() => stack?.close());

type Payload = { metadata: Record<string, Uint8Array>; data: Uint8Array };
const bytes = (text: string) => new TextEncoder().encode(text);
const payload = (encoding: string, data: string): Payload => ({
  metadata: { encoding: bytes(encoding) },
  data: bytes(data),
});
const json = (value: unknown) => payload('json/plain', JSON.stringify(value));

/** A signal exactly as given, past the SDK's own encoding. */
function signalRaw(id: string, signalName: string, payloads: Payload[]) {
  return stack.connection.workflowService.signalWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: id },
    signalName,
    input: { payloads },
    identity: 'somebody',
    requestId: randomUUID(),
  });
}

const status = (id: string): Promise<ContinuationStatusView> => stack.handle(id).query('status');
const refusals = async (id: string) => (await status(id)).refusedSignals;

describe.concurrent('signals as the Temporal UI and CLI send them', () => {
  const bodies: Array<[WaitType, object]> = [
    ['user_reply', { message: { text: 'blue' } }],
    ['approval_resolution', { approvalId: 'appr_1', decision: 'approved', reason: 'fine' }],
    ['external_result', { operationId: 'op_1', payload: { rows: 3 } }],
    ['agent_reply', { replyWith: 'rw_1', performative: 'inform', content: 'seven' }],
  ];
  test.for(bodies)('%s: the bare body answers, of a subject that nobody vouches for', async ([type, body]) => {
    const { id } = await created(stack.client, pause(type));
    await signalRaw(id, type, [json(body)]);
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'completed',
      answers: [{ type, subject: 'temporal', verified: false, channel: 'temporal' }],
    });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(actors.turns(id)[0]?.trigger).toMatchObject({ type, ...body });
  });

  test('the example that the UI shows in the static details is taken as it is', async () => {
    for (const type of [
      'user_reply',
      'approval_resolution',
      'external_result',
      'agent_reply',
      'scheduled_wake',
    ] as const) {
      const { id } = await created(stack.client, pause(type));
      await stack.waits(id);
      const { staticDetails } = await stack
        .handle(id)
        .describe()
        .then(async (one) => ({ staticDetails: await one.staticDetails() }));
      const example = /```json\n([\s\S]*?)\n```/.exec(staticDetails ?? '')?.[1] ?? '';
      await signalRaw(id, type, [payload('json/plain', example)]);
      expect((await agreedEnd(stack, id)).record.status).toBe('completed');
    }
  });

  test('the envelope, with and without the type of the trigger, answers as well', async () => {
    for (const trigger of [{ message: { text: 'blue' } }, reply('blue')]) {
      const { id, suspension } = await created(stack.client);
      await signalRaw(id, 'user_reply', [json({ messageId: 'm_1', suspensionId: suspension.id, trigger })]);
      const { record } = await agreedEnd(stack, id);
      expect(record.answers).toMatchObject([{ messageId: 'm_1' }]);
    }
  });

  test('the same signal twice has one effect, and the second is no refusal', async () => {
    const { id } = await created(stack.client);
    const running = gate();
    actors.plays(id, async () => {
      await running.opened;
      return DONE;
    });
    const body = [json({ message: { text: 'blue' } })];
    await signalRaw(id, 'user_reply', body);
    await signalRaw(id, 'user_reply', body);
    await actors.running(id);
    expect(await refusals(id)).toEqual([]);
    running.open();
    await agreedEnd(stack, id);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('an update of any trigger answers, and its result explains itself', async () => {
    const { id } = await created(stack.client, pause('approval_resolution'));
    const result = await stack
      .handle(id)
      .executeUpdate('resume', { args: [{ trigger: approve() }], updateId: 'from-the-cli' });
    expect(result).toMatchObject({
      outcome: 'accepted',
      answer: { messageId: 'from-the-cli', decision: 'approved', subject: 'temporal', channel: 'temporal' },
    });
    await agreedEnd(stack, id);
  });

  test('a stop ends it', async () => {
    const { id } = await created(stack.client);
    await signalRaw(id, 'stop', [json({ reason: 'cancelled_by_product' })]);
    expect((await agreedEnd(stack, id)).record.terminalReason).toBe('cancelled_by_product');
  });
});

describe.concurrent('what cannot be used', () => {
  const poison: Array<[string, Payload[], string]> = [
    ['no argument', [], 'invalid_input'],
    ['null', [json(null)], 'invalid_input'],
    ['text', [json('approved')], 'invalid_input'],
    ['an array', [json([1])], 'invalid_input'],
    ['an empty object', [json({})], 'invalid_input'],
    ['an unknown field', [json({ message: { text: 'x' }, extra: 1 })], 'invalid_input'],
    ['another type in it', [json({ trigger: approve() })], 'wrong_trigger'],
    ['U+0000', [json({ message: { text: 'a\u0000b' } })], 'invalid_input'],
    ['a lone surrogate', [payload('json/plain', '{"message":{"text":"\\ud800"}}')], 'invalid_input'],
    ['broken JSON', [payload('json/plain', '{"message":')], 'invalid_input'],
    ['an unknown encoding', [payload('binary/unheard-of', 'x')], 'invalid_input'],
    ['an unknown protobuf', [payload('json/protobuf', '{}')], 'invalid_input'],
    ['no encoding', [{ metadata: {}, data: bytes('x') }], 'invalid_input'],
    ['what looks like our marker', [json({ undecodable: true })], 'invalid_input'],
    ['nesting without end', [payload('json/plain', `${'['.repeat(5000)}${']'.repeat(5000)}`)], 'invalid_input'],
    [
      'the internal trigger',
      [json({ trigger: { type: 'no_answer', firedAt: '2026-12-01T12:00:00.000Z' } })],
      'invalid_input',
    ],
    [
      'a forged prototype',
      [payload('json/plain', '{"__proto__":{"trigger":{}},"message":{"text":"x"}}')],
      'invalid_input',
    ],
  ];

  test('is refused and listed, signal by signal, and the workflow goes on', async () => {
    const { id } = await created(stack.client);
    for (const [, payloads] of poison) await signalRaw(id, 'user_reply', payloads);
    const listed = await refusals(id);
    const codes = Object.fromEntries(poison.map(([name], index) => [name, listed[index]?.refusal.code]));
    expect(codes).toEqual(Object.fromEntries(poison.map(([name, , code]) => [name, code])));
    expect(listed.every((one) => one.signal === 'user_reply' && !Number.isNaN(Date.parse(one.at)))).toBe(true);
    expect((await status(id)).status).toBe('pending');
    await stack.client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', answers: [{ type: 'user_reply', channel: 'api' }] });
    const outcome: ContinuationOutcome = await stack.handle(id).result();
    expect(outcome.refusedSignals).toEqual(listed);
  });

  test('the last twenty refusals are kept, by message id', async () => {
    const { id } = await created(stack.client);
    for (let index = 1; index <= 25; index++) {
      await signalRaw(id, 'approval_resolution', [json({ messageId: `m_${index}`, trigger: approve() })]);
    }
    const listed = await refusals(id);
    expect(listed.map((one) => one.messageId)).toEqual(Array.from({ length: 20 }, (_, index) => `m_${index + 6}`));
    expect(listed[0]?.refusal.code).toBe('wrong_trigger');
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });

  test('stops without a known reason, and signals nobody knows, are refused as well', async () => {
    const { id } = await created(stack.client);
    await signalRaw(id, 'stop', []);
    await signalRaw(id, 'stop', [json({ reason: 'because' })]);
    await signalRaw(id, 'stop', [payload('binary/unheard-of', 'x')]);
    await signalRaw(id, 'approve', [json({})]);
    expect((await refusals(id)).map((one) => [one.signal, one.refusal.code])).toEqual([
      ['stop', 'invalid_input'],
      ['stop', 'invalid_input'],
      ['stop', 'invalid_input'],
      ['approve', 'invalid_input'],
    ]);
    expect((await status(id)).status).toBe('pending');
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });

  test('updates are refused without a trace', async () => {
    const { id } = await created(stack.client);
    await stack.waits(id);
    const length = await stack.historyLength(id);
    const handle = stack.handle(id);
    const bad: Array<[string, unknown[]]> = [
      ['resume', []],
      ['resume', ['approved']],
      ['resume', [{ trigger: { type: 'user_reply' } }]],
      ['stop', []],
      ['stop', [{ reason: 'because' }]],
      ['extend', []],
      ['extend', [{ expiresAt: 'tomorrow' }]],
      ['approve', [{}]],
    ];
    for (const [name, args] of bad) {
      await expect(
        handle.executeUpdate(name, { args: args as [] }),
        `${name} ${JSON.stringify(args)}`,
      ).rejects.toThrow();
    }
    expect(await stack.historyLength(id)).toBe(length);
    expect((await status(id)).status).toBe('pending');
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });

  test('a refused signal after the acceptance does not touch the turn', async () => {
    const { id } = await created(stack.client);
    const running = gate();
    actors.plays(id, async () => {
      await running.opened;
      return DONE;
    });
    await stack.client.resume({ continuationId: id, trigger: reply() });
    await actors.running(id);
    await signalRaw(id, 'user_reply', [json({ message: { text: 'another' } })]);
    await signalRaw(id, 'user_reply', [payload('json/plain', '{')]);
    const listed = await refusals(id);
    expect(listed.map((one) => one.refusal.code)).toEqual(['already_resumed', 'invalid_input']);
    expect(listed[0]?.refusal.winner).toMatchObject({ subject: 'anonymous', type: 'user_reply' });
    running.open();
    expect((await agreedEnd(stack, id)).record.answers).toHaveLength(1);
    expect(actors.turns(id)).toHaveLength(1);
  });
});

describe.concurrent('the start of a workflow', () => {
  const start = (payloads: Payload[]) => {
    const workflowId = `foreign-${randomUUID()}`;
    return stack.connection.workflowService
      .startWorkflowExecution({
        namespace: 'default',
        workflowId,
        workflowType: { name: 'continuation' },
        taskQueue: { name: stack.taskQueue },
        input: { payloads },
        requestId: randomUUID(),
      })
      .then(() => workflowId);
  };

  test('with an input that is not ours, or cannot be decoded, fails it at once with a clear failure', async () => {
    const record = { schemaVersion: 1, id: 'x', status: 'pending', suspension: {} };
    const inputs: Payload[][] = [
      [],
      [json({})],
      [json('hello')],
      [payload('binary/unheard-of', 'x')],
      [payload('json/plain', '{')],
      [json({ record, options: {} })],
    ];
    for (const input of inputs) {
      const failed = stack.handle(await start(input)).result();
      await expect(failed).rejects.toMatchObject({
        cause: { type: 'invalid_input', message: expect.stringContaining('start continuations with the client') },
      });
    }
  });
});

describe.concurrent('with directMessages off', () => {
  test('only what came through a client is taken', async () => {
    const client = stack.newClient({ directMessages: false });
    const { id } = await created(client);
    await signalRaw(id, 'user_reply', [json({ message: { text: 'blue' } })]);
    expect(await refusals(id)).toMatchObject([{ signal: 'user_reply', refusal: { code: 'not_authorized' } }]);
    await expect(stack.handle(id).executeUpdate('resume', { args: [{ trigger: reply() }] })).rejects.toMatchObject({
      cause: { type: 'not_authorized' },
    });
    expect(taken(await client.resume({ continuationId: id, trigger: reply() })).outcome).toBe('accepted');
    await agreedEnd(stack, id);
  });
});

describe.concurrent('what the Temporal UI shows', () => {
  const search = async (query: string) => {
    const ids: string[] = [];
    for await (const found of stack.temporal.workflow.list({ query })) ids.push(found.workflowId);
    return ids;
  };

  test('search attributes follow status, wait, session and deadline', async () => {
    const sessionId = `session-${randomUUID()}`;
    const { id, bounds } = await created(stack.client, pause('approval_resolution', { sessionId }));
    const attributes = async () => {
      const { typedSearchAttributes } = await stack.handle(id).describe();
      return Object.fromEntries(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
    };
    await stack.waits(id);
    expect(await attributes()).toMatchObject({
      ContinuationStatus: 'pending',
      ContinuationWait: 'approval_resolution',
      ContinuationSession: sessionId,
      ContinuationExpiresAt: new Date(bounds.expiresAt ?? ''),
    });
    await eventually(async () =>
      expect(await search(`ContinuationSession = "${sessionId}" AND ContinuationStatus = "pending"`)).toEqual([id]),
    );
    const running = gate();
    actors.plays(id, async () => {
      await running.opened;
      return DONE;
    });
    await stack.client.resume({ continuationId: id, trigger: approve() });
    await actors.running(id);
    expect(await attributes()).toMatchObject({ ContinuationStatus: 'resuming' });
    running.open();
    await agreedEnd(stack, id);
    expect(await attributes()).toMatchObject({ ContinuationStatus: 'completed' });
  });

  test('with searchAttributes off there are none, and all else works', async () => {
    const client = stack.newClient({ searchAttributes: false });
    const { id } = await created(client);
    await client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
    await agreedEnd(stack, id);
    const { typedSearchAttributes } = await stack.handle(id).describe();
    expect(typedSearchAttributes.getAll().filter(({ key }) => key.name.startsWith('Continuation'))).toEqual([]);
  });

  test('question first in the input, summary, details and a result that explains itself', async () => {
    const question = 'Refund **order 42** & <b>close</b>?\n$x$';
    const client = stack.newClient({ linkTo: (id) => `https://inbox.example/${id}` });
    const { id } = await created(
      client,
      pause('approval_resolution', {
        harnessResult: { outcome: 'awaiting_approval', continuation: { state: { question, approvalId: 'refund-42' } } },
      }),
    );
    await stack.waits(id);
    const description = await stack.handle(id).describe();
    const summary = await description.staticSummary();
    expect(summary).toBe('support waits for an approval (approvalId refund-42): Refund order 42 & bclose/b? x');
    const details = (await description.staticDetails()) ?? '';
    expect(details).toContain(`[Answer it](https://inbox.example/${id})`);
    expect(details).not.toContain('<b>');
    const { events } = await stack.handle(id).fetchHistory();
    const [input] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    expect(Object.keys(JSON.parse(Buffer.from(input?.data ?? []).toString()))[0]).toBe('question');
    const timer = events?.find((event) => event.timerStartedEventAttributes);
    const timerSummary = Buffer.from(timer?.userMetadata?.summary?.data ?? []).toString();
    expect(timerSummary).toMatch(
      /^"Waits for an approval \(approvalId refund-42\); expires \d{4}-\d\d-\d\d \d\d:\d\d UTC"$/,
    );
    const ann = client.as({ subject: 'ann', verified: true, channel: 'slack' });
    const answered = taken(
      await ann.resume({ continuationId: id, trigger: approve('refund-42') }, { until: 'finished' }),
    );
    await agreedEnd(stack, id);
    const receipts = await client.receipts(id);
    expect(await stack.handle(id).result()).toEqual({
      status: 'completed',
      reason: 'completed',
      decision: 'approved',
      answeredBy: 'ann',
      answeredAt: answered.outcome === 'accepted' && answered.answer.receivedAt,
      delivery: 'delivered',
      receiptsHead: receipts?.at(-1)?.digest,
    });
  });

  test('queries tell the record and what is waited for', async () => {
    const record = await created(stack.client);
    expect(await stack.handle(record.id).query('record')).toEqual(record);
    expect(await status(record.id)).toEqual({
      status: 'pending',
      question: 'Which colour?',
      waitFor: { type: 'user_reply' },
      expiresAt: record.bounds.expiresAt,
      refusedSignals: [],
    });
    await stack.client.stop({ continuationId: record.id, reason: 'cancelled_by_user' });
    await becomes(stack.client, record.id);
  });
});
