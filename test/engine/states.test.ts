/** States on their way: what a kind accepts at the pause is what its reader takes when somebody has answered. */
import { describe, expect, test } from 'vitest';
import { contentOf } from '../../src/content.ts';
import { contextOf } from '../../src/engine/answers.ts';
import {
  CHECKPOINT_TYPE,
  RUN_TYPE,
  readRunState,
  readTranscript,
  runState,
  stateKinds,
  TRANSCRIPT_TYPE,
  transcriptState,
} from '../../src/engine/index.ts';
import { stateOf } from '../../src/suspend.ts';

const checkpoint = {
  id: 'c',
  sessionId: 's',
  turnId: 't',
  runId: 'r',
  iteration: 1,
  lastSequence: 7,
  messages: [],
  contextState: {},
};
const CHECKPOINT = JSON.stringify({ checkpoint, maxIterations: 10, maxModelAttempts: 3, lastJournalSequence: 8 });
const assistant = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'é', input: {} }] };

describe.each([
  [TRANSCRIPT_TYPE, transcriptState({ toolUseId: 'a', assistant }).text, readTranscript],
  [RUN_TYPE, runState({ messages: [], systemPrompt: 'é', stepIndex: 0, config: { model: 'm' } }).text, readRunState],
  [CHECKPOINT_TYPE, CHECKPOINT, contextOf],
] as const)('a state of type %s', (mediaType, text, read) => {
  const fault = (bytes: Uint8Array) => stateKinds.find((kind) => kind.mediaType === mediaType)?.fault(bytes);

  test('is read as it comes back from the store', () => {
    const bytes = Buffer.from(text);
    expect(fault(bytes)).toBeUndefined();
    expect(() => read(stateOf(contentOf(bytes, mediaType)))).not.toThrow();
  });

  test('that its reader would not take is refused at the pause', () => {
    const latin = Buffer.concat([Buffer.from(text), Buffer.from([0x20, 0xe9])]);
    for (const bytes of [latin, Buffer.from(`\ufeff${text}`), Buffer.from(text.slice(1)), Buffer.alloc(0)]) {
      expect(fault(bytes)).toEqual(expect.any(String));
      expect(() => read(stateOf(contentOf(bytes, mediaType)))).toThrow();
    }
  });
});
