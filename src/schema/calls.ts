/** Tool calls that wait for a decision, and what is decided about them. One answer decides every call of a pause. */
import { z } from 'zod';
import { ContentRef, Digest, id, json, text } from './primitives.ts';

/** Most calls that one pause holds: their summary is part of the record (C12). */
export const MAX_PENDING_CALLS = 32;

/** A model's tool call that waits for a decision; `arguments` is the model's text, verbatim. */
export const PendingCall = z.strictObject({
  id,
  name: id,
  arguments: z.union([text, ContentRef]),
  argumentsDigest: Digest,
  replyWith: id.optional(),
});
export type PendingCall = z.infer<typeof PendingCall>;

const call = {
  callId: id,
  /** Digest of the arguments that the answerer saw; another one than the call's is refused. */
  argumentsDigest: Digest.optional(),
};
/** What a person decides about one call; `arguments` is an edit that replaces what the model wrote. */
export const CallDecision = z.discriminatedUnion('decision', [
  z.strictObject({ ...call, decision: z.literal('approved'), arguments: text.optional() }),
  z.strictObject({ ...call, decision: z.literal('denied'), reason: text.optional() }),
]);
export type CallDecision = z.infer<typeof CallDecision>;
/** What came of one call outside; `execute` asks the harness to run it after all. */
export const CallOutcome = z.union([
  z.strictObject({ ...call, result: json }),
  z.strictObject({ ...call, error: text.min(1) }),
  z.strictObject({ ...call, execute: z.literal(true) }),
]);

export type CallOutcome = z.infer<typeof CallOutcome>;

/** What was decided about one call, as the record keeps it; `editedDigest` is that of the arguments that replace the model's. */
export const CallVerdict = z.strictObject({
  id,
  decision: z.enum(['approved', 'denied', 'result', 'error', 'execute']),
  editedDigest: Digest.optional(),
});
export type CallVerdict = z.infer<typeof CallVerdict>;
/** A verdict as an answer states it, with the arguments that its sender saw; without an id it is about the one call that waits. */
export type StatedVerdict = Omit<CallVerdict, 'id'> & { id?: string; argumentsDigest?: `sha256:${string}` | undefined };
