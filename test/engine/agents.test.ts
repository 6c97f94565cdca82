/** Agents that calls run (003 `delegated_under`): what a run two levels down waits for surfaces at the root, and steps above it run once. */
import { describe, expect, test } from 'vitest';
import {
  type EnginePorts,
  loadResumeContext,
  type ModelInvocationResponse,
  type ResumeContext,
  type ResumeOptions,
  resumeTurn,
  runTurn,
  type SubAgent,
  type ToolPort,
} from '../../src/engine/index.ts';
import { OutcomeUnknown, TransientError } from '../../src/index.ts';
import { memoryJournal, scriptedModel, scriptedTools } from '../../src/testing.ts';

const FIRST = {
  sessionId: 's1',
  turnId: 't1',
  runId: 'root',
  messages: [{ role: 'user' as const, parts: [{ kind: 'text', value: 'hello' }] }],
};
type Script = Parameters<typeof scriptedModel>[0];
type Tools = Parameters<typeof scriptedTools>[0];
const calls = (...names: string[]): ModelInvocationResponse => ({
  toolRequests: names.map((name) => ({ id: `call-${name}`, name, arguments: `{"for":"${name}"}` })),
});
const says = (output: string): ModelInvocationResponse => ({ output });
const noWait = async () => {};

/** An agent with a script; its calls of `agents` run those. */
function agent(script: Script, tools: Tools = {}, agents: Readonly<Record<string, SubAgent>> = {}, more: object = {}) {
  const model = scriptedModel(script);
  const scripted = scriptedTools(tools);
  const port: ToolPort = {
    ...scripted,
    describe: (request, seen) => {
      const below = agents[request.name];
      return below ? { agent: below } : scripted.describe(request, seen);
    },
  };
  const begin: SubAgent['begin'] = (request) => [
    { role: 'user', parts: [{ kind: 'text', value: String(request.arguments) }] },
  ];
  return { model, tools: port, begin, backoff: noWait, ran: scripted.calls, ...more };
}
type Agent = ReturnType<typeof agent>;
const rootOf = ({ model, tools, backoff }: Agent, journal = memoryJournal(), more: Partial<EnginePorts> = {}) => ({
  model,
  tools,
  backoff,
  journal,
  ...more,
});
const idsOf = ({ ran }: Agent) => ran.map(({ id }) => id);
const textOf = ({ model }: Agent, at: number) =>
  model.requests[at]?.context.messages.map(({ role, parts }) => [role, parts.map(({ value }) => value).join('')]);

/** The stored state of a journal's last checkpoint. */
function stored(journal: ReturnType<typeof memoryJournal>): ResumeContext {
  const context = {
    checkpoint: journal.checkpoints.at(-1),
    maxIterations: 10,
    maxModelAttempts: 3,
    lastJournalSequence: journal.events.at(-1)?.sequence ?? 0,
  };
  return loadResumeContext(JSON.parse(JSON.stringify(context)));
}
const goOn = (root: Agent, journal: ReturnType<typeof memoryJournal>, options: ResumeOptions = {}) =>
  resumeTurn(rootOf(root, journal), stored(journal), options);

