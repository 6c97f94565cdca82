/** An operator decides unknown effects of one turn one by one; the rest of the turn goes on from its journal (C7, C8; 003). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { runCli } from '../../src/cli/run.ts';
import { createEngineHarness, type Message, type SubAgent } from '../../src/engine/index.ts';
import { type ContinuationRecord, OutcomeUnknown, type ReconcileContinuationInput } from '../../src/index.ts';
import { reply } from '../support/builders.ts';
import { createTestApi } from '../support/http.ts';
import { agreedEnd, becomes, created, refusalOf, type Stack, startStack, taken } from '../support/stack.ts';

let stack: Stack;
const folder = mkdtempSync(join(tmpdir(), 'reconcile-'));
const statement = join(folder, 'statement.txt');
beforeAll(async () => {
  stack = await startStack();
  writeFileSync(statement, 'one payment');
});
afterAll(async () => {
  await stack?.close();
  rmSync(folder, { recursive: true, force: true });
});

const call = (name: string) => ({ id: `call-${name}`, name, arguments: '{}' });
const said = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'assistant').length;
const wordsOf = (messages: readonly Message[]) =>
  messages.filter(({ role }) => role === 'tool').map(({ parts }) => String(parts[0]?.value));

const ran: string[] = [];
let models = 0;
/** Tools that lose their answer the first time. */
const lost = new Set(['pay', 'mail', 'ship']);
const tools = {
  describe({ name }: { name: string }) {
    if (name === 'ask') return { effect: 'once', gate: { wait: 'user_reply', question: 'Which?' } } as const;
    return name === 'desk' ? { agent: desk } : ({ effect: name === 'look' ? 'idempotent' : 'once' } as const);
  },
  async execute({ name }: { name: string }, { key }: { key: string }) {
    ran.push(`${name} ${key}`);
    if (lost.delete(name)) throw new OutcomeUnknown(`no answer from ${name}`);
    return `${name} done`;
  },
};
const desk: SubAgent = {
  tools,
  model: {
    async invoke({ context: { messages } }) {
      models += 1;
      return said(messages) === 0 ? { toolRequests: [call('ship')] } : { output: wordsOf(messages).join() };
    },
  },
  begin: () => [{ role: 'user', parts: [{ kind: 'text', value: 'ship it' }] }],
};
const harness = createEngineHarness({
  tools,
  model: {
    async invoke({ context: { messages } }) {
      models += 1;
      if (said(messages) === 0) return { toolRequests: [call('ask')] };
      if (said(messages) === 1) return { toolRequests: [call('pay'), call('look'), call('mail'), call('desk')] };
      return { output: wordsOf(messages).join('; ') };
    },
  },
});

const uncertain = ({ resume }: ContinuationRecord) => resume?.uncertain !== undefined;
const startedOf = async (id: string) => {
  const view = await stack.client.get({ continuationId: id, include: ['executions'] });
  return view?.executions?.flatMap(({ effects }) => effects.filter(({ state }) => state === 'started')) ?? [];
};

