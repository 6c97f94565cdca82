/** Turns a resumable result into the description of a pause: wait condition, question, digests, and the content to store. */
import { isUtf8 } from 'node:buffer';
import { askedCalls, pendingCalls, whyNotOnePause } from './asked-calls.ts';
import { type Content, contentOf, JSON_TYPE, MAX_INLINE_TEXT_BYTES, textOf } from './content.ts';
import { digestJson } from './digest.ts';
import type { NewSuspension } from './events.ts';
import { newSuspensionId, newWakeUpId } from './ids.ts';
import type { Json, JsonObject } from './json.ts';
import { jsonFault, textFault } from './json.ts';
import type { StateKind } from './ports.ts';
import {
  isExactState,
  type PendingCall,
  type Refused,
  type ResumableOutcome,
  type ResumableResult,
  type WaitCondition,
} from './schema.ts';
import { deriveWait } from './wait.ts';

export interface Pause {
  readonly asked: NewSuspension;
  readonly contents: readonly Content[];
}

const CONTINUATION_TYPE = {
  needs_clarification: 'clarification',
  awaiting_approval: 'approval',
  deferred: 'deferred',
} as const satisfies Record<ResumableOutcome, string>;
const STOP_REASON: Record<ResumableOutcome, string> = {
  needs_clarification: 'clarification_required',
  awaiting_approval: 'approval_required',
  deferred: 'deferred',
};

/** The turn that pauses: its id, when, what its creator said besides, and the kinds of state that are checked. */
export interface Turn {
  readonly turnId: string;
  readonly at: string;
  readonly metadata?: JsonObject | undefined;
  readonly stateKinds?: readonly StateKind[] | undefined;
}

/**
 * Describes the pause of turn `turnId` at `at`. `metadata` is the creator's and is searched last; a re-pend has none (C9).
 * Refused as `invalid_input` when the result holds nothing to wait for.
 */
export function describePause(result: ResumableResult, turn: Turn): Pause | Refused {
  const { continuation } = result;
  const state = contentOfState(continuation.state);
  const fault = turn.stateKinds?.find(({ mediaType }) => mediaType === state.ref.mediaType)?.fault(state.bytes);
  if (fault) return invalidState('', fault);
  const values = jsonOf(state);
  if (values instanceof SyntaxError) return invalidState('', `must be JSON, as its media type says: ${values.message}`);
  const calls = askedCalls(continuation.pending, objectAt(values, 'request'));
  if (!calls.ok) return calls;
  const suspensionId = newSuspensionId();
  const wait = deriveWait(
    result.outcome,
    [
      { path: 'harnessResult.continuation.state', values },
      { path: 'harnessResult.continuation.metadata', values: continuation.metadata },
      { path: 'harnessResult.metadata', values: result.metadata },
      { path: 'metadata', values: turn.metadata },
    ],
    { calls: calls.asked, suspensionId, wakeUpId: newWakeUpId() },
  );
  if (!wait.ok) return wait;
  const refused = whyNotOnePause(calls, wait.waitFor);
  if (refused) return refused;

  const contents = [state];
  const pending = pendingCalls(calls.asked, contents);
  const question = questionOf(values, result, pending, wait.waitFor);
  const asked: NewSuspension = {
    ok: true,
    waitFor: wait.waitFor,
    stopReason: result.stopReason ?? STOP_REASON[result.outcome],
    continuation: payloadOf(result, turn),
    suspension: {
      id: suspensionId,
      ...inlineOrReference(question, contents),
      pending,
      state: state.ref,
      digest: digestJson({ question, waitFor: wait.waitFor, pending }),
      createdAt: turn.at,
    },
  };
  return { contents, asked };
}

/** The harness's continuation without its state; what the harness left out is derived as 002's own harness does. */
function payloadOf({ outcome, continuation }: ResumableResult, { turnId, at }: { turnId: string; at: string }) {
  const type = CONTINUATION_TYPE[outcome];
  return {
    id: continuation.id ?? `${turnId}:${type}`,
    type: continuation.type ?? type,
    createdAt: continuation.createdAt ?? at,
    turnId: continuation.turnId ?? turnId,
    resumeToken: continuation.resumeToken ?? `${turnId}:${type}:${at}`,
    ...(continuation.sessionId && { sessionId: continuation.sessionId }),
    ...(continuation.metadata && { metadata: continuation.metadata }),
  };
}

function inlineOrReference(
  text: string,
  contents: Content[],
): Pick<NewSuspension['suspension'], 'question' | 'questionRef'> {
  const question = clip(text);
  if (question === text) return { question };
  const content = contentOf(Buffer.from(text), 'text/plain; charset=utf-8');
  contents.push(content);
  return { question, questionRef: content.ref };
}

function invalidState(path: string, message: string): Refused {
  return { ok: false, refusal: { code: 'invalid_input', path: `harnessResult.continuation.state${path}`, message } };
}

/** The state exactly as it was given; a JSON value as its encoding. */
function contentOfState(state: ResumableResult['continuation']['state']): Content {
  if (isExactState(state)) {
    return contentOf('text' in state ? Buffer.from(state.text) : state.bytes, state.mediaType);
  }
  return contentOf(Buffer.from(JSON.stringify(state)), JSON_TYPE);
}

/** Types whose bytes are text: `text/*`, and those that say what they are written in. */
const TEXT_TYPE = /^(text\/|[^;]+\+(json|xml|yaml)(;|$))/;

/** Stored state as the harness gets it back: JSON parsed, text of a text type as text, anything else as bytes. */
export function stateOf(content: Content): unknown {
  const { mediaType } = content.ref;
  if (mediaType === JSON_TYPE) return JSON.parse(textOf(content));
  if (TEXT_TYPE.test(mediaType) && isUtf8(content.bytes)) return { text: textOf(content), mediaType };
  return { bytes: content.bytes, mediaType };
}

/** Checked at the pause, because nobody can repair it once somebody has answered. */
function jsonOf(state: Content): Json | undefined | SyntaxError {
  if (state.ref.mediaType !== JSON_TYPE) return undefined;
  try {
    if (!isUtf8(state.bytes)) return new SyntaxError('it is not UTF-8');
    const value = JSON.parse(textOf(state)) as Json;
    const fault = jsonFault(value, false);
    return fault ? new SyntaxError(fault.message) : value;
  } catch (error) {
    return error as SyntaxError;
  }
}

function questionOf(
  values: Json | undefined,
  result: ResumableResult,
  pending: readonly PendingCall[],
  waitFor: WaitCondition,
): string {
  const asked = objectAt({ values: values ?? null }, 'values')?.question;
  const candidates = [asked, result.assistantMessage?.text, pending.map((call) => call.name).join(', ')];
  const question = candidates.find(
    (text): text is string => typeof text === 'string' && text !== '' && !textFault(text),
  );
  return question ?? `Waiting for ${waitFor.type}`;
}

function clip(text: string): string {
  if (Buffer.byteLength(text) <= MAX_INLINE_TEXT_BYTES) return text;
  return `${Buffer.from(text)
    .subarray(0, MAX_INLINE_TEXT_BYTES - 4)
    .toString('utf8')
    .replace(/\ufffd+$/, '')}…`;
}

function objectAt(value: Json | undefined, key: string): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const member = value[key];
  return typeof member === 'object' && member !== null && !Array.isArray(member) ? member : undefined;
}
