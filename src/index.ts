/**
 * Durable continuations for agent turns, on Temporal.
 *
 *     const client = createClient({ connection, store });
 *     const { record } = await client.create({ assistantId, originTurnId, harnessResult });
 *     await client.resume({ continuationId: record.id, trigger: { type: 'user_reply', message: { text: 'Yes' } } });
 */

export type { ApiKey, ContinuationEvent, Keys, Outbox, OutboxEntry } from './access-ports.ts';
export type { Caller } from './caller.ts';
export { type ContinuationClient, createClient } from './client.ts';
export type { ContinuationClientOptions } from './client-options.ts';
export type { CreateResult } from './creating.ts';
export { type DecidedCall, verifyDecision } from './decision.ts';
export { outboxDelivery } from './delivery/outbox.ts';
export { type WebhookOptions, webhookDelivery } from './delivery/webhook.ts';
export type { OutgoingMessage } from './delivery/wire.ts';
export { ContinuationError, type ErrorCode, isContinuationError, OutcomeUnknown, TransientError } from './errors.ts';
export type { EventsInput } from './feed.ts';
export { type HttpHarnessOptions, httpHarness } from './harness/http.ts';
export { createKey, keyPolicy, type NewKey } from './keys.ts';
export type { ManageResult } from './managing.ts';
export { type Action, type Authorization, type Policy, permissionPolicy } from './policy.ts';
export type {
  Delivery,
  DeliveryInput,
  Execution,
  Harness,
  ListQuery,
  MalformedRow,
  Page,
  Receipt,
  ResumedTurn,
  StateKind,
  Store,
  Trace,
  TraceEvent,
} from './ports.ts';
export type { Admission, AdmissionPage, ContinuationView, GetInput, WatchInput } from './reading.ts';
export type { ReconcileResult } from './reconciling.ts';
export type { ResumeBySessionInput, ResumeOptions, ResumeResult } from './resuming.ts';
export type {
  ContinuationRecord,
  ContinuationStatus,
  CreateContinuationInput,
  DeliveryResult,
  ExtendContinuationInput,
  HarnessResult,
  HarnessResultInput,
  Permission,
  ReconcileContinuationInput,
  Refusal,
  RefusalCode,
  Refused,
  ResumeContinuationInput,
  ResumeTrigger,
  StopContinuationInput,
  TerminalReason,
  Trigger,
  WaitCondition,
  WaitType,
  Winner,
} from './schema.ts';
export { ensureSearchAttributes } from './search-attributes.ts';
export { migrate } from './store/migrate.ts';
export { createStore, type StoreOptions } from './store/store.ts';
export type { TakeResult } from './taking.ts';
export { exportReceipts, type Verification, verifyReceipts } from './verify.ts';
export { bundleWorkflows, type ContinuationWorkerOptions, createWorker } from './worker.ts';
