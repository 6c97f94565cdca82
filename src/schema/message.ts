/** What ends a pause, and the answers that do. */
import { z } from 'zod';
import { CallDecision, CallOutcome, MAX_PENDING_CALLS } from './calls.ts';
import { Digest, Instant, id, json, jsonObject, metadata, text } from './primitives.ts';

/** What a caller may do: create, answer questions, approve, answer for another agent, operate, read. */
export const Permission = z.enum(['create', 'answer', 'approve', 'bus', 'operate', 'read']);
export type Permission = z.infer<typeof Permission>;

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

const calls = <C extends z.ZodType>(call: C) => z.array(call).min(1).max(MAX_PENDING_CALLS).optional();

/** The answer that matches a wait condition (002). Its times are data; only the envelope's `receivedAt` counts (C4). */
export const Trigger = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('user_reply'),
    message: UserMessage,
    correlationKey: id.optional(),
    receivedAt: Instant.optional(),
  }),
  z
    .strictObject({
      type: z.literal('approval_resolution'),
      approvalId: id,
      /** For the one call that waits, or for the whole question; several calls are decided one by one in `calls`. */
      decision: z.enum(['approved', 'denied']).optional(),
      reason: text.optional(),
      /** An edit of the one approved call: replaces the arguments that the model wrote. */
      arguments: text.optional(),
      calls: calls(CallDecision),
      resolvedAt: Instant.optional(),
      metadata: jsonObject.optional(),
    })
    .refine((one) => (one.decision === undefined) !== (one.calls === undefined), {
      path: ['decision'],
      message: 'or calls must be given, and only one of them',
    })
    .refine((one) => one.arguments === undefined || one.decision === 'approved', {
      path: ['arguments'],
      message: 'belong to an approved call',
    }),
  z
    .strictObject({
      type: z.literal('external_result'),
      operationId: id,
      payload: json.optional(),
      calls: calls(CallOutcome),
      resolvedAt: Instant.optional(),
    })
    .refine((one) => one.payload === undefined || one.calls === undefined, {
      path: ['payload'],
      message: 'and calls exclude each other',
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
  /** What its sender was allowed to do then; asked again when the turn starts. */
  permissions: z.array(Permission).optional(),
  /** Identity of a message without an id, the same for its update and its signal. */
  updateId: id,
});
export type Stamp = z.infer<typeof Stamp>;
