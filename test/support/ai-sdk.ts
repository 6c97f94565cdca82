/** For tests of the AI SDK's harnesses: a scripted model of the SDK's own kind, and a resumed turn without a stack. */
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test';
import { type HarnessResultInput, OutcomeUnknown, type ResumedTurn } from '../../src/index.ts';
import type { Json } from '../../src/json.ts';

type Generated = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;
type Content = Generated['content'][number];
export type Prompt = MockLanguageModelV3['doGenerateCalls'][number]['prompt'];
type Streamed =
  Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

export const text = (value: string): Content => ({ type: 'text', text: value });
export const call = (toolName: string, input: string, toolCallId = `call-${toolName}`): Content => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
});
export type Says = (prompt: Prompt) => Content[] | Promise<Content[]>;

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined },
};
const finishOf = (content: readonly Content[]) => {
  const calls = content.some((part) => part.type === 'tool-call' && !part.providerExecuted);
  return { unified: calls ? ('tool-calls' as const) : ('stop' as const), raw: undefined };
};

/** A model that says what `says` makes of the prompt, at once or in small pieces. */
export function saying(says: Says): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    async doGenerate({ prompt }) {
      const content = await says(prompt);
      return { content, finishReason: finishOf(content), usage, warnings: [] };
    },
    async doStream({ prompt }) {
      const content = await says(prompt);
      const chunks: Streamed[] = [
        { type: 'stream-start', warnings: [] },
        ...content.flatMap(pieces),
        { type: 'finish', finishReason: finishOf(content), usage },
      ];
      return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
}

function pieces(part: Content, index: number): Streamed[] {
  const id = String(index);
  if (part.type === 'text') {
    const deltas = part.text.split(/(?<= )/).map((delta) => ({ type: 'text-delta' as const, id, delta }));
    return [{ type: 'text-start', id }, ...deltas, { type: 'text-end', id }];
  }
  if (part.type !== 'tool-call') throw new Error(`${part.type} is not scripted`);
  const { toolCallId, toolName, input } = part;
  return [
    { type: 'tool-input-start', id: toolCallId, toolName },
    { type: 'tool-input-delta', id: toolCallId, delta: input },
    { type: 'tool-input-end', id: toolCallId },
    part,
  ];
}

/** A model that plays one entry for each question; a question beyond the end throws. */
export function scripted(...script: Array<Content[] | Error>): MockLanguageModelV3 {
  let asked = 0;
  return saying(() => {
    const next = script[asked];
    asked += 1;
    if (next === undefined) throw new Error(`unexpected question ${asked}`);
    if (next instanceof Error) throw next;
    return next;
  });
}

/** What the last question to the model showed of the results of tools. */
export function toldResults(model: MockLanguageModelV3): Array<[id: string, output: unknown]> {
  const prompt = [...model.doGenerateCalls, ...model.doStreamCalls].at(-1)?.prompt ?? [];
  return prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap(
          (part): Array<[string, unknown]> => (part.type === 'tool-result' ? [[part.toolCallId, part.output]] : []),
        )
      : [],
  );
}

type Resumable = Extract<HarnessResultInput, { continuation: unknown }>;
export function pendingOf(result: HarnessResultInput): NonNullable<Resumable['continuation']['pending']> {
  if (!('continuation' in result)) throw new Error(`did not pause: ${JSON.stringify(result)}`);
  return result.continuation.pending ?? [];
}

/** What a turn keeps over its attempts, as the journal in PostgreSQL does. */
export interface Memory {
  readonly effects: Map<string, { state: 'started' | 'done'; value?: string }>;
  readonly writes: Array<Parameters<ResumedTurn['journal']['write']>[0]>;
  /** Throws instead of writing. */
  fails?: (() => boolean) | undefined;
}
export const memory = (): Memory => ({ effects: new Map(), writes: [] });

type Decided = Partial<ResumedTurn['calls'][number]> & Pick<ResumedTurn['calls'][number], 'id' | 'decision'>;

/** The turn that an answer to a paused one resumes. */
export function resumed(
  result: HarnessResultInput,
  decided: readonly Decided[],
  options: { memory?: Memory; attempt?: number; noAnswer?: boolean; signal?: AbortSignal; again?: number } = {},
): ResumedTurn {
  const { memory: kept = memory(), attempt = 1 } = options;
  if (!('continuation' in result)) throw new Error('the turn did not pause');
  const calls = pendingOf(result).flatMap(({ id, name, arguments: given }) => {
    const decision = decided.find((one) => one.id === id);
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    return decision ? [{ name, arguments: text, argumentsDigest: '', edited: false, ...decision }] : [];
  });
  const type = options.noAnswer ? ('no_answer' as const) : ('approval_resolution' as const);
  return {
    continuation: { id: 'cont_1', sessionId: 's1', continuation: { state: result.continuation.state } },
    trigger: { type },
    calls,
    resumedTurnId: 'cont_1:resume:1',
    attempt,
    effect: (key: string, run: (id: string) => Json, { idempotent = false } = {}) => effect(kept, key, run, idempotent),
    journal: {
      didNotHappenUpTo: options.again ?? 0,
      async read() {
        const body = kept.writes.findLast(({ checkpoint }) => checkpoint)?.checkpoint;
        const tail = Math.max(0, ...kept.writes.flatMap(({ events }) => events.map(({ sequence }) => sequence)));
        return {
          tail,
          ...(body && { checkpoint: { body, attempt } }),
          effects: [...kept.effects].map(([key, effect]) => ({ key, ...effect })),
        };
      },
      async write(entry: Memory['writes'][number]) {
        if (kept.fails?.()) throw new Error('the worker is dead');
        kept.writes.push(entry);
        if (entry.effect && entry.effect.state !== 'undone')
          kept.effects.set(entry.effect.key, { state: entry.effect.state });
      },
    },
    signal: options.signal ?? new AbortController().signal,
  } as unknown as ResumedTurn;
}

async function effect(kept: Memory, key: string, run: (id: string) => unknown, idempotent: boolean): Promise<unknown> {
  const before = kept.effects.get(key);
  if (before?.state === 'done') return before.value === undefined ? undefined : JSON.parse(before.value);
  if (before && !idempotent) throw new OutcomeUnknown(`Effect ${key} was started, and its end was never recorded.`);
  if (kept.fails?.()) throw new Error('the worker is dead');
  kept.effects.set(key, { state: 'started' });
  const value = await run(`cont_1:resume:1:${key}`);
  if (kept.fails?.()) throw new Error('the worker is dead');
  kept.effects.set(key, { state: 'done', ...(value !== undefined && { value: JSON.stringify(value) }) });
  return value;
}
