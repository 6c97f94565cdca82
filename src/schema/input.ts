/** What callers give to the client. */
import { z } from 'zod';
import { Message } from './message.ts';
import { Digest, Instant, id, json, metadata, Scope, text } from './primitives.ts';
import { Reconciliation, TerminalReason } from './record.ts';
import { HarnessResult } from './result.ts';
import { Bounds, DeliveryTarget } from './terms.ts';

const { expiresAt, neverExpires, ...limits } = Bounds.omit({ resumeAttempts: true, extensions: true }).partial().shape;
/** Input of `create` (002 `CreateContinuationInput` and our additions). */
export const CreateInput = z.strictObject({
  assistantId: id,
  scope: Scope.optional(),
  sessionId: id.optional(),
  threadId: id.optional(),
  userId: id.optional(),
  originTurnId: id,
  /** Default: `originTurnId`. Unique per scope and assistant. */
  idempotencyKey: id.optional(),
  harnessResult: HarnessResult,
  /** Where the follow-up goes; `false`: there is none to deliver. */
  delivery: z.union([DeliveryTarget, z.literal(false)]).optional(),
  bounds: z
    .strictObject({ ...limits, expiresAt, neverExpires, resumeAttempts: z.int().min(0).optional() })
    .refine((b) => !(b.expiresAt && b.neverExpires), {
      path: ['expiresAt'],
      message: 'and neverExpires exclude each other',
    })
    .optional(),
  /** Stop what still waits in this session (needs `sessionId`). */
  supersede: z.boolean().optional(),
  metadata: metadata.optional(),
});
export type CreateInput = z.infer<typeof CreateInput>;
export type CreateContinuationInput = z.input<typeof CreateInput>;

/** Input of `resume`: a message and the continuation it answers. */
export const ResumeInput = z.strictObject({ continuationId: z.string(), ...Message.shape });
export type ResumeContinuationInput = z.input<typeof ResumeInput>;

export const StopInput = z.strictObject({
  continuationId: z.string(),
  reason: TerminalReason,
  metadata: metadata.optional(),
});
export type StopContinuationInput = z.input<typeof StopInput>;

export const ExtendInput = z.strictObject({ continuationId: z.string(), expiresAt: Instant });
export type ExtendContinuationInput = z.input<typeof ExtendInput>;

/** Input of `reconcile`: how an unknown outcome is decided, and on what proof (001 `ResumeClosure`). */
export const ReconcileInput = z
  .strictObject({
    continuationId: z.string(),
    /** Which execution: `record.resume` while its outcome is unknown. */
    turnId: id,
    attempt: z.int().min(1),
    action: Reconciliation.shape.action,
    /** With `happened`: what the turn came to. */
    result: HarnessResult.optional(),
    /** Only this effect is decided (its key is in `executions`): the turn goes on, and what else is unknown is asked about again. */
    effect: Reconciliation.shape.effect,
    /** With `happened` and `effect`: what the effect came to. */
    value: json.optional(),
    issuer: id.optional(),
    /** Where the proof is kept, and its digest. */
    proof: z.strictObject({ ref: text.min(1), digest: Digest }),
    /** When it was seen that this is so, and until when that may be relied on. */
    observedAt: Instant,
    expiresAt: Instant.optional(),
  })
  .superRefine((input, context) => {
    const wrong = whyInconsistent(input);
    if (wrong) context.addIssue({ code: 'custom', path: [wrong[0]], message: wrong[1] });
  });
export type ReconcileInput = z.infer<typeof ReconcileInput>;
export type ReconcileContinuationInput = z.input<typeof ReconcileInput>;

interface Decision {
  readonly action: Reconciliation['action'];
  readonly effect?: string | undefined;
  readonly result?: unknown;
  readonly value?: unknown;
}
function whyInconsistent({ action, effect, result, value }: Decision): [path: string, message: string] | undefined {
  const alike = (given: unknown) => (action === 'happened') === (given !== undefined);
  const must = 'must be given with the action happened, and only with it';
  if (effect === undefined) {
    if (value !== undefined) return ['value', 'is that of an effect, which is not named'];
    return alike(result) ? undefined : ['result', must];
  }
  if (result !== undefined) return ['result', 'is that of a whole turn, not of an effect'];
  if (action === 'close_incomplete') return ['effect', 'cannot be closed by itself'];
  return alike(value) ? undefined : ['value', must];
}
