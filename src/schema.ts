/**
 * The contract of API, database JSON and tests: zod schemas and the types inferred from them. Names are those of source 002.
 * Times are ISO 8601 UTC with milliseconds; durations are milliseconds. Rules live in `continuation.ts`, not here.
 */

export {
  CallDecision,
  CallOutcome,
  CallVerdict,
  PendingCall,
  type StatedVerdict,
} from './schema/calls.ts';
export {
  type CreateContinuationInput,
  CreateInput,
  type ExtendContinuationInput,
  ExtendInput,
  type ReconcileContinuationInput,
  ReconcileInput,
  type ResumeContinuationInput,
  ResumeInput,
  type StopContinuationInput,
  StopInput,
} from './schema/input.ts';
export { Message, Permission, ResumeTrigger, Stamp, Trigger, WaitCondition, WaitType } from './schema/message.ts';
export { ContentRef, ContinuationId, Instant, MAX_METADATA_BYTES, Scope } from './schema/primitives.ts';
export {
  Answer,
  type Cause,
  ContinuationRecord,
  type ContinuationStatus,
  type FinalDeliveryStatus,
  MAX_RECORD_BYTES,
  type PendingRecord,
  Reconciliation,
  type Resume,
  type ResumingRecord,
  TerminalReason,
  type TerminalRecord,
  Uncertain,
  type Winner,
} from './schema/record.ts';
export { type Refusal, RefusalCode, type Refused } from './schema/refusal.ts';
export {
  type AskedCall,
  DeliveryResult,
  HarnessResult,
  type HarnessResultInput,
  isExactState,
  type ResumableOutcome,
  type ResumableResult,
} from './schema/result.ts';
export { Bounds, MAX_RESUME_ATTEMPTS } from './schema/terms.ts';
