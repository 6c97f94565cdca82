/** Resume arithmetic, loading and reconciliation of the turn engine (003), as tables. */
import { describe, expect, test } from 'vitest';
import { answersOf } from '../../src/engine/answers.ts';
import { type EngineCheckpoint, loadCheckpoint, loadResumeContext, nextSequence } from '../../src/engine/index.ts';
import { checkRequest, resolveModel, resolveTool, resumedBudgets, startIteration } from '../../src/engine/resume.ts';

const BARE = {
  id: 'c1',
  sessionId: 's1',
  turnId: 't1',
  runId: 'r1',
  iteration: 2,
  lastSequence: 7,
  messages: [{ role: 'user', parts: [{ kind: 'text', value: 'hello' }] }],
  contextState: {},
};
const checkpoint = (more: object = {}) => loadCheckpoint({ ...BARE, ...more });
const request = { id: 'call-a', name: 'pay' };
const indeterminate = { requestId: 'call-a', name: 'pay', outcome: 'indeterminate' };
const snapshot = { ...BARE, id: 'x', invocationId: 'i1' };
const inQuestion = { invocationId: 'i1', request: { context: snapshot }, failedAttempt: 0, message: 'lost' };

describe('the iteration that a checkpoint goes on in', () => {
  test.each([
    ['nothing outstanding advances', {}, 3],
    ['an empty list of tools advances', { pendingToolRequests: [] }, 3],
    ['outstanding tools stay', { pendingToolRequests: [request] }, 2],
    ['a held response stays', { pendingModelResponse: {} }, 2],
    ['a ready output stays', { finalOutputReady: true }, 2],
    ['unresolved reconciliation stays', { reconciliationRequired: true }, 2],
    ['resumeSameIteration overrides', { resumeSameIteration: true }, 2],
  ])('%s', (_, more, expected) => expect(startIteration(checkpoint(more))).toBe(expected));
});

describe('the next number', () => {
  test.each([
    ['the tail is ahead', 7, 12, 13],
    ['the checkpoint is ahead', 7, 3, 8],
    ['without a tail', 7, 0, 8],
    ['both zero', 0, 0, 1],
  ])('%s', (_, lastSequence, tail, expected) => expect(nextSequence({ lastSequence }, tail)).toBe(expected));
});

test('budgets: the total is no increment, a negative one is none, attempts below one are the default', () => {
  expect(resumedBudgets({ maxIterations: -4, maxModelAttempts: 0 })).toEqual({ maxIterations: 0, maxModelAttempts: 3 });
  expect(resumedBudgets({ maxIterations: 7, maxModelAttempts: 5 })).toEqual({ maxIterations: 7, maxModelAttempts: 5 });
});

describe('a request that cannot run', () => {
  const budgets = { maxIterations: 5, maxModelAttempts: 3 };
  test.each([
    ['no session', { sessionId: '' }, budgets, 0, /sessionId/],
    ['no turn', { turnId: '' }, budgets, 0, /turnId/],
    ['no attempts', {}, { ...budgets, maxModelAttempts: 0 }, 0, /maxModelAttempts/],
    ['beyond the budget', {}, budgets, 6, /beyond maxIterations/],
    ['overlong prefix', { stablePrefixMessages: 2 }, budgets, 0, /stablePrefixMessages/],
    [
      'portable with delegated state',
      { contextState: { portability: 'portable' as const, delegatedState: [{ provider: 'p', kind: 'k', id: '1' }] } },
      budgets,
      0,
      /delegatedState/,
    ],
  ])('%s is refused', (_, more, given, start, message) => {
    const state: EngineCheckpoint = { ...checkpoint(), ...more };
    expect(() => checkRequest(state, given, start)).toThrow(message);
  });
  test('a start at the budget is legal', () => expect(() => checkRequest(checkpoint(), budgets, 5)).not.toThrow());
});

