/** The shape of messages, as the `Message` schema has it: written out by hand, because workflow code cannot carry zod. Workflow-safe. */
import { formatPath, jsonFault, textFault, utf8Length } from './json.ts';
import type { WaitType } from './schema.ts';

export const WAIT_TYPES: readonly WaitType[] = [
  'user_reply',
  'approval_resolution',
  'external_result',
  'agent_reply',
  'scheduled_wake',
];

const MAX_PATH = 256;
const MAX_EFFECT_KEY = 1024;
/** As many as a pause holds. */
const MAX_CALLS = 32;

/* Each check answers what is wrong, or undefined. */

export interface Fault {
  readonly ok: false;
  readonly path: string;
  readonly message: string;
}
type Check = (value: unknown, path: string) => Fault | undefined;

/** The path may name a field that its sender chose, and refusals are kept: it is cut. */
export const fault = (path: string, message: string): Fault => ({ ok: false, path: path.slice(0, MAX_PATH), message });
/** Bytes are no object: a payload may hold two million of them. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
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
const someText: Check = (value, path) => (value === '' ? fault(path, 'must not be empty') : text(value, path));
const effectKey: Check = (value, path) =>
  typeof value === 'string' && value.length > MAX_EFFECT_KEY ? fault(path, 'is too long') : someText(value, path);
const yes: Check = (value, path) => (value === true ? undefined : fault(path, 'must be true'));
const anything: Check = () => undefined;
const arrayOf =
  (check: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) return fault(path, 'must be an array');
    return firstFault(value.map((item, index) => check(item, `${path}[${index}]`)));
  };
const fewOf =
  (check: Check): Check =>
  (value, path) => {
    const few = Array.isArray(value) && value.length >= 1 && value.length <= MAX_CALLS;
    return few ? arrayOf(check)(value, path) : fault(path, `must be an array of 1 to ${MAX_CALLS} calls`);
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

const decidedCall: Check = (value, path) => {
  const decision = isObject(value) ? value.decision : undefined;
  const own = decision === 'denied' ? { reason: optional(text) } : { arguments: optional(text) };
  const call = { callId: id, argumentsDigest: optional(digest), decision: oneOf('approved', 'denied'), ...own };
  return shape(call)(value, path);
};
const callOutcome: Check = (value, path) => {
  const call = { callId: id, argumentsDigest: optional(digest) };
  if (isObject(value) && value.error !== undefined) return shape({ ...call, error: someText })(value, path);
  if (isObject(value) && value.execute !== undefined) return shape({ ...call, execute: yes })(value, path);
  return shape({ ...call, result: json })(value, path);
};
const verdict = shape({
  id: optional(id),
  decision: oneOf('approved', 'denied', 'result', 'error', 'execute'),
  argumentsDigest: optional(digest),
  editedDigest: optional(digest),
});

const TRIGGERS: Record<WaitType, Record<string, Check>> = {
  user_reply: { message: userMessage, correlationKey: optional(id), receivedAt: optional(instant) },
  approval_resolution: {
    approvalId: id,
    decision: optional(oneOf('approved', 'denied')),
    reason: optional(text),
    arguments: optional(text),
    calls: optional(fewOf(decidedCall)),
    resolvedAt: optional(instant),
    metadata: optional(object),
  },
  external_result: {
    operationId: id,
    payload: optional(json),
    calls: optional(fewOf(callOutcome)),
    resolvedAt: optional(instant),
  },
  agent_reply: { replyWith: id, performative: oneOf('agreed', 'inform', 'refuse', 'failure'), content: optional(json) },
  scheduled_wake: { wakeUpId: id, firedAt: optional(instant) },
};
/** Parts that may be long and so may travel by reference. */
export const BULK: Record<WaitType, readonly string[]> = {
  user_reply: ['message'],
  approval_resolution: ['reason', 'arguments', 'calls', 'metadata'],
  external_result: ['payload', 'calls'],
  agent_reply: ['content'],
  scheduled_wake: [],
};

const stamp = shape({
  subject: id,
  verified: flag,
  channel: id,
  receivedAt: instant,
  permissions: optional(arrayOf(oneOf('create', 'answer', 'approve', 'bus', 'operate', 'read'))),
  updateId: id,
});

const trigger =
  (byReference: boolean): Check =>
  (value, path) => {
    if (!isObject(value)) return fault(path, 'must be an object');
    const type = WAIT_TYPES.find((known) => known === value.type);
    if (!type) return fault(`${path}.type`, `must be one of ${WAIT_TYPES.join(', ')}`);
    const members = { ...TRIGGERS[type] };
    if (byReference) for (const key of BULK[type]) delete members[key];
    return (
      shape({ type: anything, ...members })(value, path) ?? (byReference ? undefined : whyInconsistent(value, path))
    );
  };

/** One call is decided in the simple form, several in `calls`; an edit belongs to an approval. */
function whyInconsistent(trigger: Record<string, unknown>, path: string): Fault | undefined {
  const { type, decision, calls, payload } = trigger;
  if (type === 'external_result' && payload !== undefined && calls !== undefined)
    return fault(`${path}.payload`, 'and calls exclude each other');
  if (type !== 'approval_resolution') return undefined;
  if ((decision === undefined) === (calls === undefined))
    return fault(`${path}.decision`, 'or calls must be given, and only one of them');
  if (trigger.arguments !== undefined && decision !== 'approved')
    return fault(`${path}.arguments`, 'belong to an approved call');
  return undefined;
}

/** What is wrong with a message; nothing is trusted. */
export function messageFault(message: Record<string, unknown>): Fault | undefined {
  return shape({
    messageId: optional(id),
    suspensionId: optional(id),
    suspensionDigest: optional(digest),
    trigger: trigger(message.inputRef !== undefined),
    metadata: optional(metadata),
    inputRef: optional(contentRef),
    verdicts: optional(fewOf(verdict)),
    stamp: optional(stamp),
  })(message, '');
}

/** What is wrong with an operator's decision about an unknown outcome. */
export function reconciliationFault(given: unknown): Fault | undefined {
  const request = shape({
    turnId: id,
    attempt: count,
    action: oneOf('happened', 'did_not_happen', 'close_incomplete'),
    resultRef: optional(contentRef),
    effect: optional(effectKey),
    issuer: optional(id),
    proof: shape({ ref: someText, digest }),
    observedAt: instant,
    expiresAt: optional(instant),
    stamp: optional(shape({ subject: id, verified: flag, channel: id })),
  });
  const wrong = request(given, '');
  if (wrong || !isObject(given)) return wrong;
  if (given.effect !== undefined && given.action === 'close_incomplete')
    return fault('effect', 'cannot be closed by itself');
  if ((given.action === 'happened') === (given.resultRef !== undefined)) return undefined;
  return fault('resultRef', 'must be given with the action happened, and only with it');
}
