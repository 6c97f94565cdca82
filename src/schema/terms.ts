/** The terms of a continuation, set when it is created: its bounds, and where its follow-up goes. */
import { z } from 'zod';
import { WaitType } from './message.ts';
import { ContinuationId, duration, Instant, id } from './primitives.ts';

/** Every accepted answer leaves a summary in the record, so their number bounds its size (C12). */
export const MAX_RESUME_ATTEMPTS = 64;

const ttl = z.partialRecord(WaitType, duration);
export const Bounds = z.strictObject({
  expiresAt: Instant.optional(),
  neverExpires: z.literal(true).optional(),
  maxResumeAttempts: z.int().min(1).max(MAX_RESUME_ATTEMPTS),
  resumeAttempts: z.int().min(0),
  startWithinMs: duration.optional(),
  onExpiry: z.enum(['expire', 'resume']),
  onDenied: z.enum(['stop', 'tell_model']),
  onExhausted: z.enum(['fail', 'hold']),
  resumeBudgetMs: duration,
  turnTimeoutMs: duration,
  deliveryBudgetMs: duration,
  ttl: ttl.optional(),
  extensions: z.int().min(0),
});
export type Bounds = z.infer<typeof Bounds>;

export const DeliveryTarget = z.strictObject({
  /** The continuation that asked: the follow-up is its answer, and goes nowhere else (001). */
  replyTo: z.strictObject({ continuationId: ContinuationId, replyWith: id }).optional(),
  surfaceIds: z.array(id).optional(),
  fanoutMode: z.enum(['originating_surface', 'attached_surfaces', 'product_defined']).optional(),
  suppressIfSessionReengaged: z.boolean().optional(),
});
export type DeliveryTarget = z.infer<typeof DeliveryTarget>;
