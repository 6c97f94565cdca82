/**
 * A model of the SDK whose every answer is an effect of the turn: when the turn runs again, what was answered comes from its journal,
 * with the same call ids, so that an agent's own loop gets to where it was (C7).
 */
import type { LanguageModel, LanguageModelMiddleware } from 'ai';
import { digestText } from '../digest.ts';
import { OutcomeUnknown } from '../errors.ts';
import type { Json } from '../json.ts';
import type { ResumedTurn } from '../ports.ts';
import { toJson } from './messages.ts';
import { wrapModel } from './model.ts';

type Generate = NonNullable<LanguageModelMiddleware['wrapGenerate']>;
type Stream = NonNullable<LanguageModelMiddleware['wrapStream']>;
type Generated = Awaited<ReturnType<Generate>>;
type Streamed = Awaited<ReturnType<Stream>>;
type Piece = Streamed['stream'] extends ReadableStream<infer P> ? P : never;
type Prompt = Parameters<Generate>[0]['params']['prompt'];

export interface AgentJournal {
  readonly effect: ResumedTurn['effect'];
  /** The last attempt of which an operator said to run the turn again; 0 for none. */
  readonly again: number;
  /** The arguments of every call that the model made in this turn, as it wrote them. */
  readonly texts: Map<string, string>;
  /** Why the agent must not go on, whatever it makes of it itself. */
  readonly stopped: AbortController;
  /** How the last call of the model failed; undefined once one has answered. */
  modelError: unknown;
}

/** The model for the agent's own loop, one call at a time; a sub-agent within a tool has its own. */
export function journalModel(model: LanguageModel, journal: AgentJournal) {
  let next = 0;
  const kept = async <T>(prompt: Prompt, ask: () => Promise<T>): Promise<T> => {
    const index = next;
    next += 1;
    try {
      journal.stopped.signal.throwIfAborted();
      const asked = digestText(JSON.stringify(toJson(prompt)));
      const answer = await storedAnswer(journal, index, asked, async () => (await ask()) as Json);
      journal.modelError = undefined;
      return answer as T;
    } catch (error) {
      journal.modelError = error;
      // The SDK may ask the same again.
      if (next === index + 1) next = index;
      throw error;
    }
  };
  return wrapModel(model, {
    specificationVersion: 'v3',
    wrapGenerate: generating(kept, journal),
    wrapStream: streaming(kept, journal),
  });
}

async function storedAnswer(
  { effect, again }: AgentJournal,
  index: number,
  asked: string,
  ask: () => Promise<Json>,
): Promise<Json> {
  const run = async () => ({ asked, answer: await ask() });
  for (const key of again > 0 ? [`model:${index}`, `model:${index}:${again}`] : [`model:${index}`]) {
    const stored = await effect(key, run, { idempotent: true });
    if (stored.asked === asked) return stored.answer;
  }
  throw new OutcomeUnknown(
    `In another attempt the agent asked its model something else (question ${index + 1}). did_not_happen asks it anew.`,
  );
}

type Keep = <T>(prompt: Prompt, ask: () => Promise<T>) => Promise<T>;

function generating(keep: Keep, { texts }: AgentJournal): Generate {
  return async ({ doGenerate, params }) => {
    const result = await keep(params.prompt, async () => {
      const { content, finishReason, usage, warnings, providerMetadata, response } = await doGenerate();
      const { id, modelId } = response ?? {};
      return toJson({
        content,
        finishReason,
        usage,
        warnings,
        providerMetadata,
        response: { id, modelId },
      }) as unknown as Generated;
    });
    for (const part of result.content) if (part.type === 'tool-call') texts.set(part.toolCallId, part.input);
    return result;
  };
}

/** Lets texts through as they come; calls of tools are held back until the whole answer is durable, since whoever hears them runs them. */
function streaming(keep: Keep, { texts }: AgentJournal): Stream {
  const hear = (pieces: readonly Piece[]) => {
    for (const piece of pieces) if (piece.type === 'tool-call') texts.set(piece.toolCallId, piece.input);
  };
  return async ({ doStream, params }) => {
    let open: (live: Streamed) => void = () => {};
    const live = new Promise<Streamed>((resolve) => {
      open = resolve;
    });
    const durable = keep(params.prompt, async () => {
      const { stream, ...result } = await doStream();
      return new Promise<Piece[]>((resolve, reject) => {
        open({ ...result, stream: streamOf(recorded(stream, { resolve, reject, durable: () => durable })) });
      });
    });
    const replayed = durable.then((pieces) => {
      hear(pieces);
      return { stream: streamOf(pieces) };
    });
    return Promise.race([live, replayed]);
  };
}

interface Recorder {
  readonly resolve: (pieces: Piece[]) => void;
  readonly reject: (error: unknown) => void;
  /** Settles once what was resolved is in the journal. */
  readonly durable: () => Promise<unknown>;
}

async function* recorded(stream: ReadableStream<Piece>, { resolve, reject, durable }: Recorder): AsyncGenerator<Piece> {
  const heard: Piece[] = [];
  const held: Piece[] = [];
  try {
    for await (const piece of stream as unknown as AsyncIterable<Piece>) {
      if (piece.type === 'error') throw piece.error;
      if (piece.type !== 'raw') heard.push(piece);
      if (held.length > 0 || piece.type === 'tool-call' || piece.type === 'finish') held.push(piece);
      else yield piece;
    }
    resolve(toJson(heard.map(withoutTime)) as unknown as Piece[]);
    await durable();
    yield* held;
  } catch (error) {
    reject(error);
    yield { type: 'error', error };
  } finally {
    reject(new Error('nobody listened to the end'));
  }
}

/** A time would come back as text. */
function withoutTime(piece: Piece): Piece {
  if (piece.type !== 'response-metadata') return piece;
  const { timestamp, ...rest } = piece;
  return rest;
}

function streamOf(pieces: Iterable<Piece> | AsyncIterable<Piece>): ReadableStream<Piece> {
  return ReadableStream.from(pieces) as ReadableStream<Piece>;
}
