/** The durable record of one continuation. */
import { z } from 'zod';
import { CallVerdict, MAX_PENDING_CALLS, PendingCall } from './calls.ts';
import { Permission, ResumeTrigger, WaitCondition, WaitType } from './message.ts';
import { ContentRef, ContinuationId, Digest, Instant, id, jsonObject, metadata, Scope, text } from './primitives.ts';
import { HarnessContinuationFields, Outcome } from './result.ts';
import { Bounds, DeliveryTarget } from './terms.ts';

const SCHEMA_VERSION = 1;
/** Largest record, encoded (C12). */
export const MAX_RECORD_BYTES = 64 * 1024;

const Suspension = z.strictObject({
  id,
  question: text,
  /** The whole question, when it is longer than what `question` holds. */
  questionRef: ContentRef.optional(),
  pending: z.array(PendingCall).max(MAX_PENDING_CALLS),
  state: ContentRef,
  digest: Digest,
  createdAt: Instant,
});

const AnswerInput = z.union([z.strictObject({ trigger: ResumeTrigger }), z.strictObject({ ref: ContentRef })]);

/** One accepted answer: who decided what, when and by which channel (C1). Only the last one keeps what it said. */
export const Answer = z.strictObject({
  messageId: id,
  contentDigest: Digest,
  suspensionId: id,
  type: z.union([WaitType, z.literal('no_answer')]),
  decision: id.optional(),
  subject: id,
  verified: z.boolean(),
  channel: id,
  receivedAt: Instant,
  acceptedAt: Instant,
  input: AnswerInput.optional(),
  /** What was decided about each pending call. */
  calls: z.array(CallVerdict).optional(),
  /** What the sender was allowed to do. */
  permissions: z.array(Permission).optional(),
  metadata: metadata.optional(),
});
export type Answer = z.infer<typeof Answer>;
/** An answer as others are told about it. */
export type Winner = Omit<Answer, 'input' | 'calls' | 'permissions' | 'metadata'>;

const finalDelivery = z.enum([
  'not_applicable',
  'delivered',
  'suppressed_session_reengaged',
  'suppressed_superseded',
  'suppressed_expired',
  'delivery_failed',
]);
export type FinalDeliveryStatus = z.infer<typeof finalDelivery>;
const delivery = <S extends z.ZodType>(status: S) =>
  z.strictObject({
    status,
    target: DeliveryTarget.optional(),
    lastDeliveryAttemptAt: Instant.optional(),
    deliveredAt: Instant.optional(),
    /** A delivery that started and has no recorded end: it may have arrived (C7). */
    uncertain: z.boolean().optional(),
    error: text.optional(),
    metadata: jsonObject.optional(),
  });

const Cause = z.strictObject({ code: id, message: text });
export type Cause = z.infer<typeof Cause>;
export const Uncertain = z.strictObject({
  cause: z.enum(['lost', 'unknown', 'exhausted']),
  at: Instant,
  message: text,
  /** Who ran it, and when that was last heard of. */
  worker: text.optional(),
  lastHeartbeatAt: Instant.optional(),
});
export type Uncertain = z.infer<typeof Uncertain>;
/** How an operator decided an unknown outcome, on what proof (001 `ResumeClosure`). */
export const Reconciliation = z.strictObject({
  action: z.enum(['happened', 'did_not_happen', 'close_incomplete']),
  /** It was decided about this effect alone. */
  effect: text.min(1).max(1024).optional(),
  /** Digest of the whole request: the same again is a repeat. */
  requestDigest: Digest,
  actor: id,
  verified: z.boolean(),
  channel: id,
  issuer: id.optional(),
  proof: z.strictObject({ ref: text, digest: Digest }),
  observedAt: Instant,
  expiresAt: Instant.optional(),
  at: Instant,
});
export type Reconciliation = z.infer<typeof Reconciliation>;

const Resume = z.strictObject({
  turnId: id,
  attempt: z.int().min(1),
  startedAt: Instant.optional(),
  /** How the turn ended; set while its follow-up is being delivered, and kept. */
  outcome: z.enum(['completed', 'failed']).optional(),
  /** The turn's outcome is unknown: a question to an operator (C8). */
  uncertain: Uncertain.optional(),
  /** How its last unknown outcome was decided. */
  reconciled: Reconciliation.optional(),
  error: Cause.optional(),
});
export type Resume = z.infer<typeof Resume>;

