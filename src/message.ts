/**
 * Answers as they travel through Temporal, read without trust (C15): a message may come from our client, the Temporal UI or
 * CLI, or anything that can write to the namespace. Accepts what the `Message` schema accepts. Workflow-safe.
 */
import { digestJson } from './digest.ts';
import type { Sender } from './events.ts';
import { formatPath, type Json, jsonFault, textFault, utf8Length } from './json.ts';
import type { ContentRef, Message, Stamp, WaitType } from './schema.ts';

/** A message with our client's stamp; with `inputRef` the trigger holds only what the rules look at, the rest is content. */
export interface SignedMessage extends Message {
  readonly stamp?: Stamp;
  readonly inputRef?: ContentRef;
}

export const WAIT_TYPES: readonly WaitType[] = [
  'user_reply',
  'approval_resolution',
  'external_result',
  'agent_reply',
  'scheduled_wake',
];

const MAX_PATH = 256;

type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly path: string; readonly message: string };

/**
 * Reads a message. A signal named after a wait type may leave out `trigger.type`, and the envelope around the trigger.
 */
export function readMessage(given: unknown, signal?: WaitType): Read<SignedMessage> {
  if (!isObject(given)) return fault('', 'must be an object such as {"trigger": {"type": "user_reply", …}}');
  const envelope = signal && !('trigger' in given) ? { trigger: given } : given;
  const trigger = signal && isObject(envelope.trigger) ? { type: signal, ...envelope.trigger } : envelope.trigger;
  const message = { ...envelope, trigger };
  const wrong = ENVELOPE(message, '');
  return wrong ?? { ok: true, value: message as SignedMessage };
}

/** Digest of what the caller said, before defaults and without the stamp; the same whether its input travels inline or not. */
export function contentDigest({
  messageId,
  suspensionId,
  suspensionDigest,
  trigger,
  metadata,
  inputRef,
}: SignedMessage): string {
  const triggerDigest = inputRef?.digest ?? digestJson(trigger);
  return digestJson({ messageId, suspensionId, suspensionDigest, trigger: triggerDigest, metadata });
}

/** Identity of an update: the server answers a repeated id with the first outcome, so the content is part of it. */
export function updateIdOf(subject: string, message: SignedMessage): string {
  return digestJson({ subject, messageId: message.messageId, content: contentDigest(message) });
}

/** Who sent a message, for the record. Without a stamp nobody vouches for it, and it counts when handled (C4). */
export function senderOf(message: SignedMessage, now: string, updateId?: string): Sender {
  const { stamp, inputRef, metadata } = message;
  const digest = contentDigest(message) as Sender['contentDigest'];
  return {
    messageId: message.messageId ?? stamp?.updateId ?? updateId ?? digest,
    contentDigest: digest,
    subject: stamp?.subject ?? 'temporal',
    verified: stamp?.verified ?? false,
    channel: stamp?.channel ?? 'temporal',
    receivedAt: stamp?.receivedAt ?? now,
    input: inputRef ? { ref: inputRef } : { trigger: message.trigger },
    ...(metadata && { metadata }),
  };
}

/* Shapes. Each check answers what is wrong, or undefined. */

type Fault = Extract<Read<never>, { ok: false }>;
type Check = (value: unknown, path: string) => Fault | undefined;

/** The path may name a field that its sender chose, and refusals are kept: it is cut. */
const fault = (path: string, message: string): Fault => ({ ok: false, path: path.slice(0, MAX_PATH), message });
/** Bytes are no object: a payload may hold two million of them. */
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);

const optional =
  (check: Check): Check =>
  (value, path) =>
    value === undefined ? undefined : check(value, path);
const text: Check = (value, path) => {
  if (typeof value !== 'string') return fault(path, 'must be text');
  const wrong = textFault(value);
  return wrong ? fault(path, wrong) : undefined;
};
/** Counted as the schema counts: a character outside the BMP is one, though it is two in a JavaScript string. */
const id: Check = (value, path) => {
  const fits = typeof value === 'string' && value !== '' && value.length <= 256 && [...value].length <= 128;
  return fits ? text(value, path) : fault(path, 'must be text of 1 to 128 characters');
};
const matching =
  (pattern: RegExp, what: string): Check =>
  (value, path) =>
    typeof value === 'string' && pattern.test(value) ? undefined : fault(path, `must be ${what}`);