test('unknown effects of one turn are decided one by one', { timeout: 120_000 }, async () => {
  await stack.startWorker({ harness });
  const messages = [{ role: 'user' as const, parts: [{ kind: 'text', value: 'please' }] }];
  const harnessResult = await harness.runFirstTurn({ sessionId: 's1', turnId: 'turn-1', messages });
  const { id } = await created(stack.client, { assistantId: 'support', originTurnId: 'turn-1', harnessResult });
  taken(await stack.client.resume({ continuationId: id, trigger: reply('the blue one') }));

  // The first: it happened, and this is what it came to.
  const first = await becomes(stack.client, id, uncertain);
  const [paying] = await startedOf(id);
  expect(paying?.key).toMatch(/^run_\w+:tool:call-pay$/);
  const happened: ReconcileContinuationInput = {
    continuationId: id,
    turnId: first.resume?.turnId ?? '',
    attempt: 1,
    action: 'happened',
    effect: paying?.key,
    value: { paid: 1 },
    proof: { ref: 'statement', digest: `sha256:${'0'.repeat(64)}` },
    observedAt: '2026-12-03T10:00:00Z',
  };
  const { effect, value, ...whole } = happened;
  const refusals = await Promise.all([
    stack.client.reconcile({ ...happened, effect: 'run_x:tool:call-pay' }),
    stack.client.reconcile({ ...whole, effect }),
    stack.client.reconcile({ ...whole, value, action: 'did_not_happen' }),
    stack.client.reconcile({ ...whole, effect, action: 'close_incomplete' }),
    stack.client.reconcile({ ...happened, result: { outcome: 'completed' } }),
  ]);
  expect(refusals.map((refused) => refusalOf(refused).path)).toEqual(['effect', 'value', 'value', 'effect', 'result']);
  expect(refusalOf(refusals[0]).message).toContain(`there is ${effect}`);
  const decided = taken(await stack.client.reconcile(happened));
  expect(JSON.parse(decided.receipt.body)).toMatchObject({ action: 'happened', effect });
  expect(taken(await stack.client.reconcile(happened)).receipt).toEqual(decided.receipt);
  expect(refusalOf(await stack.client.reconcile({ ...happened, value: 2 })).code).toBe('message_conflict');

  // The second, over HTTP: it did not happen, and runs again.
  await becomes(stack.client, id, ({ resume }) => resume?.attempt === 2 && resume.uncertain !== undefined);
  const [mailing] = await startedOf(id);
  const operator = await createTestApi(stack).user({ permissions: ['operate', 'read'] });
  const { continuationId, ...request } = { ...whole, attempt: 2, action: 'did_not_happen', effect: mailing?.key };
  const sent = await operator.send('POST', `/v1/continuations/${continuationId}/reconcile`, request);
  expect(sent).toMatchObject({ status: 200, body: { outcome: 'reconciled' } });

  // The third, of an agent below, at the command line.
  await becomes(stack.client, id, ({ resume }) => resume?.attempt === 3 && resume.uncertain !== undefined);
  const [shipping] = await startedOf(id);
  expect(shipping?.key).toMatch(/^run_\w+\/call-desk:tool:call-ship$/);
  const lines: string[] = [];
  const cli = (...words: string[]) =>
    runCli(words, {
      env: {
        DATABASE_URL: stack.databaseUrl,
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        CONTINUATIONS_TASK_QUEUE: stack.taskQueue,
      },
      cwd: '/',
      userName: 'olga',
      isTerminal: false,
      width: 120,
      now: () => new Date(),
      ended: async () => undefined,
      input: async () => '',
      out: (line) => lines.push(line),
      error: (line) => lines.push(line),
    });
  await cli('get', id);
  expect(lines.join()).toContain(`In question (reconcile --effect):\n  ${shipping?.key}`);
  const decision = ['happened', '--effect', shipping?.key ?? '', '--value', '"it left"', '--proof', statement];
  expect([await cli('reconcile', id, ...decision), lines.at(-1)]).toEqual([
    0,
    expect.stringContaining('Decided: happened'),
  ]);

  const { record, kinds } = await agreedEnd(stack, id);
  expect(record).toMatchObject({ status: 'completed', resume: { attempt: 4 } });
  expect(kinds.filter((kind) => kind === 'uncertain' || kind === 'reconciled')).toHaveLength(6);
  const ended = await stack.client.get({ continuationId: id, include: ['result'] });
  expect(ended?.result?.assistantMessage?.text).toBe('the blue one; {"paid":1}; look done; mail done; it left');
  // What had been decided or done was not run again, and no model was asked twice.
  expect(ran.map((line) => line.split(' ')[0])).toEqual(['pay', 'look', 'mail', 'mail', 'ship']);
  expect(models).toBe(5);
});
