/** An answer from what a caller says to what its workflow says: checked, authorized, stamped once, and brought there. */
import { type Answered, type AnsweringDeps, answer, type Way } from './answering.ts';
import { type Caller, notFound } from './caller.ts';
import { contentOf, JSON_TYPE } from './content.ts';
import { canonicalJson } from './digest.ts';
import { MAX_INPUT_BYTES, utf8Length } from './json.ts';
import { type SignedMessage, updateIdOf, withoutBulk } from './message.ts';
import { parseInput } from './parse.ts';
import { whyNotAllowed } from './policy.ts';
import type { Stored } from './ports.ts';
import {
  ContinuationId,
  type Message,
  Permission,
  type Refused,
  type ResumeContinuationInput,
  ResumeInput,
} from './schema.ts';
import { traceOf } from './trace.ts';
import { statedVerdicts } from './verdicts.ts';

export interface ReceivingDeps extends AnsweringDeps {
  readonly caller: Caller;
  readonly inlineInputBytes: number;
}
/** An answer that its workflow accepted, or will. */
export interface Received {
  readonly ok: true;
  /** The row before it. */
  readonly row: Stored;
  readonly message: SignedMessage;
  /** The whole of what it says, also where the message carries a reference. */
  readonly trigger: Message['trigger'];
  readonly answered: Extract<Answered, { ok: true }>;
}

export async function receive(
  deps: ReceivingDeps,
  input: ResumeContinuationInput,
  way: Way,
): Promise<Received | Refused> {
  const { trace } = deps;
  const receivedAt = new Date().toISOString();
  const parsed = tooLargeMessage(input) ?? parseInput(ResumeInput, input);
  const row = parsed.ok ? await find(deps, parsed.value.continuationId) : undefined;
  if (row) trace?.emit(traceOf('continuation_resume_requested', row.record, receivedAt));
  if (!parsed.ok || !row) {
    const refused = parsed.ok ? notFound() : parsed;
    trace?.emit({ type: 'continuation_resume_rejected', code: refused.refusal.code, timestamp: receivedAt });
    return refused;
  }
  const { continuationId, ...given } = parsed.value;
  const received = await bring(deps, row, { ...given, receivedAt }, way);
  if (!received.ok) trace?.emit(traceOf('continuation_resume_rejected', row.record, receivedAt, received.refusal.code));
  return received;
}

async function bring(
  deps: ReceivingDeps,
  row: Stored,
  { receivedAt, ...given }: Message & { receivedAt: string },
  way: Way,
): Promise<Received | Refused> {
  const denied = await whyNotAllowed(deps.policy, way === 'take' ? 'take' : 'answer', deps.caller, row.record);
  if (denied) return denied;
  const message = await sign(deps, row, given, receivedAt);
  const answered = await answer(deps, row, message, way);
  return answered.ok ? { ok: true, row, message, trigger: given.trigger, answered } : answered;
}

async function find(deps: ReceivingDeps, id: string): Promise<Stored | null> {
  return ContinuationId.safeParse(id).success ? deps.store.get(deps.caller.scope, id) : null;
}

function tooLargeMessage(input: unknown): Refused | undefined {
  // What is not JSON is refused by the schema, with its path.
  const encoded = utf8Length(safeStringify(input));
  if (encoded <= MAX_INPUT_BYTES) return undefined;
  return {
    ok: false,
    refusal: {
      code: 'too_large',
      message: `the answer has ${encoded} bytes encoded; at most ${MAX_INPUT_BYTES} are accepted`,
    },
  };
}

function safeStringify(input: unknown): string {
  try {
    return JSON.stringify(input) ?? '';
  } catch {
    return '';
  }
}

/** Stamps the message once, before it is first sent (C4); what is too long for the record becomes content (C12). */
async function sign(
  deps: ReceivingDeps,
  { record }: Stored,
  message: Message,
  receivedAt: string,
): Promise<SignedMessage> {
  const { caller, inlineInputBytes, store } = deps;
  const { subject, verified, channel, permissions } = caller;
  const stamp = (signed: SignedMessage): SignedMessage => ({
    ...signed,
    stamp: {
      subject,
      verified,
      channel,
      receivedAt,
      updateId: updateIdOf(subject, signed),
      // Who may do everything needs no list.
      ...(permissions.length < Permission.options.length && { permissions: [...permissions] }),
    },
  });
  const text = canonicalJson(message.trigger);
  if (utf8Length(text) <= inlineInputBytes) return stamp(message);
  const content = contentOf(Buffer.from(text), JSON_TYPE);
  await store.putContents(record.scope, record.id, [content]);
  const verdicts = statedVerdicts(message.trigger);
  const head = { ...message, trigger: withoutBulk(message.trigger), ...(verdicts.length > 0 && { verdicts }) };
  return stamp({ ...head, inputRef: content.ref });
}