describe('two levels down', () => {
  const pay = { gate: { wait: 'approval_resolution', question: 'Pay?' } } as const;
  async function paused() {
    const payer = agent([calls('check', 'pay')], { check: {}, pay });
    const clerk = agent([calls('note', 'payer')], { note: {} }, { payer });
    const root = agent([calls('look', 'clerk')], { look: {} }, { clerk });
    const journal = memoryJournal();
    const end = await runTurn(rootOf(root, journal), FIRST);
    return { end, journal, agents: { root, clerk, payer } };
  }
  /** The same agents in another process, with what is left of their scripts. */
  function later() {
    const payer = agent([says('paid')], { pay });
    const clerk = agent([says('the clerk is done')], {}, { payer });
    const root = agent([says('done')], {}, { clerk });
    return { root, clerk, payer };
  }
  const waiting = 'call-clerk/call-payer/call-pay';

  test('an approval surfaces at the root, under an id of its own', async () => {
    const { end, agents } = await paused();
    expect(end).toMatchObject({
      end: 'pause',
      waiting: [{ request: { id: waiting, name: 'pay', arguments: '{"for":"pay"}' }, gate: pay.gate }],
    });
    expect([agents.root, agents.clerk, agents.payer].map(idsOf)).toEqual([
      ['call-look'],
      ['call-note'],
      ['call-check'],
    ]);
  });

  test('its answer goes down; every step that ran, ran once, on each level', async () => {
    const { journal } = await paused();
    const now = later();
    const answers = new Map([[waiting, { decision: 'run', arguments: '{"for":"edited"}' } as const]]);
    expect(await goOn(now.root, journal, { answers })).toMatchObject({ commit: { status: 'success', output: 'done' } });
    expect(now.payer.ran).toMatchObject([{ id: 'call-pay', arguments: '{"for":"edited"}' }]);
    expect([now.root, now.clerk].map(idsOf)).toEqual([[], []]);
    for (const { model } of Object.values(now)) model.assertDone();
    expect(textOf(now.clerk, 0)?.at(-1)).toEqual(['tool', 'paid']);
    expect(textOf(now.root, 0)?.at(-1)).toEqual(['tool', 'the clerk is done']);
    expect(journal.checkpoints.at(-1)?.delegatedRuns).toBeUndefined();
  });

  test('a denial is told to the model that asked', async () => {
    const { journal } = await paused();
    const now = later();
    await goOn(now.root, journal, { answers: new Map([[waiting, { decision: 'denied', reason: 'no' }]]) });
    expect(textOf(now.payer, 0)?.at(-1)).toEqual(['tool', 'no']);
    expect(idsOf(now.payer)).toEqual([]);
  });

  test('numbers, keys, parents and depths are those of one journal', async () => {
    const { journal } = await paused();
    const now = later();
    await goOn(now.root, journal, { answers: new Map([[waiting, { decision: 'run' }]]) });
    const numbers = journal.events.map(({ sequence }) => sequence);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    const runs = new Map(
      journal.events.map(({ runId, parentRunId, delegationDepth }) => [runId, [parentRunId, delegationDepth]]),
    );
    expect([...runs]).toEqual([
      ['root', [undefined, 0]],
      ['root/call-clerk', ['root', 1]],
      ['root/call-clerk/call-payer', ['root/call-clerk', 2]],
    ]);
    expect(now.payer.ran[0]?.key).toBe('root/call-clerk/call-payer:tool:call-pay');
    const ends = journal.events.filter(({ kind }) => kind === 'turn_committed').map(({ runId }) => runId);
    expect(ends).toEqual(['root/call-clerk/call-payer', 'root/call-clerk', 'root']);
  });

  test('cut off after every write, it goes on: each effect once, under one key', async () => {
    const answers = new Map([[waiting, { decision: 'run' } as const]]);
    const { journal: whole } = await paused();
    const before = whole.writes.length;
    await goOn(later().root, whole, { answers });
    for (let kept = before; kept < whole.writes.length; kept++) {
      const { journal } = await paused();
      const now = later();
      const dies = memoryJournal(() => journal.writes.length + dies.writes.length >= kept);
      await resumeTurn(rootOf(now.root, dies), stored(journal), { answers }).catch(() => undefined);
      for (const entry of dies.writes) await journal.write(entry);
      const [again, paid] = [later(), now.payer.ran.length];
      // A model that had answered is not asked again, so its script is not used up.
      const end = await goOn(again.root, journal, { answers, cutOff: journal.started() });
      const status = end.end === 'commit' ? end.commit.status : end.end;
      expect([status, paid + again.payer.ran.length], `${kept} writes`).toEqual(
        journal.started().size > 0 ? ['reconciliation_required', 1] : ['success', 1],
      );
      if (status === 'success')
        expect(again.root.model.requests.length + now.root.model.requests.length).toBeLessThan(3);
    }
  });
});

