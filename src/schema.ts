/**
 * The contract of API, database JSON and tests: zod schemas and the types inferred from them. Names are those of source 002.
 * Times are ISO 8601 UTC with milliseconds; durations are milliseconds. Rules live in `continuation.ts`, not here.
 */
import { z } from 'zod';
import { type Fault, type Json, jsonFault, textFault, unicodeFault, utf8Length } from './json.ts';

export const SCHEMA_VERSION = 1;
/** Largest metadata of a record, encoded (C12). */
export const MAX_METADATA_BYTES = 16 * 1024;
/** Largest record, encoded (C12). */
export const MAX_RECORD_BYTES = 64 * 1024;
/** Every accepted answer leaves a summary in the record, so their number bounds its size (C12). */
export const MAX_RESUME_ATTEMPTS = 64;
const MAX_DURATION_MS = 100 * 365 * 24 * 3_600_000;

const storable = (text: string, context: z.RefinementCtx): void => {
  const fault = textFault(text);
  if (fault) context.addIssue({ code: 'custom', message: fault });
};
/** Text that PostgreSQL can store. */
const text = z.string().superRefine(storable);
const id = z.string().min(1, 'must not be empty').max(128, 'must be at most 128 characters').superRefine(storable);
const mediaType = z.string().min(1).max(255).superRefine(storable);
const json = z
  .custom<Json>((value) => value !== undefined)
  .superRefine((value, context) => {
    const fault = jsonFault(value);
    if (fault) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message });
  });
const jsonObject = z
  .record(z.string(), z.unknown())
  .superRefine((value, context) => {
    const fault = jsonFault(value);
    if (fault) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message });
  })
  .transform((value) => value as { [key: string]: Json });
const metadata = jsonObject.refine(
  (value) => utf8Length(JSON.stringify(value)) <= MAX_METADATA_BYTES,
  `must be at most ${MAX_METADATA_BYTES} bytes encoded`,
);
const duration = z.int().min(1).max(MAX_DURATION_MS);

/** An instant: any ISO 8601 text with an offset, or a Date; comes out as UTC with milliseconds. */
export const Instant = z
  .union([
    z.iso.datetime({ offset: true, error: 'must be an ISO 8601 time with an offset, such as 2026-12-02T09:30:00Z' }),
    z.date(),
  ])
  .transform((value) => new Date(value).toISOString())
  .refine((value) => /^\d/.test(value), 'must lie in the years 0000 to 9999 of UTC');

export const Scope = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]*=[A-Za-z0-9._~-]{1,64}(\/[a-z][a-z0-9_-]*=[A-Za-z0-9._~-]{1,64}){0,7}$/,
    'must be up to 8 levels key=value joined by "/", such as tenant=acme/workspace=w1',
  );
export const ContinuationId = z.string().regex(/^cont_[0-9A-HJKMNP-TV-Z]{26}$/, 'must be cont_ and a ULID');
const Digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hex digits')
  .transform((value) => value as `sha256:${string}`);

/** Bytes stored once under scope and digest. */
export const ContentRef = z.strictObject({ digest: Digest, bytes: z.int().min(0), mediaType });
export type ContentRef = z.infer<typeof ContentRef>;

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
export const UserMessage = z.strictObject({
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
export type ResumeTrigger = Trigger | { type: 'no_answer'; firedAt: string };
const ResumeTrigger = z.union([Trigger, z.strictObject({ type: z.literal('no_answer'), firedAt: Instant })]);

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

/** A model's tool call that waits for a decision; `arguments` is the model's text, verbatim. */
export const PendingCall = z.strictObject({
  id,
  name: id,
  arguments: z.union([text, ContentRef]),
  argumentsDigest: Digest,
  replyWith: id.optional(),
});
export type PendingCall = z.infer<typeof PendingCall>;

export const Suspension = z.strictObject({
  id,
  question: text,
  /** The whole question, when it is longer than what `question` holds. */
  questionRef: ContentRef.optional(),
  pending: z.array(PendingCall),
  state: ContentRef,
  digest: Digest,
  createdAt: Instant,
});
export type Suspension = z.infer<typeof Suspension>;

export const AnswerInput = z.union([z.strictObject({ trigger: ResumeTrigger }), z.strictObject({ ref: ContentRef })]);
export type AnswerInput = z.infer<typeof AnswerInput>;

/** One accepted answer: who decided what, when and by which channel (C1). `input` stays only while it is being carried out. */
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
  metadata: metadata.optional(),
});
export type Answer = z.infer<typeof Answer>;
/** An answer as others are told about it. */
export type Winner = Omit<Answer, 'input' | 'metadata'>;

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
  surfaceIds: z.array(id).optional(),
  fanoutMode: z.enum(['originating_surface', 'attached_surfaces', 'product_defined']).optional(),
  suppressIfSessionReengaged: z.boolean().optional(),
});
export type DeliveryTarget = z.infer<typeof DeliveryTarget>;

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
});
export type Uncertain = z.infer<typeof Uncertain>;
const Resume = z.strictObject({
  turnId: id,
  attempt: z.int().min(1),
  startedAt: Instant.optional(),
  /** How the turn ended; set while its follow-up is being delivered, and kept. */
  outcome: z.enum(['completed', 'failed']).optional(),
  /** The turn's outcome is unknown: a question to an operator (C8). */
  uncertain: Uncertain.optional(),
  error: Cause.optional(),
});
export type Resume = z.infer<typeof Resume>;

const Outcome = z.enum(['needs_clarification', 'awaiting_approval', 'deferred']);
export type ResumableOutcome = z.infer<typeof Outcome>;
const HarnessContinuationFields = {
  /** By default the turn's id and the type. */
  id: z.string().min(1, 'must not be empty').max(256, 'must be at most 256 characters').superRefine(storable),
  type: z.enum(['clarification', 'approval', 'deferred']),
  createdAt: Instant,
  turnId: id,
  sessionId: id.optional(),
  resumeToken: text,
  metadata: metadata.optional(),
};

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

export const RefusalCode = z.enum([
  'not_found',
  'not_authorized',
  'invalid_input',
  'too_large',
  'message_conflict',
  'already_terminal',
  'already_resumed',
  'expired',
  'suspension_required',
  'stale_suspension',
  'digest_mismatch',
  'wrong_trigger',
  'wrong_correlation',
  'calls_mismatch',
  'attempts_exhausted',
  'ambiguous_session',
  'create_conflict',
]);
export type RefusalCode = z.infer<typeof RefusalCode>;

/** Why something was not done; nothing was changed by it (C2). */
export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  readonly path?: string;
  /** Who won the suspension that this answer was for (C1). */
  readonly winner?: Winner;
  /** The status that stands in the way. */
  readonly status?: ContinuationStatus;
}
export type Refused = { readonly ok: false; readonly refusal: Refusal };