const base = {
  schemaVersion: z.literal(SCHEMA_VERSION),
  id: ContinuationId,
  scope: Scope,
  revision: z.int().min(1),
  assistantId: id,
  sessionId: id.optional(),
  threadId: id.optional(),
  userId: id.optional(),
  idempotencyKey: id,
  /** The turn that stopped last. */
  origin: z.strictObject({ turnId: id, outcome: Outcome, stopReason: text, createdAt: Instant }),
  /** Ids of all turns, oldest first. */
  lineage: z.array(id).min(1),
  waitFor: WaitCondition,
  continuation: z.strictObject(HarnessContinuationFields),
  suspension: Suspension,
  bounds: Bounds,
  answers: z.array(Answer),
  createdAt: Instant,
  updatedAt: Instant,
  lastResumedAt: Instant.optional(),
  metadata: metadata.optional(),
  supersededBy: ContinuationId.optional(),
};
const ended = {
  ...base,
  delivery: delivery(finalDelivery),
  resume: Resume.optional(),
  /** Why it was ended from outside its own rules, such as a workflow that was terminated. */
  error: Cause.optional(),
};
const absent = z.undefined().optional();
const open = { ...base, delivery: delivery(z.enum(['not_applicable', 'pending_delivery'])), terminalReason: absent };

const byStatus = z.discriminatedUnion('status', [
  z.strictObject({ ...open, status: z.literal('pending'), resume: absent }),
  z.strictObject({ ...open, status: z.literal('resuming'), resume: Resume }),
  z.strictObject({ ...ended, status: z.literal('completed'), terminalReason: z.literal('completed') }),
  z.strictObject({
    ...ended,
    status: z.literal('cancelled'),
    terminalReason: z.enum(['cancelled_by_user', 'cancelled_by_product', 'approval_denied']),
  }),
  z.strictObject({ ...ended, status: z.literal('expired'), terminalReason: z.literal('expired_ttl') }),
  z.strictObject({ ...ended, status: z.literal('superseded'), terminalReason: z.literal('superseded_by_newer_turn') }),
  z.strictObject({
    ...ended,
    status: z.literal('failed'),
    terminalReason: z.enum([
      'invalid_resume_trigger',
      'max_resume_attempts_reached',
      'resume_runtime_error',
      'delivery_failed',
      'session_no_longer_deliverable',
    ]),
  }),
]);

/** The durable record of one continuation (002 `ContinuationRecord`). An impossible state does not parse. */
export const ContinuationRecord = byStatus.superRefine((record, context) => {
  const issue = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const { bounds, answers } = record;
  if ((bounds.expiresAt === undefined) !== (bounds.neverExpires === true)) {
    issue(['bounds', 'expiresAt'], 'must be absent exactly when neverExpires is true');
  }
  if (bounds.resumeAttempts > bounds.maxResumeAttempts)
    issue(['bounds', 'resumeAttempts'], 'exceeds maxResumeAttempts');
  if (record.status === 'resuming' && answers.at(-1)?.input === undefined)
    issue(['answers'], 'must end with the answer being carried out');
});
export type ContinuationRecord = z.infer<typeof byStatus>;
export type ContinuationStatus = ContinuationRecord['status'];
export type PendingRecord = Extract<ContinuationRecord, { status: 'pending' }>;
export type ResumingRecord = Extract<ContinuationRecord, { status: 'resuming' }>;
export type TerminalRecord = Exclude<ContinuationRecord, PendingRecord | ResumingRecord>;
export const TerminalReason = z.enum([
  'completed',
  'cancelled_by_user',
  'cancelled_by_product',
  'expired_ttl',
  'superseded_by_newer_turn',
  'approval_denied',
  'invalid_resume_trigger',
  'max_resume_attempts_reached',
  'resume_runtime_error',
  'delivery_failed',
  'session_no_longer_deliverable',
]) satisfies z.ZodType<TerminalRecord['terminalReason']>;
export type TerminalReason = z.infer<typeof TerminalReason>;
