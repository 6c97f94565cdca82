/** The exact transcript of source 000: its rules in their order, and every byte back (000 §1.2, its tests §1.4). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  readTranscript,
  resumeMessages,
  stateKinds,
  TRANSCRIPT_TYPE,
  transcriptState,
  validateSingleton,
} from '../../src/engine/index.ts';

/** What would not survive being parsed and written again: empty thinking, a signature, digits, a repeated key, white space. */
const ASSISTANT = `{ "role":"assistant", "content":[
  {"type":"thinking","thinking":"","signature":"c2ln+/=="},
  {"type":"text","text":"\\u00e9"},
  {"type":"tool_use","id":"tu_1","name":"ask_user","input":{"n":12345678901234567890,"n":1.00}} ] }`;
const HISTORY = `[{"role":"user","content":[{"type":"text","text":"hi"}]}, ${ASSISTANT}]`;
const answer = (id: string, text = 'blue') => ({ type: 'tool_result', tool_use_id: id, content: text });
const calls = (...ids: string[]) => ({
  role: 'assistant',
  blocks: [{ type: 'text', text: 'x' }, ...ids.map((id) => ({ type: 'tool_use', id, name: 't', input: {} }))],
});
const refusal = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    expect(error).toMatchObject({ name: 'ContinuationError', code: 'invalid_transcript' });
    return (error as Error).message;
  }
  throw new Error('was not refused');
};

describe('only one call', () => {
  test('is what a message may stop for', () => {
    expect(() => validateSingleton(calls('a'), 'a')).not.toThrow();
    // Without an id, one call of any id passes (000).
    expect(() => validateSingleton(calls('a'), '')).not.toThrow();
    expect(refusal(() => validateSingleton(calls(), 'a'))).toContain('makes 0 tool calls');
    expect(refusal(() => validateSingleton(calls('a', 'a'), 'a'))).toContain('makes 2 tool calls');
    expect(refusal(() => validateSingleton(calls('a', 'b'), ''))).toContain('makes 2 tool calls');
  });

  test('of a mixed batch the foreign id is told before the number of calls (000)', () => {
    expect(refusal(() => validateSingleton(calls('a', 'b'), 'a'))).toContain('calls b, but the turn stopped for a');
    expect(refusal(() => validateSingleton(calls('b'), 'a'))).toContain('calls b');
  });

  test.for<[string, string]>([
    ['no JSON', '{'],
    ['no message', '[]'],
    ['null', 'null'],
    ['no blocks', '{"role":"assistant","content":"text"}'],
  ])('%s is refused', ([, assistant]) => {
    refusal(() => transcriptState({ toolUseId: 'a', assistant }));
  });
});

describe('a stored transcript', () => {
  test('comes back byte for byte', () => {
    const state = transcriptState({ toolUseId: 'tu_1', toolName: 'ask_user', assistant: ASSISTANT, messages: HISTORY });
    expect(state.mediaType).toBe(TRANSCRIPT_TYPE);
    expect(readTranscript(state)).toEqual({
      toolUseId: 'tu_1',
      toolName: 'ask_user',
      assistant: ASSISTANT,
      messages: HISTORY,
    });
  });

  test('whatever the texts hold', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), fc.constantFrom('', ' ', '\n', '\r\n\t'), (input, text, space) => {
        const block = { type: 'tool_use', id: 'a', name: 't', input };
        const assistant = `${space}${JSON.stringify({ content: [{ type: 'text', text }, block] }, null, 2)}${space}`;
        const messages = `${space}[${assistant}]${space}`;
        const given = { toolUseId: 'a', assistant, messages };
        expect(readTranscript(transcriptState(given))).toEqual(given);
        const resumed = resumeMessages(given, answer('a'));
        expect(resumed).toContain(assistant);
        expect(JSON.parse(resumed)).toEqual([JSON.parse(assistant), { role: 'user', content: [answer('a')] }]);
      }),
    );
  });

  test('that was damaged is refused, at the pause already', () => {
    const { text } = transcriptState({ toolUseId: 'tu_1', assistant: ASSISTANT, messages: HISTORY });
    const kind = stateKinds.find(({ mediaType }) => mediaType === TRANSCRIPT_TYPE);
    const bytes = (changed: string) => new TextEncoder().encode(changed);
    expect(kind?.fault(bytes(text))).toBeUndefined();
    for (const changed of [text.slice(0, -1), `${text} `, text.replace('"version":1', '"version":2'), ASSISTANT, ''])
      expect(kind?.fault(bytes(changed)), changed.slice(0, 40)).toEqual(expect.any(String));
  });
});

describe('what to go on with', () => {
  const pair = readTranscript(transcriptState({ toolUseId: 'tu_1', assistant: ASSISTANT }));
  const full = readTranscript(transcriptState({ toolUseId: 'tu_1', assistant: ASSISTANT, messages: HISTORY }));

  test('is the pair of call and answer for a caller with a transcript of its own', () => {
    const resumed = resumeMessages(pair, answer('tu_1'));
    expect(resumed.startsWith(`[${ASSISTANT},`)).toBe(true);
    expect(JSON.parse(resumed)[1]).toEqual({ role: 'user', content: [answer('tu_1')] });
  });

  test('is the whole transcript with the answer last, nothing doubled, for one without', () => {
    const resumed = resumeMessages(full, answer('tu_1'));
    expect(resumed.startsWith(HISTORY.slice(0, -1))).toBe(true);
    expect(JSON.parse(resumed)).toHaveLength(3);
    const empty = { ...pair, messages: '[ ]' };
    expect(JSON.parse(resumeMessages(empty, answer('tu_1')))).toHaveLength(2);
  });

  test('is refused for the result of another call, or what is no result; both ids are told', () => {
    expect(refusal(() => resumeMessages(full, answer('tu_2')))).toMatch(/answers tu_2 .* stopped for tu_1/);
    expect(refusal(() => resumeMessages(full, { ...answer('tu_1'), type: 'text' }))).toContain('(text)');
  });
});
