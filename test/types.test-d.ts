/** Impossible states do not type-check. The compiler reads this file (`npm run types`); nothing here runs. */
import { expectTypeOf } from 'vitest';
import type { Step } from '../src/events.ts';
import type {
  ContinuationRecord,
  CreateContinuationInput,
  HarnessResultInput,
  PendingRecord,
  ResumingRecord,
  TerminalReason,
  TerminalRecord,
  Trigger,
  WaitCondition,
  Winner,
} from '../src/schema.ts';

declare const pending: PendingRecord;
declare const resuming: ResumingRecord;
declare const record: ContinuationRecord;
type OfStatus<S extends ContinuationRecord['status']> = Extract<ContinuationRecord, { status: S }>;

// A record in one of its states has what belongs to that state, and nothing else.
expectTypeOf(pending.terminalReason).toEqualTypeOf<undefined>();
expectTypeOf(pending.resume).toEqualTypeOf<undefined>();
expectTypeOf(pending.delivery.status).toEqualTypeOf<'not_applicable' | 'pending_delivery'>();
expectTypeOf(resuming.resume).not.toEqualTypeOf<undefined>();
expectTypeOf(resuming.terminalReason).toEqualTypeOf<undefined>();
expectTypeOf<OfStatus<'expired'>['terminalReason']>().toEqualTypeOf<'expired_ttl'>();
expectTypeOf<OfStatus<'completed'>['terminalReason']>().toEqualTypeOf<'completed'>();
expectTypeOf<OfStatus<'superseded'>['terminalReason']>().toEqualTypeOf<'superseded_by_newer_turn'>();
expectTypeOf<TerminalRecord['terminalReason']>().toEqualTypeOf<TerminalReason>();
expectTypeOf<Extract<TerminalRecord['delivery']['status'], 'pending_delivery'>>().toBeNever();
expectTypeOf<PendingRecord | ResumingRecord | TerminalRecord>().toEqualTypeOf<ContinuationRecord>();

/** A pending record with other members. */
type With<C> = Omit<PendingRecord, keyof C> & C;
type Delivery<S> = { status: S };
expectTypeOf<With<{ terminalReason: 'completed' }>>().not.toExtend<ContinuationRecord>();
expectTypeOf<With<{ resume: ResumingRecord['resume'] }>>().not.toExtend<ContinuationRecord>();
expectTypeOf<With<{ delivery: Delivery<'delivered'> }>>().not.toExtend<ContinuationRecord>();
expectTypeOf<With<{ status: 'resuming' }>>().not.toExtend<ContinuationRecord>();
// An end has a reason, the one of its status, and no follow-up to deliver.
type Ended<S, R, D> = With<{ status: S; terminalReason: R; delivery: Delivery<D> }>;
expectTypeOf<Ended<'expired', 'expired_ttl', 'suppressed_expired'>>().toExtend<ContinuationRecord>();
expectTypeOf<Ended<'expired', undefined, 'suppressed_expired'>>().not.toExtend<ContinuationRecord>();
expectTypeOf<Ended<'expired', 'completed', 'suppressed_expired'>>().not.toExtend<ContinuationRecord>();
expectTypeOf<Ended<'expired', 'expired_ttl', 'pending_delivery'>>().not.toExtend<ContinuationRecord>();

// The status tells what there is.
if (record.status === 'resuming') expectTypeOf(record.resume.turnId).toEqualTypeOf<string>();
if (record.status === 'failed') expectTypeOf<'approval_denied'>().not.toExtend<typeof record.terminalReason>();

// A wait needs what ties an answer to it; "no answer" cannot be sent.
// @ts-expect-error an approval needs its id
({ type: 'approval_resolution' }) satisfies WaitCondition;
// @ts-expect-error a reply has no approval id
({ type: 'user_reply', approvalId: 'a' }) satisfies WaitCondition;
({ type: 'user_reply' }) satisfies WaitCondition;
expectTypeOf<Extract<Trigger['type'], 'no_answer'>>().toBeNever();
expectTypeOf<WaitCondition['type']>().toEqualTypeOf<Trigger['type']>();

// A pause needs a continuation with state; what is finished needs none.
// @ts-expect-error a pause without a continuation
({ outcome: 'deferred' }) satisfies HarnessResultInput;
({ outcome: 'completed' }) satisfies HarnessResultInput;
({ assistantId: 'a', originTurnId: 't', harnessResult: { outcome: 'failed' } }) satisfies CreateContinuationInput;

// What others are told of a winner has neither input nor metadata.
expectTypeOf<Extract<keyof Winner, 'input' | 'metadata'>>().toBeNever();

// A step is one of three things, told apart without a cast.
declare const result: Step;
if (result.ok) expectTypeOf(result.record).toEqualTypeOf<ContinuationRecord>();
else if (result.refusal) expectTypeOf(result.refusal.winner).toEqualTypeOf<Winner | undefined>();
else expectTypeOf(result.repeated).toEqualTypeOf<Winner>();
