/** The engine's loop (003 `turn_engine` and its shared vectors), on a strict script and a journal in memory. */
import { describe, expect, test } from 'vitest';
import {
  delegatedUnder,
  type EnginePorts,
  type FirstTurn,
  loadCheckpoint,
  loadResumeContext,
  type ModelInvocationResponse,
  postCommitId,
  resumeTurn,
  runTurn,
  type TurnEnd,
} from '../../src/engine/index.ts';
import { OutcomeUnknown } from '../../src/index.ts';
import { memoryJournal, type ScriptedTool, scriptedModel, scriptedTools } from '../../src/testing.ts';

const FIRST: FirstTurn = {
  sessionId: 's1',
  turnId: 't1',
  runId: 'r1',
  messages: [{ role: 'user', parts: [{ kind: 'text', value: 'hello' }] }],
};
const calls = (...names: string[]): ModelInvocationResponse => ({
  toolRequests: names.map((name) => ({ id: `call-${name}`, name, arguments: '{"n":1.0}' })),
});
const says = (output: string): ModelInvocationResponse => ({ output });
const noWait = async () => {};

function bed(
  script: Parameters<typeof scriptedModel>[0],
  tools: Record<string, ScriptedTool> = {},
  more: Partial<EnginePorts> & { refuses?: Parameters<typeof memoryJournal>[0]; idempotent?: boolean } = {},
) {
  const { refuses, idempotent, ...ports } = more;
  const journal = memoryJournal(refuses);
  const model = scriptedModel(script, idempotent === undefined ? {} : { idempotent });
  const scripted = scriptedTools(tools);
  return { journal, model, tools: scripted, ports: { model, tools: scripted, journal, backoff: noWait, ...ports } };
}
type Bed = ReturnType<typeof bed>;
const kinds = ({ journal }: Bed) => journal.events.map(({ kind }) => kind);
const commitOf = (end: TurnEnd) => (end.end === 'commit' ? end.commit : Promise.reject(new Error('it paused')));
const texts = (model: Bed['model'], at: number) =>
  model.requests[at]?.context.messages.map(({ role, parts }) => [role, parts.map(({ value }) => value).join('')]);

/** Goes on from checkpoint `at` of an earlier run, as it was stored. */
function resumed(before: Bed, now: Bed, at = -1, options: Parameters<typeof resumeTurn>[2] = {}, maxIterations = 10) {
  const stored = JSON.stringify(before.journal.checkpoints.at(at));
  const tail = before.journal.events.at(-1)?.sequence ?? 0;
  const checkpoint = loadCheckpoint(JSON.parse(stored));
  const context = loadResumeContext({ checkpoint, maxIterations, maxModelAttempts: 3, lastJournalSequence: tail });
  return resumeTurn(now.ports, context, options);
}