describe('beside each other', () => {
  const ask = { gate: { wait: 'approval_resolution' } } as const;
  test('two agents and a call of the root ask together, and are answered each for itself', async () => {
    const [a, b] = [agent([calls('pay')], { pay: ask }), agent([calls('pay')], { pay: ask })];
    const journal = memoryJournal();
    const end = await runTurn(rootOf(agent([calls('a', 'pay', 'b')], { pay: ask }, { a, b }), journal), FIRST);
    const ids = end.end === 'pause' ? end.waiting.map(({ request }) => request.id) : [];
    expect(ids).toEqual(['call-a/call-pay', 'call-pay', 'call-b/call-pay']);
    const [a2, b2] = [agent([says('a ok')], { pay: ask }), agent([says('b ok')], { pay: ask })];
    const root = agent([says('done')], { pay: ask }, { a: a2, b: b2 });
    const answers = new Map([
      ['call-a/call-pay', { decision: 'denied' } as const],
      ['call-pay', { decision: 'run' } as const],
      ['call-b/call-pay', { decision: 'run' } as const],
    ]);
    expect(await goOn(root, journal, { answers })).toMatchObject({ commit: { status: 'success' } });
    expect([a2, root, b2].map(({ ran }) => ran.map(({ key }) => key))).toEqual([
      [],
      ['root:tool:call-pay'],
      ['root/call-b:tool:call-pay'],
    ]);
  });

  test('what waits for another reason waits on, and costs nothing when the turn goes on without it', async () => {
    const asks = { gate: { wait: 'user_reply', question: 'Which?' } } as const;
    const script: Script = [calls('ask')];
    const journal = memoryJournal();
    const first = agent([calls('pay', 'a')], { pay: ask }, { a: agent(script, { ask: asks }) });
    expect(await runTurn(rootOf(first, journal), FIRST)).toMatchObject({ waiting: [{ request: { id: 'call-pay' } }] });
    const second = agent([], { pay: ask }, { a: agent([], { ask: asks }) });
    const end = await goOn(second, journal, { answers: new Map([['call-pay', { decision: 'run' }]]) });
    expect(end).toMatchObject({ end: 'pause', waiting: [{ request: { id: 'call-a/call-ask' }, gate: asks.gate }] });
    const third = agent([says('done')], { pay: ask }, { a: agent([says('the blue one')], { ask: asks }) });
    const result = { outcome: 'success', output: 'blue' } as const;
    const answers = new Map([['call-a/call-ask', { decision: 'result', result } as const]]);
    expect(await goOn(third, journal, { answers })).toMatchObject({ commit: { output: 'done' } });
  });

  test('a call that needs leave gets it once: the agent that it runs pauses and goes on without asking again', async () => {
    const gate = { wait: 'approval_resolution', question: 'Delegate?' } as const;
    const gated = (below: SubAgent, script: Script) => ({
      ...agent(script),
      tools: { describe: () => ({ agent: below, gate }), execute: async () => null },
    });
    const journal = memoryJournal();
    const before = gated(agent([]), [calls('a')]);
    expect(await runTurn(rootOf(before, journal), FIRST)).toMatchObject({ waiting: [{ request: { id: 'call-a' } }] });
    const answers = new Map([['call-a', { decision: 'run', arguments: '"edited"' } as const]]);
    const asking = agent([calls('pay')], { pay: ask });
    const end = await goOn(gated(asking, []), journal, { answers });
    expect(end).toMatchObject({ waiting: [{ request: { id: 'call-a/call-pay' } }] });
    expect(textOf(asking, 0)).toEqual([['user', '"edited"']]);
    // It has begun: what the model wrote is not looked at again.
    const begin = () => {
      throw new Error('it began before');
    };
    const last = gated({ ...agent([says('ok')], { pay: ask }), begin }, [says('done')]);
    const paid = new Map([['call-a/call-pay', { decision: 'run' } as const]]);
    expect(await goOn(last, journal, { answers: paid })).toMatchObject({ commit: { output: 'done' } });
    const told = journal.checkpoints.findLast(({ completedToolResults: results }) => results?.length === 1);
    expect(told?.completedToolResults).toMatchObject([
      { requestId: 'call-a', output: 'ok', metadata: { editedArguments: '"edited"' } },
    ]);
  });
});

