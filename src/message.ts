/**
 * Answers as they travel through Temporal, read without trust (C15): a message may come from our client, the Temporal UI or
 * CLI, or anything that can write to the namespace. Accepts what the `Message` schema accepts. Workflow-safe.
 */
import { digestJson } from './digest.ts';
import type { Answered, Sender } from './events.ts';
import type { Json } from './json.ts';
import { BULK, type Fault, fault, isObject, messageFault } from './message-shape.ts';
import type { ContentRef, Message, Stamp, StatedVerdict, WaitType } from './schema.ts';
import { statedVerdicts } from './verdicts.ts';

/** A message with our client's stamp; with `inputRef` the trigger holds only what the rules look at, the rest is content. */
export interface SignedMessage extends Message {
  readonly stamp?: Stamp;
  readonly inputRef?: ContentRef;
  /** With `inputRef`: what it decides about each call. */
  readonly verdicts?: readonly StatedVerdict[];
}

type Read<T> = { readonly ok: true; readonly value: T } | Fault;

/**
 * Reads a message. A signal named after a wait type may leave out `trigger.type`, and the envelope around the trigger.
 */
export function readMessage(given: unknown, signal?: WaitType): Read<SignedMessage> {
  if (!isObject(given)) return fault('', 'must be an object such as {"trigger": {"type": "user_reply", …}}');
  const envelope = signal && !('trigger' in given) ? { trigger: given } : given;
  const trigger = signal && isObject(envelope.trigger) ? { type: signal, ...envelope.trigger } : envelope.trigger;
  const message = { ...envelope, trigger };
  const wrong = messageFault(message);
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
    ...(stamp?.permissions && { permissions: stamp.permissions }),
    ...(metadata && { metadata }),
  };
}

/** The event of an answer that is handled at `at`. */
export function answeredEvent(message: SignedMessage, at: string, updateId?: string): Answered {
  const verdicts = message.inputRef ? (message.verdicts ?? []) : statedVerdicts(message.trigger);
  return { type: 'answered', at, message, answer: senderOf(message, at, updateId), verdicts };
}

/** The trigger without what travels by reference. */
export function withoutBulk(given: Message['trigger']): Message['trigger'] {
  const head: Record<string, Json | undefined> = { ...(given as Record<string, Json>) };
  for (const key of BULK[given.type]) delete head[key];
  return head as unknown as Message['trigger'];
}
