/** The calls that a turn stopped for: read from its result, and checked before anything of the pause is visible. */
import { type Content, contentOf, JSON_TYPE, MAX_INLINE_TEXT_BYTES } from './content.ts';
import { digestText } from './digest.ts';
import { formatPath, type Json, textFault, unicodeFault } from './json.ts';
import { type AskedCall, PendingCall, type Refused, type WaitCondition, type WaitType } from './schema.ts';

/** Arguments of all calls together that are kept in the record, bytes (C12). */
const MAX_INLINE_ARGUMENTS_BYTES = 16 * 1024;
/** What only one call can wait for: its answer does not name a call. */
const SINGLE: readonly WaitType[] = ['user_reply', 'agent_reply', 'scheduled_wake'];

export interface AskedCalls {
  readonly ok: true;
  readonly asked: readonly AskedCall[];
  /** Where in the result they are given. */
  readonly path: string;
}

/** The calls of `continuation.pending`, else the one of 002's `state.request`, where that names one. */
export function askedCalls(given: readonly AskedCall[] | undefined, request: Json | undefined): AskedCalls | Refused {
  const calls: AskedCalls = given
    ? { ok: true, asked: given, path: 'harnessResult.continuation.pending' }
    : { ok: true, asked: requested(request), path: 'harnessResult.continuation.state.request' };
  for (const [index, { arguments: text }] of calls.asked.entries()) {
    const unreadable = typeof text === 'string' ? unicodeFault(text) : undefined;
    if (unreadable) return invalid(pathOf(calls, index, 'arguments'), unreadable);
  }
  return calls;
}

function requested(request: Json | undefined): readonly AskedCall[] {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return [];
  const { id, name, arguments: given } = request;
  const isCall = typeof id === 'string' && typeof name === 'string' && given !== undefined && id !== '' && name !== '';
  return isCall ? [{ id, name, arguments: given }] : [];
}

/** One pause has one reason (001), and one answer that names each of its calls. */
export function whyNotOnePause(calls: AskedCalls, waitFor: WaitCondition): Refused | undefined {
  const { asked, path } = calls;
  const [first, second] = asked;
  const other = asked.find(({ reason }) => reason !== undefined && reason !== first?.reason);
  if (first?.reason && other)
    return invalid(
      path,
      `holds calls for two reasons: ${first.name} (${first.reason}) and ${other.name} (${other.reason})`,
    );
  const misplaced = asked.find(({ reason }) => reason !== undefined && reason !== waitFor.type);
  if (misplaced)
    return invalid(path, `holds ${misplaced.name}, which waits for ${misplaced.reason}, not ${waitFor.type}`);
  const repeated = asked.findIndex(({ id }, index) => asked.some((call, before) => before < index && call.id === id));
  if (repeated >= 0) return invalid(pathOf(calls, repeated, 'id'), `is that of another call: ${asked[repeated]?.id}`);
  if (first && second && SINGLE.includes(waitFor.type))
    return invalid(path, `holds ${first.name} and ${second.name}, but ${waitFor.type} answers one call at a time`);
  for (const [index, call] of pendingCalls(asked, []).entries()) {
    const issue = PendingCall.safeParse(call).error?.issues[0];
    if (issue) return invalid(pathOf(calls, index, formatPath(issue.path)), issue.message);
  }
  return undefined;
}

/** The calls as the record keeps them; what does not fit there goes to `contents`. */
export function pendingCalls(asked: readonly AskedCall[], contents: Content[]): PendingCall[] {
  let room = MAX_INLINE_ARGUMENTS_BYTES;
  return asked.map((call) => {
    const pending = pendingCall(call, room, contents);
    if (typeof pending.arguments === 'string') room -= Buffer.byteLength(pending.arguments);
    return pending;
  });
}

function pendingCall(call: AskedCall, room: number, contents: Content[]): PendingCall {
  const { id, name, arguments: given, replyWith } = call;
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  const kept = { id, name, argumentsDigest: digestText(text), ...(replyWith && { replyWith }) };
  const fits = Buffer.byteLength(text) <= Math.min(MAX_INLINE_TEXT_BYTES, room);
  if (fits && !textFault(text)) return { ...kept, arguments: text };
  const content = contentOf(Buffer.from(text), JSON_TYPE);
  contents.push(content);
  return { ...kept, arguments: content.ref };
}

function pathOf({ path }: AskedCalls, index: number, member: string): string {
  return path.endsWith('pending') ? `${path}[${index}].${member}` : `${path}.${member}`;
}

function invalid(path: string, message: string): Refused {
  return { ok: false, refusal: { code: 'invalid_input', path, message } };
}