describe('loading', () => {
  test.each([
    ['no checkpoint', {}, /checkpoint /],
    ['no context state', { checkpoint: { ...BARE, contextState: null } }, /checkpoint\.contextState/],
    ['NaN', { checkpoint: { ...BARE, iteration: Number.NaN } }, /checkpoint\.iteration/],
    ['a fraction', { checkpoint: { ...BARE, lastSequence: 1.5 } }, /checkpoint\.lastSequence/],
    [
      'a bad outcome',
      { checkpoint: { ...BARE, completedToolResults: [{ ...indeterminate, outcome: 'maybe' }] } },
      /completedToolResults\[0\]\.outcome/,
    ],
  ])('%s is refused with its path', (_, value, path) => {
    const load = () => loadResumeContext({ maxIterations: 7, maxModelAttempts: 3, ...value });
    expect(load).toThrow(path);
    expect(load).toThrow(expect.objectContaining({ code: 'record_malformed' }));
  });
  test('defaults, unknown metadata, and absent told apart from null', () => {
    const metadata = { anything: { at: ['all'] } };
    const loaded = checkpoint({ metadata, parentRunId: null });
    expect(loaded).toMatchObject({
      delegationDepth: 0,
      stablePrefixMessages: 0,
      contextState: { portability: 'portable' },
    });
    expect(loaded.metadata).toEqual(metadata);
    expect(loaded.parentRunId).toBeUndefined();
    expect('pendingOutput' in loaded).toBe(false);
    expect(checkpoint({ pendingOutput: null }).pendingOutput).toBeNull();
    expect(
      JSON.parse(JSON.stringify(loadResumeContext({ checkpoint: BARE, maxIterations: 7, maxModelAttempts: 5 }))),
    ).toMatchObject({
      maxIterations: 7,
      maxModelAttempts: 5,
      lastJournalSequence: 0,
    });
  });
  test('a saved checkpoint loads as it was', () => {
    const full = checkpoint({ pendingOutput: null, parentRunId: 'r0', pendingToolRequests: [request] });
    expect(loadCheckpoint(JSON.parse(JSON.stringify(full)))).toEqual(full);
  });
});

describe('an answer', () => {
  const paused = checkpoint({ pendingToolRequests: [request] });
  const approved = {
    id: 'call-a',
    name: 'pay',
    arguments: '{}',
    argumentsDigest: '',
    decision: 'approved',
    edited: false,
  } as const;
  const trigger = { type: 'approval_resolution', approvalId: 'call-a', decision: 'approved' } as const;
  const idsFor = (more: object) => [...answersOf({ calls: [approved], trigger }, checkpoint(more), paused).keys()];
  test.each([
    ['that has not run', { pendingToolRequests: [request] }, ['call-a']],
    [
      'whose outcome is unknown: it may run again, and nobody is asked twice',
      { completedToolResults: [indeterminate] },
      ['call-a'],
    ],
    ['no more when it has run', { completedToolResults: [{ ...indeterminate, outcome: 'success' }] }, []],
    [
      'never of another one, which the model gave the same id later',
      { iteration: 3, pendingToolRequests: [request] },
      [],
    ],
  ])('is that of a call %s', (_, more, ids) => expect(idsFor(more)).toEqual(ids));
});

describe('reconciliation', () => {
  const tool = { requestId: 'call-a', name: 'pay', outcome: 'success' as const, output: 'paid' };
  const unknown = { reconciliationRequired: true, completedToolResults: [indeterminate] };
  test('of a tool replaces its result, then the iteration is computed', () => {
    const folded = [{ role: 'tool', parts: [], metadata: { tool_call_id: 'call-a' } }];
    const resolved = resolveTool(checkpoint({ ...unknown, messages: folded }), { tool });
    expect(resolved.completedToolResults).toMatchObject([{ outcome: 'success', output: 'paid' }]);
    expect(resolved.messages[0]?.parts).toEqual([{ kind: 'text', value: 'paid' }]);
    expect(startIteration(resolved)).toBe(3);
    expect(startIteration({ ...resolved, pendingToolRequests: [{ id: 'call-b', name: 'pay' }] })).toBe(2);
  });
  test('of a model stays in its iteration', () => {
    const more = { reconciliationRequired: true, modelReconciliation: inQuestion, activeInvocationId: 'i1' };
    expect(startIteration(resolveModel(checkpoint(more)))).toBe(2);
    expect(() => resolveModel(checkpoint({ ...more, activeInvocationId: 'i2' }))).toThrow(/active invocation/);
  });
  test.each([
    ['not required', { completedToolResults: [indeterminate] }, tool, /requires no/],
    ['a model in question', { ...unknown, modelReconciliation: inQuestion }, tool, /model invocation/],
    ['not determinate', unknown, { ...tool, outcome: 'indeterminate' as 'success' }, /determinate/],
    ['another request', unknown, { ...tool, requestId: 'call-z' }, /no result/],
    [
      'a known result',
      { ...unknown, completedToolResults: [{ ...indeterminate, outcome: 'failed' }] },
      tool,
      /not in question/,
    ],
    ['a folded message that is gone', unknown, tool, /no message/],
  ])('of a tool is refused: %s', (_, more, given, message) => {
    expect(() => resolveTool(checkpoint(more), { tool: given })).toThrow(message);
  });
  test('of a model is refused for a tool', () => {
    expect(() => resolveModel(checkpoint(unknown))).toThrow(/tool call/);
  });
});
