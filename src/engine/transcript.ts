/**
 * The exact transcript of a turn that stopped for one tool call (000). What a provider signed must come back byte for byte:
 * reasoning blocks, empty thinking text, key order, digits beyond 2^53. So messages are kept as the JSON text that they were
 * given as, and are looked into but never written again.
 */
import { ContinuationError } from '../errors.ts';
import { textKind } from './text-kind.ts';

export const TRANSCRIPT_TYPE = 'text/vnd.continuations.transcript';

/** A transcript; texts are JSON. An object is taken as its `JSON.stringify`. */
export interface Transcript {
  /** The call that the turn stopped for; the only one of `assistant`. */
  readonly toolUseId: string;
  readonly toolName?: string;
  /** The assistant's message that makes the call. */
  readonly assistant: string;
  /** The whole transcript, up to and including `assistant`, for a caller that keeps none of its own. */
  readonly messages?: string;
}
export type TranscriptInput = Omit<Transcript, 'assistant' | 'messages'> & {
  readonly assistant: string | object;
  readonly messages?: string | readonly object[];
};

interface Block {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly tool_use_id?: unknown;
}

/**
 * The call that the turn stopped for must be the only one of its message (000): its siblings would be left without a result.
 * Throws `invalid_transcript`; of a mixed batch the foreign id is told before the number of calls.
 */
export function validateSingleton(assistant: string | object, toolUseId: string): void {
  const calls = blocksOf(parse(textOf(assistant), 'assistant')).filter(({ type }) => type === 'tool_use');
  const other = calls.find(({ id }) => toolUseId !== '' && id !== toolUseId);
  if (other) throw invalid(`the message calls ${String(other.id)}, but the turn stopped for ${toolUseId}`);
  if (calls.length !== 1) throw invalid(`the message makes ${calls.length} tool calls, not one`);
}

/** The state to pause with, `continuation.state`. Throws `invalid_transcript` before anything is stored. */
export function transcriptState(input: TranscriptInput): { text: string; mediaType: string } {
  const { toolUseId, toolName } = input;
  const assistant = textOf(input.assistant);
  const messages = input.messages === undefined ? undefined : textOf(input.messages);
  validateSingleton(assistant, toolUseId);
  if (messages !== undefined) listOf(messages);
  // Lengths instead of nesting: the texts stay as they are, whatever white space they hold.
  const header = { version: 1, toolUseId, toolName, assistant: assistant.length, messages: messages?.length };
  return { text: `${JSON.stringify(header)}\n${assistant}${messages ?? ''}`, mediaType: TRANSCRIPT_TYPE };
}

/** The transcript of a stored state, every text as it was given. Throws `invalid_transcript`. */
export function readTranscript(state: unknown): Transcript {
  const text = (state as { text?: unknown } | null)?.text;
  if (typeof text !== 'string') throw invalid('the state holds no text');
  const end = text.indexOf('\n');
  const header = parse(text.slice(0, end), 'header') as Record<string, unknown>;
  const { version, toolUseId, toolName, assistant: length, messages: rest = 0 } = header;
  const known = version === 1 && typeof toolUseId === 'string' && isLength(length) && isLength(rest);
  if (end < 0 || !known || text.length !== end + 1 + length + rest) throw invalid('the state is no transcript');
  const assistant = text.slice(end + 1, end + 1 + length);
  validateSingleton(assistant, toolUseId);
  const messages = text.slice(end + 1 + length);
  if (messages !== '') listOf(messages);
  return { toolUseId, assistant, ...(typeof toolName === 'string' && { toolName }), ...(messages && { messages }) };
}

/**
 * What to go on with, as the JSON text of a list of messages: the transcript with the answer behind it, or, for a caller that
 * keeps its own, the pair of call and answer (000 `ResumeMessages`). `result` is one `tool_result` block. Throws
 * `invalid_transcript` unless it answers the very call.
 */
export function resumeMessages(transcript: Transcript, result: string | object): string {
  const text = textOf(result);
  const { type, tool_use_id: id } = parse(text, 'result') as Block;
  if (type !== 'tool_result' || id !== transcript.toolUseId)
    throw invalid(
      `the result answers ${String(id)} (${String(type)}), but the turn stopped for ${transcript.toolUseId}`,
    );
  const answer = `{"role":"user","${keyOf(parse(transcript.assistant, 'assistant'))}":[${text}]}`;
  const before = transcript.messages === undefined ? '' : listOf(transcript.messages);
  return before === '' ? `[${transcript.assistant},${answer}]` : `[${before},${answer}]`;
}

export const transcriptKind = textKind(TRANSCRIPT_TYPE, readTranscript);

const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const textOf = (value: string | object): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Providers call the blocks of a message `content` or `blocks`. */
function keyOf(message: unknown): 'blocks' | 'content' {
  return Array.isArray((message as { blocks?: unknown } | null)?.blocks) ? 'blocks' : 'content';
}

function blocksOf(message: unknown): Block[] {
  const blocks = (message as Record<string, unknown> | null)?.[keyOf(message)];
  if (!Array.isArray(blocks)) throw invalid('the message has no blocks');
  return blocks.filter((block): block is Block => typeof block === 'object' && block !== null);
}

/** The elements of a list as text, without its brackets; empty for an empty one. */
function listOf(text: string): string {
  const list = parse(text, 'messages');
  if (!Array.isArray(list)) throw invalid('messages must be a list');
  return list.length === 0 ? '' : text.trim().slice(1, -1);
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`${what} is not JSON: ${(error as Error).message}`);
  }
}

function invalid(message: string): ContinuationError {
  return new ContinuationError('invalid_transcript', `${message}.`);
}