describe('what becomes of an agent', () => {
  test('its failure, or a call that it cannot begin with, is told to the model above', async () => {
    const failing = agent([new Error('503'), new Error('503'), new Error('503')]);
    const root = agent([calls('a'), says('ok')], {}, { a: failing });
    expect(await runTurn(rootOf(root), FIRST)).toMatchObject({ commit: { status: 'success' } });
    expect(textOf(root, 1)?.at(-1)).toEqual(['tool', '503']);
    const confused = agent([], {}, {}, { begin: () => JSON.parse('{') });
    const other = agent([calls('a'), says('ok')], {}, { a: confused });
    expect(await runTurn(rootOf(other), FIRST)).toMatchObject({ commit: { status: 'success' } });
    expect(textOf(other, 1)?.at(-1)?.[1]).toMatch(/JSON/);
  });

  test('a passing error of its model is one of the turn, which goes on where the agent was', async () => {
    const busy = new TransientError('busy');
    const below = agent([calls('look'), busy, busy, busy], { look: {} });
    const journal = memoryJournal();
    const end = await runTurn(rootOf(agent([calls('a')], {}, { a: below }), journal), FIRST);
    expect(end).toMatchObject({ commit: { status: 'failed' }, error: busy });
    const now = agent([says('seen')]);
    expect(await goOn(agent([says('ok')], {}, { a: now }), journal)).toMatchObject({ commit: { output: 'ok' } });
    expect(textOf(now, 0)?.at(-1)).toEqual(['tool', 'look done']);
  });

  test('its budget is its own, and stays what it was when it began, however often it pauses', async () => {
    const ask = { gate: { wait: 'user_reply' } } as const;
    const journal = memoryJournal();
    const small = agent([calls('ask')], { ask }, {}, { budgets: { maxIterations: 2 } });
    await runTurn(rootOf(agent([calls('a')], {}, { a: small }), journal), FIRST);
    const result = { outcome: 'success', output: 'yes' } as const;
    const answers = new Map([['call-a/call-ask', { decision: 'result', result } as const]]);
    const raised = (script: Script) => agent(script, { ask }, {}, { budgets: { maxIterations: 9 } });
    expect(await goOn(agent([], {}, { a: raised([calls('ask')]) }), journal, { answers })).toMatchObject({
      end: 'pause',
    });
    const root = agent([says('ok')], {}, { a: raised([]) });
    await goOn(root, journal, { answers });
    expect(textOf(root, 0)?.at(-1)).toEqual(['tool', 'No answer within 2 iterations.']);
  });

  test('an agent that runs itself ends eight levels down', async () => {
    const self: { a?: SubAgent } = {};
    const tools: ToolPort = { describe: () => ({ agent: self.a as SubAgent }), execute: async () => null };
    const invoke = async ({ context }: { context: { messages: readonly { role: string }[] } }) =>
      context.messages.some(({ role }) => role === 'tool') ? says('back') : calls('a');
    self.a = { model: { invoke }, tools, begin: () => FIRST.messages };
    const journal = memoryJournal();
    expect(await runTurn({ ...self.a, journal }, FIRST)).toMatchObject({ commit: { output: 'back' } });
    expect(Math.max(...journal.events.map(({ delegationDepth }) => delegationDepth))).toBe(8);
  });

  test('cancelled in the middle, the turn is', async () => {
    const abort = new AbortController();
    const stops = { run: () => Promise.reject(abort.abort()), effect: 'idempotent' } as const;
    const root = agent([calls('a')], {}, { a: agent([calls('stop')], { stop: stops }) });
    const journal = memoryJournal();
    const end = await runTurn(rootOf(root, journal), FIRST, { signal: abort.signal });
    expect(end).toMatchObject({ commit: { status: 'cancelled' } });
    expect(journal.events.filter(({ kind }) => kind === 'turn_cancelled').map(({ runId }) => runId)).toEqual([
      'root/call-a',
      'root',
    ]);
  });

  test('a permission that asks holds below too, where the agent has none of its own', async () => {
    const permission = {
      authorize: async ({ name }: { name: string }) => (name === 'pay' ? { ask: true as const } : { approved: true }),
    };
    const root = agent([calls('a')], {}, { a: agent([calls('pay')], { pay: {} }) });
    const end = await runTurn(rootOf(root, memoryJournal(), { permission }), FIRST);
    expect(end).toMatchObject({ end: 'pause', waiting: [{ request: { id: 'call-a/call-pay' } }] });
  });

  test('ids that grow too long for a record are shortened, and still find their call', async () => {
    const ask = { gate: { wait: 'approval_resolution' } } as const;
    const id = 'x'.repeat(100);
    const journal = memoryJournal();
    const below = agent([{ toolRequests: [{ id, name: 'pay' }] }], { pay: ask });
    const end = await runTurn(rootOf(agent([calls('a'), says('x')], {}, { a: below }), journal), FIRST);
    const asked = end.end === 'pause' ? (end.waiting[0]?.request.id ?? '') : '';
    expect(asked).toBe(`call-a/${id}`);
    const deeper = agent(
      [{ toolRequests: [{ id: 'y'.repeat(100), name: 'b' }] }],
      {},
      { b: agent([{ toolRequests: [{ id, name: 'pay' }] }], { pay: ask }) },
    );
    const second = memoryJournal();
    const long = await runTurn(rootOf(deeper, second), FIRST);
    const short = long.end === 'pause' ? (long.waiting[0]?.request.id ?? '') : '';
    expect(short).toMatch(/^sha256:/);
    const paying = agent([says('ok')], { pay: ask });
    const answers = new Map([[short, { decision: 'run' } as const]]);
    expect(await goOn(agent([says('done')], {}, { b: paying }), second, { answers })).toMatchObject({
      commit: { output: 'done' },
    });
    expect(paying.ran).toHaveLength(1);
  });
});