describe('vectors', () => {
  test('final_output', async () => {
    const it = bed([says('hi')]);
    const commit = await commitOf(await runTurn(it.ports, { ...FIRST, stablePrefixMessages: 1 }));
    expect(commit).toMatchObject({ status: 'success', output: 'hi', iterations: 1, lastSequence: 8 });
    expect(kinds(it)).toEqual([
      'turn_started',
      'context_prepared',
      'model_invocation_started',
      'model_invocation_completed',
      'checkpoint_created',
      'conversation_updated',
      'checkpoint_created',
      'turn_committed',
    ]);
    expect(it.model.requests[0]?.context.stablePrefixMessages).toBe(1);
    expect(it.journal.events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    for (const [index, { kind, sequence }] of it.journal.events.entries())
      if (kind === 'checkpoint_created') {
        const checkpoint = it.journal.checkpoints.find(({ lastSequence }) => lastSequence === sequence - 1);
        expect(checkpoint, `event ${index}`).toBeDefined();
      }
  });

  test('ordered_tool_round: one tool at a time in request order, committed together', async () => {
    const it = bed([calls('a', 'b'), says('done')], { a: {}, b: {} });
    expect(await commitOf(await runTurn(it.ports, FIRST))).toMatchObject({ status: 'success', iterations: 2 });
    expect(kinds(it)).toHaveLength(26);
    expect(it.tools.calls.map(({ id, key }) => [id, key])).toEqual([
      ['call-a', 'r1:tool:call-a'],
      ['call-b', 'r1:tool:call-b'],
    ]);
    expect(texts(it.model, 1)).toEqual([
      ['user', 'hello'],
      ['assistant', ''],
      ['tool', 'a done'],
      ['tool', 'b done'],
    ]);
    const committed = it.journal.events.filter(({ kind }) => kind === 'tool_result_committed');
    expect(committed.map(({ payload }) => payload)).toMatchObject([{ requestId: 'call-a' }, { requestId: 'call-b' }]);
  });

  test('permission_denial_is_model_visible: no start, a failed result', async () => {
    const it = bed(
      [calls('a'), says('ok')],
      { a: {} },
      {
        permission: { authorize: async () => ({ approved: false, reason: 'not today' }) },
      },
    );
    await runTurn(it.ports, FIRST);
    expect(it.tools.calls).toEqual([]);
    expect(kinds(it)).not.toContain('tool_execution_started');
    expect(kinds(it)).toContain('tool_execution_completed');
    expect(texts(it.model, 1)?.at(-1)).toEqual(['tool', 'not today']);
    const result = it.journal.checkpoints.find(({ completedToolResults }) => completedToolResults?.length);
    expect(result?.completedToolResults).toMatchObject([{ outcome: 'failed', errorKind: 'permission_denied' }]);
  });

  test('a denial may say of which kind it is', async () => {
    const permission = { authorize: async () => ({ approved: false, metadata: { errorKind: 'quota_used_up' } }) };
    const it = bed([calls('a'), says('ok')], { a: {} }, { permission });
    await runTurn(it.ports, FIRST);
    expect(it.journal.checkpoints[1]?.completedToolResults).toMatchObject([{ errorKind: 'quota_used_up' }]);
  });

  test('delegated_provider_state is carried; a reference without it, and it without a reference, are refused', async () => {
    const delegatedState = [{ provider: 'p', kind: 'thread', id: '1' }];
    const nextContextState = { portability: 'delegated' as const, delegatedState };
    const it = bed([{ ...calls('a'), nextContextState }, says('ok')], { a: {} });
    expect(await commitOf(await runTurn(it.ports, FIRST))).toMatchObject({ contextState: nextContextState });
    expect(it.model.requests.map(({ context }) => context.contextState.portability)).toEqual(['portable', 'delegated']);
    for (const wrong of [{ portability: 'delegated' as const }, { portability: 'portable' as const, delegatedState }]) {
      const refused = bed([{ ...says('x'), nextContextState: wrong }]);
      const commit = await commitOf(await runTurn(refused.ports, FIRST));
      expect(commit).toMatchObject({ status: 'failed', errorKind: 'provider_state_error' });
    }
  });

  test('cancel_before_context', async () => {
    const it = bed([]);
    const commit = await commitOf(await runTurn(it.ports, FIRST, { signal: AbortSignal.abort() }));
    expect(commit).toMatchObject({ status: 'cancelled', iterations: 0 });
    expect(kinds(it)).toEqual(['turn_started', 'turn_cancelled']);
  });
});

describe('unknown outcomes', () => {
  const lost = { run: () => Promise.reject(new OutcomeUnknown('no answer')) };
  test('of a tool stop the turn; only the right resolution goes on, and the model sees it', async () => {
    const it = bed([calls('a')], { a: lost });
    expect(await commitOf(await runTurn(it.ports, FIRST))).toMatchObject({
      status: 'reconciliation_required',
      errorKind: 'effect_outcome_unknown',
    });
    const again = bed([]);
    expect(await commitOf(await resumed(it, again))).toMatchObject({ status: 'reconciliation_required' });
    await expect(resumed(it, again, -1, { resolution: { model: says('x') } })).rejects.toThrow(/tool call/);
    const resolution = { tool: { requestId: 'call-a', name: 'a', outcome: 'success' as const, output: 'it was paid' } };
    const done = bed([says('ok')], { a: {} });
    expect(await commitOf(await resumed(it, done, -1, { resolution }))).toMatchObject({ status: 'success' });
    expect(done.tools.calls).toEqual([]);
    expect(texts(done.model, 0)?.at(-1)).toEqual(['tool', 'it was paid']);
    expect(done.model.requests[0]?.context.iteration).toBe(1);
    expect(kinds(done).slice(0, 3)).toEqual(['turn_started', 'tool_result_reconciled', 'checkpoint_created']);
    const repeated = bed([says('ok')], { a: {} });
    const happenedNot = { tool: { requestId: 'call-a', outcome: 'again' as const } };
    expect(await commitOf(await resumed(it, repeated, -1, { resolution: happenedNot }))).toMatchObject({
      status: 'success',
    });
    expect(repeated.tools.calls).toMatchObject([{ id: 'call-a', key: 'r1:tool:call-a' }]);
  });

  test('of the model are never retried; resolved, the turn commits without it', async () => {
    const it = bed([new OutcomeUnknown('cut off')]);
    expect(await commitOf(await runTurn(it.ports, FIRST))).toMatchObject({ errorKind: 'model_outcome_unknown' });
    const again = bed([]);
    expect(await commitOf(await resumed(it, again))).toMatchObject({ status: 'reconciliation_required' });
    const tool = { requestId: 'call-a', outcome: 'again' as const };
    await expect(resumed(it, again, -1, { resolution: { tool } })).rejects.toThrow(/model invocation/);
    const done = bed([]);
    const commit = await commitOf(await resumed(it, done, -1, { resolution: { model: says('said') } }));
    expect(commit).toMatchObject({ status: 'success', output: 'said', iterations: 1 });
  });

  test('a crash in the middle: a once tool is asked about, an idempotent one runs again with its key', async () => {
    const dead = bed([calls('a')], { a: { run: () => new Promise(() => {}) } });
    void runTurn(dead.ports, FIRST);
    await expect.poll(() => dead.journal.started().size).toBe(1);
    const cutOff = dead.journal.started();
    const asked = bed([], { a: {} });
    expect(await commitOf(await resumed(dead, asked, -1, { cutOff }))).toMatchObject({
      status: 'reconciliation_required',
      message: expect.stringContaining('never recorded'),
    });
    expect(asked.tools.calls).toEqual([]);
    const repeated = bed([says('ok')], { a: { effect: 'idempotent' } });
    expect(await commitOf(await resumed(dead, repeated, -1, { cutOff }))).toMatchObject({ status: 'success' });
    expect(repeated.tools.calls).toMatchObject([{ key: dead.tools.calls[0]?.key }]);
  });

  test('a crash in a model call whose provider keeps state', async () => {
    const never = () => new Promise<never>(() => {});
    const dead = bed([calls('a'), never], { a: {} }, { idempotent: false });
    void runTurn(dead.ports, FIRST);
    await expect.poll(() => dead.model.requests.length).toBe(2);
    const asked = bed([], {}, { idempotent: false });
    const commit = await commitOf(await resumed(dead, asked, -1, { cutOff: dead.journal.started() }));
    expect(commit).toMatchObject({ status: 'reconciliation_required', errorKind: 'model_outcome_unknown' });
  });
});

describe('cancellation', () => {
  const abortingAt = (kind: string) => {
    const abort = new AbortController();
    return {
      signal: abort.signal,
      onEvent: (event: { kind: string }) => void (event.kind === kind && abort.abort()),
    };
  };
  test('after a model completion prevents the tool; after the last one prevents the commit', async () => {
    for (const response of [calls('a'), says('hi')]) {
      const { signal, onEvent } = abortingAt('model_invocation_completed');
      const it = bed([response], { a: {} }, { onEvent });
      expect(await commitOf(await runTurn(it.ports, FIRST, { signal }))).toMatchObject({ status: 'cancelled' });
      expect(it.tools.calls).toEqual([]);
      expect(kinds(it).filter((kind) => kind.startsWith('turn_'))).toEqual(['turn_started', 'turn_cancelled']);
    }
  });
  test('after the permission prevents the execution', async () => {
    const abort = new AbortController();
    const it = bed(
      [calls('a')],
      { a: {} },
      {
        permission: {
          authorize: async () => {
            abort.abort();
            return { approved: true };
          },
        },
      },
    );
    expect(await commitOf(await runTurn(it.ports, FIRST, { signal: abort.signal }))).toMatchObject({
      status: 'cancelled',
    });
    expect(it.tools.calls).toEqual([]);
  });
  test('wins over a failing final policy, with one terminal event', async () => {
    const abort = new AbortController();
    const final = async () => {
      abort.abort();
      throw new Error('no');
    };
    const it = bed([says('hi')], {}, { policy: { final } });
    expect(await commitOf(await runTurn(it.ports, FIRST, { signal: abort.signal }))).toMatchObject({
      status: 'cancelled',
    });
    expect(kinds(it).filter((kind) => /turn_(failed|committed|cancelled)/.test(kind))).toEqual(['turn_cancelled']);
  });
  test('during a retry wait', async () => {
    const abort = new AbortController();
    const it = bed([new Error('503')], {}, { backoff: async () => abort.abort() });
    expect(await commitOf(await runTurn(it.ports, FIRST, { signal: abort.signal }))).toMatchObject({
      status: 'cancelled',
    });
    expect(it.model.requests).toHaveLength(1);
  });
});

describe('failures are typed', () => {
  test.each<[string, () => Bed]>([
    [
      'permission_error',
      () => bed([calls('a')], { a: {} }, { permission: { authorize: () => Promise.reject(new Error('x')) } }),
    ],
    ['tool_configuration_error', () => bed([calls('nowhere')])],
    ['policy_error', () => bed([], {}, { policy: { apply: () => Promise.reject(new Error('x')) } })],
    ['context_error', () => bed([], {}, { context: { prepare: () => Promise.reject(new Error('x')) } })],
    ['model_error', () => bed([new Error('1'), new Error('2'), new Error('3')])],
    ['retry_policy_error', () => bed([new Error('1')], {}, { backoff: () => Promise.reject(new Error('x')) })],
    [
      'conversation_format_error',
      () => bed([calls('a')], { a: {} }, { conversation: { format: () => Promise.reject(new Error('x')) } }),
    ],
  ])('%s', async (errorKind, make) => {
    const it = make();
    expect(await commitOf(await runTurn(it.ports, FIRST))).toMatchObject({ status: 'failed', errorKind });
    it.model.assertDone();
  });

  test('a tool that fails is told to the model', async () => {
    const it = bed([calls('a'), says('ok')], { a: { run: () => Promise.reject(new Error('out of stock')) } });
    expect(await commitOf(await runTurn(it.ports, FIRST))).toMatchObject({ status: 'success' });
    expect(texts(it.model, 1)?.at(-1)).toEqual(['tool', 'out of stock']);
  });
  test('max_iterations, also after the tools of the last iteration', async () => {
    const it = bed([calls('a')], { a: {} });
    const commit = await commitOf(await runTurn(it.ports, { ...FIRST, budgets: { maxIterations: 1 } }));
    expect(commit).toMatchObject({ status: 'failed', errorKind: 'max_iterations', iterations: 1 });
    const again = bed([]);
    expect(await commitOf(await resumed(it, again, -1, {}, 1))).toMatchObject({ errorKind: 'max_iterations' });
  });
  test('parallel tool calls are refused', async () => {
    await expect(runTurn(bed([]).ports, { ...FIRST, parallelToolCalls: true })).rejects.toThrow(/Parallel/);
  });
});

describe('durability', () => {
  test('a write that fails after a tool returns what happened, and the tool ran once', async () => {
    const it = bed(
      [calls('a')],
      { a: {} },
      {
        refuses: ({ events }) => events.some(({ kind }) => kind === 'tool_execution_completed'),
      },
    );
    await expect(runTurn(it.ports, FIRST)).rejects.toMatchObject({
      name: 'RecoveryRequired',
      requestId: 'call-a',
      toolResults: [{ requestId: 'call-a', outcome: 'success', output: 'a done' }],
    });
    expect(it.tools.calls).toHaveLength(1);
  });
  test('a write that fails after the model is never taken for the failure of the model', async () => {
    const it = bed([says('hi')], {}, { refuses: ({ checkpoint }) => checkpoint !== undefined });
    await expect(runTurn(it.ports, FIRST)).rejects.toMatchObject({ name: 'RecoveryRequired' });
    expect(it.model.requests).toHaveLength(1);
  });
  test('a conversation that cannot be formatted keeps the result', async () => {
    const it = bed([calls('a')], { a: {} }, { conversation: { format: () => Promise.reject(new Error('x')) } });
    await runTurn(it.ports, FIRST);
    expect(it.journal.checkpoints.at(-1)?.completedToolResults).toMatchObject([{ output: 'a done' }]);
  });
  test('a journal that keeps nothing allows a turn of tools', async () => {
    const it = bed([calls('a', 'b'), says('ok')], { a: {}, b: {} });
    const end = await runTurn({ ...it.ports, journal: { write: async () => {} } }, FIRST);
    expect(await commitOf(end)).toMatchObject({ status: 'success', output: 'ok' });
    expect(it.tools.calls).toHaveLength(2);
  });
  test('events are shown only once they are durable', async () => {
    const shown: number[] = [];
    const it = bed([says('hi')]);
    const onEvent = ({ sequence }: { sequence: number }) => {
      expect(it.journal.events.some((event) => event.sequence === sequence)).toBe(true);
      shown.push(sequence);
    };
    await runTurn({ ...it.ports, onEvent }, FIRST);
    expect(shown).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe('the model', () => {
  test('retries see the same snapshot, with the back-off between them', async () => {
    const waits: number[] = [];
    const it = bed([new Error('503'), new Error('503'), says('hi')], {}, { backoff: async (n) => void waits.push(n) });
    await runTurn(it.ports, FIRST);
    expect(waits).toEqual([1, 2]);
    expect(new Set(it.model.requests.map(({ context }) => JSON.stringify(context))).size).toBe(1);
  });
  test("the assistant's own history is kept over a tool round", async () => {
    const said = { role: 'assistant' as const, parts: [{ kind: 'reasoning', signature: 'abc' }] };
    const it = bed([{ ...calls('a'), assistantMessages: [said] }, says('ok')], { a: {} });
    await runTurn(it.ports, FIRST);
    expect(it.model.requests[1]?.context.messages[1]).toEqual(said);
    expect(it.journal.checkpoints.at(-1)?.messages[1]).toEqual(said);
  });
});

describe('resume', () => {
  test('continues after the tail, in the next iteration', async () => {
    const checkpoint = { ...FIRST, id: 'c', iteration: 0, lastSequence: 7, contextState: {}, runId: 'r9' };
    const now = bed([says('hi')]);
    await resumeTurn(
      now.ports,
      loadResumeContext({ checkpoint, maxIterations: 7, maxModelAttempts: 5, lastJournalSequence: 20 }),
    );
    expect(now.journal.events[0]).toMatchObject({
      sequence: 21,
      iteration: 1,
      runId: 'r9',
      turnId: 't1',
      sessionId: 's1',
    });
    expect(now.model.requests[0]?.context.stablePrefixMessages).toBe(0);
  });
  test('keeps the stable prefix', async () => {
    const it = bed([calls('a'), says('x')], { a: {} });
    await runTurn(it.ports, { ...FIRST, stablePrefixMessages: 1 });
    const now = bed([says('hi')], { a: {} });
    await resumed(it, now, 0);
    expect(now.model.requests[0]?.context.stablePrefixMessages).toBe(1);
  });
  test('a run without an id is given one, which its caller does not see and its resume keeps', async () => {
    const { runId, ...first } = FIRST;
    const it = bed([calls('a'), says('x')], { a: {} });
    await runTurn(it.ports, first);
    const given = it.journal.events[0]?.runId;
    expect(given).toMatch(/^run_/);
    expect(first).not.toHaveProperty('runId');
    const now = bed([says('hi')], { a: {} });
    await resumed(it, now, 0);
    expect(new Set(now.journal.events.map((event) => event.runId))).toEqual(new Set([given]));
  });
  test('from all results, not yet told, formats the ordered batch once and advances', async () => {
    const batches: string[][] = [];
    const conversation: EnginePorts['conversation'] = {
      async format(_, results) {
        batches.push(results.map(({ requestId }) => requestId));
        return [{ role: 'tool', parts: [] }];
      },
    };
    const it = bed([calls('first', 'second'), says('x')], { first: {}, second: {} });
    await runTurn(it.ports, FIRST);
    const now = bed([says('ok')], {}, { conversation });
    await resumed(it, now, 2);
    expect(batches).toEqual([['call-first', 'call-second']]);
    expect(now.model.requests[0]?.context).toMatchObject({
      iteration: 1,
      messages: [{ role: 'user' }, { role: 'tool' }],
    });
  });
  test('of a ready output commits without the model, under the same post-commit id', async () => {
    const ids: string[] = [];
    const postCommit = { run: async (_: unknown, id: string) => void ids.push(id) };
    const it = bed([says('hi')], {}, { postCommit });
    await runTurn(it.ports, FIRST);
    const now = bed([], {}, { postCommit });
    expect(await commitOf(await resumed(it, now, 0))).toMatchObject({ status: 'success', output: 'hi' });
    expect(ids).toEqual([postCommitId(FIRST), postCommitId(FIRST)]);
    expect(ids[0]).toBe('post_commit:2:s1:2:t1');
  });
  test('runs the remaining tools only; a complete batch is formatted once', async () => {
    const it = bed([calls('first', 'second'), says('x')], { first: {}, second: {} });
    await runTurn(it.ports, FIRST);
    const now = bed([says('ok')], { second: {} });
    await resumed(it, now, 1);
    expect(now.tools.calls.map(({ id }) => id)).toEqual(['call-second']);
    const folded = bed([says('ok')]);
    await resumed(it, folded, 2);
    expect(texts(folded.model, 0)).toHaveLength(4);
    expect(folded.model.requests[0]?.context.iteration).toBe(1);
  });
  test('a policy rewrite is a checkpoint before the model, and not applied twice; one that changes nothing writes none', async () => {
    let applied = 0;
    const policy = {
      apply: async (messages: readonly unknown[]) => {
        applied += 1;
        return [...messages, { role: 'system', parts: [] }] as never;
      },
    };
    const it = bed([says('hi')], {}, { policy });
    await runTurn(it.ports, FIRST);
    expect(kinds(it).slice(0, 3)).toEqual(['turn_started', 'policy_applied', 'checkpoint_created']);
    const now = bed([says('hi')], {}, { policy });
    await resumed(it, now, 0);
    expect(applied).toBe(1);
    expect(now.model.requests[0]?.context.messages).toHaveLength(2);
    const same = bed([says('hi')], {}, { policy: { apply: async (messages) => messages } });
    await runTurn(same.ports, FIRST);
    expect(kinds(same)).not.toContain('policy_applied');
  });
});

describe('after the commit', () => {
  test('a failing effect does not take the commit back', async () => {
    const it = bed([says('hi')], {}, { postCommit: { run: () => Promise.reject(new Error('mail is down')) } });
    const end = await runTurn(it.ports, FIRST);
    expect(end).toMatchObject({ commit: { status: 'success' }, postCommitError: { message: 'mail is down' } });
    expect(kinds(it).slice(-2)).toEqual(['post_commit_started', 'post_commit_failed']);
  });
  test.each([
    ['post_commit_started', 0, true],
    ['post_commit_completed', 1, false],
  ])('%s that cannot be written', async (kind, runs, isError) => {
    let ran = 0;
    const postCommit = {
      run: async () => {
        ran += 1;
      },
    };
    const it = bed(
      [says('hi')],
      {},
      { postCommit, refuses: ({ events }) => events.some((event) => event.kind === kind) },
    );
    const end = await runTurn(it.ports, FIRST);
    expect(end).toMatchObject({ commit: { status: 'success' } });
    expect('postCommitError' in end).toBe(isError);
    expect(ran).toBe(runs);
  });
});

describe('calls that wait', () => {
  const gated: ScriptedTool = { gate: { wait: 'approval_resolution' } };
  test('only they ask; siblings run first and keep their results', async () => {
    const it = bed([calls('pay', 'look', 'ship')], { pay: gated, look: { effect: 'idempotent' }, ship: gated });
    const end = await runTurn(it.ports, FIRST);
    expect(end).toMatchObject({
      end: 'pause',
      waiting: [{ request: { id: 'call-pay' } }, { request: { id: 'call-ship' } }],
    });
    expect(it.tools.calls.map(({ id }) => id)).toEqual(['call-look']);
    const now = bed([says('ok')], { pay: gated, ship: gated });
    const answers = new Map([
      ['call-pay', { decision: 'run', arguments: '{"n":2}' } as const],
      ['call-ship', { decision: 'denied', reason: 'too heavy' } as const],
    ]);
    expect(await commitOf(await resumed(it, now, -1, { answers }))).toMatchObject({ status: 'success' });
    expect(now.tools.calls).toMatchObject([{ id: 'call-pay', arguments: '{"n":2}' }]);
    const results = now.journal.checkpoints.findLast(({ completedToolResults: all }) => all?.length === 3);
    expect(results?.completedToolResults?.map(({ metadata }) => metadata)).toEqual([
      undefined,
      { editedArguments: '{"n":2}' },
      undefined,
    ]);
    expect(texts(now.model, 0)?.slice(2)).toEqual([
      ['tool', 'pay done'],
      ['tool', 'look done'],
      ['tool', 'too heavy'],
    ]);
  });
  test('a tool is described and run with what the model had seen', async () => {
    const saw: unknown[] = [];
    const it = bed([calls('look'), says('ok')], { look: { run: (_, { messages }) => void saw.push(messages) } });
    const describe: EnginePorts['tools']['describe'] = (request, options) => {
      saw.push(options.messages);
      return it.tools.describe(request, options);
    };
    await runTurn({ ...it.ports, tools: { ...it.tools, describe } }, FIRST);
    expect(saw).toEqual([FIRST.messages, FIRST.messages]);
  });
  test('an answer is for one call: an id that the model uses again asks again', async () => {
    const it = bed([calls('pay')], { pay: gated });
    await runTurn(it.ports, FIRST);
    const now = bed([calls('pay')], { pay: gated });
    const end = await resumed(it, now, -1, { answers: new Map([['call-pay', { decision: 'run' }]]) });
    expect(end).toMatchObject({ end: 'pause', waiting: [{ request: { id: 'call-pay' } }] });
    expect(now.tools.calls).toHaveLength(1);
  });
  test('tell no end while they wait; their end is told in the iteration that made them', async () => {
    const it = bed([calls('pay')], { pay: gated });
    await runTurn(it.ports, FIRST);
    expect(kinds(it)).toEqual([
      'turn_started',
      'context_prepared',
      'model_invocation_started',
      'model_invocation_completed',
      'checkpoint_created',
      'checkpoint_created',
    ]);
    const now = bed([says('ok')], { pay: gated });
    await resumed(it, now, -1, { answers: new Map([['call-pay', { decision: 'run' }]]) });
    const ended = now.journal.events.filter(({ kind }) => kind === 'tool_execution_completed');
    expect(ended).toMatchObject([{ iteration: 0, payload: { requestId: 'call-pay', outcome: 'success' } }]);
  });
  test('a permission that needs a person pauses; other reasons are asked for after it, one at a time', async () => {
    const permission = {
      authorize: async ({ name }: { name: string }) => (name === 'pay' ? { ask: true as const } : { approved: true }),
    };
    const ask: ScriptedTool = { gate: { wait: 'user_reply', question: 'Which?' } };
    const tools = { pay: {}, ask, ask2: ask };
    const it = bed([calls('pay', 'ask', 'ask2')], tools, { permission });
    expect(await runTurn(it.ports, FIRST)).toMatchObject({ end: 'pause', waiting: [{ request: { name: 'pay' } }] });
    const second = bed([], tools, { permission });
    const end = await resumed(it, second, -1, { answers: new Map([['call-pay', { decision: 'run' }]]) });
    expect(end).toMatchObject({ end: 'pause', waiting: [{ request: { name: 'ask' } }] });
    expect(end.end === 'pause' && end.waiting).toHaveLength(1);
  });
});

test('a run under another carries its parent, one level deeper', async () => {
  const it = bed([says('hi')]);
  await runTurn(it.ports, delegatedUnder({ runId: 'r0', delegationDepth: 1 }, FIRST));
  const stored = loadCheckpoint(JSON.parse(JSON.stringify(it.journal.checkpoints[0])));
  expect(stored).toMatchObject({ parentRunId: 'r0', delegationDepth: 2, runId: 'r1' });
  expect(it.journal.events[0]).toMatchObject({ parentRunId: 'r0', delegationDepth: 2, runId: 'r1' });
});
