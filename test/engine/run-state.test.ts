/** The frozen state of a run (001 §2.1, its tests §2.6): what was resolved at the pause holds, and budgets are carried. */
import { describe, expect, test } from 'vitest';
import {
  mayUseTool,
  RUN_TYPE,
  type RunStateInput,
  readRunState,
  resumeRun,
  runState,
  stateKinds,
} from '../../src/engine/index.ts';

const RUN: RunStateInput = {
  messages: [
    { role: 'user', content: 'earlier' },
    { role: 'user', content: 'now' },
    { role: 'assistant', tool_calls: [{ id: 'call-1' }] },
  ],
  systemPrompt: 'You are careful.',
  stepIndex: 1,
  tokensUsed: 512,
  newMessagesFrom: 1,
  sessionId: 'session-1',
  config: { model: 'm', temperature: 0.2, maxSteps: 4, maxTokens: 9000, tools: ['search'], toolsRestricted: true },
};
const codeOf = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    const { code, message } = error as Error & { code: string };
    return `${code}: ${message}`;
  }
  return 'none';
};
const changed = (more: object) => ({ ...RUN, ...more });

describe('a frozen run', () => {
  test('survives the pause with every field, boundary and session included', () => {
    expect(readRunState(runState(RUN))).toEqual({ schemaVersion: 1, ...RUN });
    expect(runState(RUN).mediaType).toBe(RUN_TYPE);
  });

  test('keeps its text as it was given, and fields that nobody here knows', () => {
    const text = `{ "schemaVersion":1, "messages":[{"role":"user","n":12345678901234567890}], "stepIndex":1,
      "config":{"model":"m","maxSteps":2,"reasoning_loop":"react"}, "provenance":"x" }`;
    expect(runState(text).text).toBe(text);
    expect(readRunState({ text })).toMatchObject({ provenance: 'x', config: { reasoning_loop: 'react' } });
  });

  test.for<[string, unknown, string]>([
    ['a step that is text', changed({ stepIndex: '1' }), 'stepIndex'],
    ['a negative step', changed({ stepIndex: -1 }), 'stepIndex'],
    ['half a step', changed({ stepIndex: 1.5 }), 'stepIndex'],
    ['no messages', changed({ messages: undefined }), 'messages'],
    ['a message without a role', changed({ messages: [{}] }), 'messages[0].role'],
    ['a boundary beyond the messages', changed({ newMessagesFrom: 4 }), 'newMessagesFrom'],
    ['no config', changed({ config: undefined }), 'config'],
    ['a tool without a name', changed({ config: { model: 'm', tools: [''] } }), 'config.tools[0]'],
    ['a version of the future', changed({ schemaVersion: 2 }), 'schemaVersion'],
  ])('with %s is refused with the path, at the pause already', ([, run, path]) => {
    const text = JSON.stringify(run);
    expect(codeOf(() => runState(text))).toContain(`invalid_run_state: The run state cannot be used: ${path} `);
    const kind = stateKinds.find(({ mediaType }) => mediaType === RUN_TYPE);
    expect(kind?.fault(new TextEncoder().encode(text))).toContain(path);
    expect(kind?.fault(new TextEncoder().encode(runState(RUN).text))).toBeUndefined();
  });

  test('of an older format gets the values that grant and restrict nothing new', () => {
    const older = readRunState({ text: '{"messages":[],"stepIndex":0,"config":{"model":"m"}}' });
    expect(older).toMatchObject({
      systemPrompt: '',
      tokensUsed: 0,
      newMessagesFrom: 0,
      config: { tools: [], toolsRestricted: false },
    });
  });

  test('keeps its tools: an empty restricted list means none, an unrestricted one without names all', () => {
    const may = (config: object, name: string) =>
      mayUseTool(readRunState(runState(changed({ config }) as never)), name);
    expect(may({ model: 'm', tools: ['search'], toolsRestricted: true }, 'search')).toBe(true);
    expect(may({ model: 'm', tools: ['search'], toolsRestricted: true }, 'mail')).toBe(false);
    expect(may({ model: 'm', tools: ['search'] }, 'mail')).toBe(false);
    expect(may({ model: 'm', tools: [], toolsRestricted: true }, 'search')).toBe(false);
    expect(may({ model: 'm', tools: [] }, 'search')).toBe(true);
  });
});

describe('going on', () => {
  test('has what is left of its steps, however often it paused', () => {
    expect(resumeRun(runState(RUN))).toMatchObject({ stepIndex: 1, stepsLeft: 3, tokensUsed: 512 });
    const again = resumeRun(runState({ ...RUN, stepIndex: 3 }));
    expect(again.stepsLeft).toBe(1);
  });

  test('on the last step fails in its own words, and without a budget in others', () => {
    const last = runState({ ...RUN, stepIndex: 4 });
    expect(codeOf(() => resumeRun(last))).toMatch(/^steps_used_up: The run paused on the last of its 4 steps/);
    for (const config of [{ model: 'm' }, { model: 'm', maxSteps: 0 }])
      expect(codeOf(() => resumeRun(runState({ ...RUN, config })))).toMatch(/^no_step_budget: /);
  });
});