describe('an unknown effect below', () => {
  const lost = { run: () => Promise.reject(new OutcomeUnknown('no answer')) };
  async function unknown() {
    const journal = memoryJournal();
    const below = agent([calls('pay')], { pay: lost });
    const end = await runTurn(rootOf(agent([calls('a')], {}, { a: below }), journal), FIRST);
    expect(end).toMatchObject({
      commit: { status: 'reconciliation_required', message: expect.stringContaining('pay') },
    });
    expect([...journal.started()]).toEqual(['root/call-a:tool:call-pay']);
    return journal;
  }
  const tool = { requestId: 'call-pay', name: 'pay', outcome: 'success', output: 'it was paid' } as const;

  test('stops the turn again and again, with no call made', async () => {
    const journal = await unknown();
    const root = agent([], {}, { a: agent([]) });
    expect(await goOn(root, journal)).toMatchObject({ commit: { status: 'reconciliation_required' } });
  });

  test('is decided for its run alone; the rest goes on from the journal', async () => {
    const journal = await unknown();
    const below = agent([says('paid')]);
    const root = agent([says('done')], {}, { a: below });
    await expect(goOn(root, journal, { resolution: { tool } })).rejects.toThrow(/requires no/);
    await expect(goOn(root, journal, { resolution: { tool, runId: 'nowhere' } })).rejects.toThrow(/nothing of run/);
    const resolution = { tool, runId: 'root/call-a' };
    expect(await goOn(root, journal, { resolution })).toMatchObject({ commit: { output: 'done' } });
    expect(textOf(below, 0)?.at(-1)).toEqual(['tool', 'it was paid']);
  });

  test('is decided beside an agent that waits for somebody', async () => {
    const ask = { gate: { wait: 'approval_resolution' } } as const;
    const journal = memoryJournal();
    const waits = (script: Script) => agent(script, { ask });
    const first = agent([calls('w', 'a')], {}, { w: waits([calls('ask')]), a: agent([calls('pay')], { pay: lost }) });
    expect(await runTurn(rootOf(first, journal), FIRST)).toMatchObject({
      commit: { status: 'reconciliation_required' },
    });
    const stopped = agent([], {}, { w: waits([]), a: agent([]) });
    expect(await goOn(stopped, journal)).toMatchObject({ commit: { status: 'reconciliation_required' } });
    const root = agent([], {}, { w: waits([]), a: agent([says('paid')]) });
    const end = await goOn(root, journal, { resolution: { tool, runId: 'root/call-a' } });
    expect(end).toMatchObject({ end: 'pause', waiting: [{ request: { id: 'call-w/call-ask' } }] });
  });

  test('that cannot be written comes back with the state of the whole turn', async () => {
    const journal = memoryJournal(({ events }) =>
      events.some(({ kind, runId }) => kind === 'tool_execution_completed' && runId !== 'root'),
    );
    const root = agent([calls('a')], {}, { a: agent([calls('pay')], { pay: {} }) });
    await expect(runTurn(rootOf(root, journal), FIRST)).rejects.toMatchObject({
      name: 'RecoveryRequired',
      requestId: 'call-a/call-pay',
      checkpoint: {
        runId: 'root',
        delegatedRuns: { 'call-a': { checkpoint: { completedToolResults: [{ requestId: 'call-pay' }] } } },
      },
    });
  });
});