const oneOf = (...options: string[]): Check => matching(new RegExp(`^(${options.join('|')})$`), options.join(' or '));
const INSTANT = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
/** `Date.parse` alone takes 30 February for 2 March. */
function isInstant(value: string): boolean {
  const [, date = ''] = INSTANT.exec(value) ?? [];
  const [day, instant] = [Date.parse(date), Date.parse(value)];
  if (Number.isNaN(day) || Number.isNaN(instant)) return false;
  return new Date(day).toISOString().startsWith(date) && /^\d/.test(new Date(instant).toISOString());
}
const instant: Check = (value, path) =>
  typeof value === 'string' && isInstant(value)
    ? undefined
    : fault(path, 'must be an ISO 8601 time with an offset, such as 2026-12-02T09:30:00Z');
const flag: Check = (value, path) => (typeof value === 'boolean' ? undefined : fault(path, 'must be true or false'));
const count: Check = (value, path) => (Number.isInteger(value) ? undefined : fault(path, 'must be a whole number'));
const json: Check = (value, path) => {
  const wrong = jsonFault(value);
  return wrong ? fault(formatPath([path, ...wrong.path]), wrong.message) : undefined;
};
const object: Check = (value, path) => (isObject(value) ? json(value, path) : fault(path, 'must be an object'));
const metadata: Check = (value, path) => {
  const wrong = object(value, path);
  if (wrong) return wrong;
  return utf8Length(JSON.stringify(value)) <= 16 * 1024 ? undefined : fault(path, 'must be at most 16 KiB encoded');
};
const anything: Check = () => undefined;
const arrayOf =
  (check: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) return fault(path, 'must be an array');
    return firstFault(value.map((item, index) => check(item, `${path}[${index}]`)));
  };
const shape =
  (members: Record<string, Check>): Check =>
  (value, path) => {
    if (!isObject(value)) return fault(path, 'must be an object');
    const at = (key: string) => (path ? `${path}.${key}` : key);
    const unknown = Object.keys(value).find((key) => !Object.hasOwn(members, key) && value[key] !== undefined);
    if (unknown !== undefined) return fault(at(unknown), 'is not a known field');
    return firstFault(Object.entries(members).map(([key, check]) => check(value[key], at(key))));
  };
const firstFault = (faults: Array<Fault | undefined>): Fault | undefined => faults.find((f) => f !== undefined);

const digest = matching(/^sha256:[0-9a-f]{64}$/, 'sha256: and 64 hex digits');
const contentRef = shape({ digest, bytes: count, mediaType: id });
const attachment = shape({ id, type: id, name: optional(text), url: optional(text), metadata: optional(object) });
const userMessage = shape({
  id: optional(id),
  text,
  receivedAt: optional(instant),
  attachments: optional(arrayOf(attachment)),
});

const TRIGGERS: Record<WaitType, Record<string, Check>> = {
  user_reply: { message: userMessage, correlationKey: optional(id), receivedAt: optional(instant) },
  approval_resolution: {
    approvalId: id,
    decision: oneOf('approved', 'denied'),
    reason: optional(text),
    resolvedAt: optional(instant),
    metadata: optional(object),
  },
  external_result: { operationId: id, payload: optional(json), resolvedAt: optional(instant) },
  agent_reply: { replyWith: id, performative: oneOf('agreed', 'inform', 'refuse', 'failure'), content: optional(json) },
  scheduled_wake: { wakeUpId: id, firedAt: optional(instant) },
};
/** Parts that may be long and so may travel by reference. */
export const BULK: Record<WaitType, readonly string[]> = {
  user_reply: ['message'],
  approval_resolution: ['reason', 'metadata'],
  external_result: ['payload'],
  agent_reply: ['content'],
  scheduled_wake: [],
};

const trigger =
  (byReference: boolean): Check =>
  (value, path) => {
    if (!isObject(value)) return fault(path, 'must be an object');
    const type = WAIT_TYPES.find((known) => known === value.type);
    if (!type) return fault(`${path}.type`, `must be one of ${WAIT_TYPES.join(', ')}`);
    const members = { ...TRIGGERS[type] };
    if (byReference) for (const key of BULK[type]) delete members[key];
    return shape({ type: anything, ...members })(value, path);
  };

const ENVELOPE: Check = (value, path) =>
  shape({
    messageId: optional(id),
    suspensionId: optional(id),
    suspensionDigest: optional(digest),
    trigger: trigger(isObject(value) && value.inputRef !== undefined),
    metadata: optional(metadata),
    inputRef: optional(contentRef),
    stamp: optional(shape({ subject: id, verified: flag, channel: id, receivedAt: instant, updateId: id })),
  })(value, path);

/** The trigger without what travels by reference. */
export function withoutBulk(given: Message['trigger']): Message['trigger'] {
  const head: Record<string, Json | undefined> = { ...(given as Record<string, Json>) };
  for (const key of BULK[given.type]) delete head[key];
  return head as unknown as Message['trigger'];
}
