/** How a bounded turn ended, and what became of its follow-up (002 `HarnessResult`, `ContinuationDeliveryResult`). */
import { z } from 'zod';
import { type Fault, jsonFault, unicodeFault } from '../json.ts';
import { MAX_PENDING_CALLS } from './calls.ts';
import { WaitType } from './message.ts';
import { Instant, id, json, jsonObject, mediaType, metadata, storable, text } from './primitives.ts';

export const Outcome = z.enum(['needs_clarification', 'awaiting_approval', 'deferred']);
export type ResumableOutcome = z.infer<typeof Outcome>;
export const HarnessContinuationFields = {
  /** By default the turn's id and the type. */
  id: z.string().min(1, 'must not be empty').max(256, 'must be at most 256 characters').superRefine(storable),
  type: z.enum(['clarification', 'approval', 'deferred']),
  createdAt: Instant,
  turnId: id,
  sessionId: id.optional(),
  resumeToken: text,
  metadata: metadata.optional(),
};

/** State that is kept byte for byte under a media type of its own. */
export type ExactState = { text: string; mediaType: string } | { bytes: Uint8Array; mediaType: string };
export function isExactState(state: unknown): state is ExactState {
  if (typeof state !== 'object' || state === null || !('mediaType' in state)) return false;
  if (Object.keys(state).length !== 2) return false;
  return ('text' in state && typeof state.text === 'string') || ('bytes' in state && state.bytes instanceof Uint8Array);
}

function stateFault(state: unknown): Fault | undefined {
  if (state === undefined) return { path: [], message: 'is missing' };
  if (!isExactState(state)) return jsonFault(state, false);
  const issue = mediaType.safeParse(state.mediaType).error?.issues[0];
  if (issue) return { path: ['mediaType'], message: issue.message };
  const message = 'text' in state ? unicodeFault(state.text) : undefined;
  return message === undefined ? undefined : { path: ['text'], message };
}

/** The harness's own state: a JSON value, or exact text or bytes with their media type. */
const State = z.unknown().superRefine((state, context) => {
  const fault = stateFault(state);
  if (fault) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message });
});

/** A tool call that the turn stopped for; `arguments` is the model's text, verbatim, or a JSON value. */
const AskedCall = z.strictObject({
  id,
  name: id,
  arguments: json,
  /** What it waits for; all calls of one pause wait for the same. */
  reason: WaitType.optional(),
  replyWith: id.optional(),
});
export type AskedCall = z.infer<typeof AskedCall>;

const assistantMessage = z.strictObject({ text, format: id.optional() });
const resultBase = {
  /** Given back as it came; our id of a resumed turn is the one it was run with. */
  turnId: id.optional(),
  sessionId: id.optional(),
  stopReason: z.string().min(1).max(128).superRefine(storable).optional(),
  assistantMessage: assistantMessage.optional(),
  traceSummary: jsonObject.optional(),
  usage: jsonObject.optional(),
  metadata: metadata.optional(),
};
const resumable = <O extends string>(outcome: O) =>
  z.object({
    ...resultBase,
    outcome: z.literal(outcome),
    continuation: z.object({
      ...z.object(HarnessContinuationFields).partial().shape,
      /** The calls that wait, in the model's order; default: the one of `state.request` (002). */
      pending: z.array(AskedCall).max(MAX_PENDING_CALLS).optional(),
      state: State,
    }),
  });
const terminal = <O extends string>(outcome: O) => z.object({ ...resultBase, outcome: z.literal(outcome) });

/** How a bounded turn ended (002 `HarnessResult`). Only the first three outcomes pause; they need a `continuation`. */
export const HarnessResult = z.discriminatedUnion('outcome', [
  resumable('needs_clarification'),
  resumable('awaiting_approval'),
  resumable('deferred'),
  terminal('completed'),
  terminal('failed'),
]);
export type HarnessResult = z.infer<typeof HarnessResult>;
/** What a harness may return: a `HarnessResult` before its times are normalised. */
export type HarnessResultInput = z.input<typeof HarnessResult>;
export type ResumableResult = Extract<HarnessResult, { continuation: unknown }>;

/** What a delivery adapter reports (002). */
export const DeliveryResult = z.strictObject({
  status: z.enum([
    'delivered',
    'suppressed_session_reengaged',
    'suppressed_superseded',
    'suppressed_expired',
    'delivery_failed',
  ]),
  deliveredAt: Instant.optional(),
  error: text.optional(),
  metadata: metadata.optional(),
});
export type DeliveryResult = z.infer<typeof DeliveryResult>;
