/** What ends a pause, and the answers that do. */
import { z } from 'zod';
import { Digest, Instant, id, json, jsonObject, metadata, text } from './primitives.ts';

export const WaitType = z.enum([
  'user_reply',
  'approval_resolution',
  'external_result',
  'agent_reply',
  'scheduled_wake',
]);
export type WaitType = z.infer<typeof WaitType>;

/** What ends the pause (002). */
export const WaitCondition = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('user_reply'), correlationKey: id.optional() }),
  z.strictObject({ type: z.literal('approval_resolution'), approvalId: id }),
  z.strictObject({ type: z.literal('external_result'), operationId: id }),
  z.strictObject({ type: z.literal('agent_reply'), replyWith: id, responder: id.optional() }),
  z.strictObject({ type: z.literal('scheduled_wake'), wakeUpId: id, wakeAt: Instant.optional() }),
]);
export type WaitCondition = z.infer<typeof WaitCondition>;

const Attachment = z.strictObject({
  id,
  type: id,
  name: text.optional(),
  url: text.optional(),
  metadata: jsonObject.optional(),
});
/** What a person said (002 `HarnessUserMessage`); `id` and `receivedAt` default to the envelope's. */
const UserMessage = z.strictObject({
  id: id.optional(),
  text,
  receivedAt: Instant.optional(),
  attachments: z.array(Attachment).optional(),
});

/** The answer that matches a wait condition (002). Its times are data; only the envelope's `receivedAt` counts (C4). */
export const Trigger = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('user_reply'),
    message: UserMessage,
    correlationKey: id.optional(),
    receivedAt: Instant.optional(),
  }),
  z.strictObject({
    type: z.literal('approval_resolution'),
    approvalId: id,
    decision: z.enum(['approved', 'denied']),
    reason: text.optional(),
    resolvedAt: Instant.optional(),
    metadata: jsonObject.optional(),
  }),
  z.strictObject({
    type: z.literal('external_result'),
    operationId: id,
    payload: json.optional(),
    resolvedAt: Instant.optional(),
  }),
  z.strictObject({
    type: z.literal('agent_reply'),
    replyWith: id,
    performative: z.enum(['agreed', 'inform', 'refuse', 'failure']),
    content: json.optional(),
  }),
  z.strictObject({ type: z.literal('scheduled_wake'), wakeUpId: id, firedAt: Instant.optional() }),
]);
export type Trigger = z.infer<typeof Trigger>;

/** What resumes a turn: an answer, or the internal "no answer in time", which nobody can send. */
export const ResumeTrigger = z.union([Trigger, z.strictObject({ type: z.literal('no_answer'), firedAt: Instant })]);
export type ResumeTrigger = z.infer<typeof ResumeTrigger>;

/** An answer as the caller gives it; the content digest covers exactly this. */
export const Message = z.strictObject({
  messageId: id.optional(),
  suspensionId: id.optional(),
  suspensionDigest: Digest.optional(),
  trigger: Trigger,
  metadata: metadata.optional(),
});
export type Message = z.infer<typeof Message>;

/** What our client asserts about a message (C4); a message without it comes straight from Temporal. */
export const Stamp = z.strictObject({
  subject: id,
  verified: z.boolean(),
  channel: id,
  receivedAt: Instant,
  /** Identity of a message without an id, the same for its update and its signal. */
  updateId: id,
});
export type Stamp = z.infer<typeof Stamp>;
