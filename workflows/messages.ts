/** Updates, signals and queries of a continuation. Their wire names are fixed: other languages and people use them. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { SignedMessage } from '../src/message.ts';
import type {
  ContentRef,
  ContinuationRecord,
  Reconciliation,
  Refusal,
  Stamp,
  TerminalReason,
  WaitType,
  Winner,
} from '../src/schema.ts';

export const CONTINUATION_TYPE = 'continuation';
export const MAINTENANCE_TYPE = 'continuationMaintenance';

/** Input of the workflow. The question comes first because the UI's landing page shows the beginning of the input. */
export interface ContinuationStart {
  readonly question: string;
  readonly record: ContinuationRecord;
  readonly receiptsHead: string;
  readonly options: ContinuationOptions;
}
export interface ContinuationOptions {
  /** The start carried search attributes, so they may be upserted: an unregistered one would fail every task. */
  readonly attributes: boolean;
  /** Tell about the first question too: whoever created it may have shown it already. */
  readonly announce: boolean;
  /** Accept messages that our client did not stamp (Temporal UI, CLI). No security boundary. */
  readonly directMessages: boolean;
  /** Task queue of `runTurn`; default: the workflow's. */
  readonly turnTaskQueue?: string;
  /** A worker that is silent for this long has lost its turn. */
  readonly heartbeatTimeoutMs: number;
}

/** Result of the workflow: explains itself in the UI. */
export interface ContinuationOutcome {
  readonly status: ContinuationRecord['status'];
  readonly reason?: TerminalReason;
  readonly decision?: string;
  readonly answeredBy?: string;
  readonly answeredAt?: string;
  readonly delivery: ContinuationRecord['delivery']['status'];
  readonly receiptsHead: string;
  readonly refusedSignals?: readonly RefusedSignal[];
}
export interface RefusedSignal {
  readonly signal: string;
  readonly at: string;
  readonly messageId?: string;
  readonly refusal: Refusal;
}
export interface ContinuationStatusView {
  readonly status: ContinuationRecord['status'];
  readonly question: string;
  readonly waitFor: ContinuationRecord['waitFor'];
  readonly expiresAt?: string;
  readonly refusedSignals: readonly RefusedSignal[];
}
/** Result of an accepted answer. */
export interface Accepted {
  readonly outcome: 'accepted';
  readonly answer: Winner;
  readonly record: ContinuationRecord;
}
export interface StopRequest {
  readonly reason: TerminalReason;
  readonly metadata?: ContinuationRecord['metadata'];
  readonly supersededBy?: string;
}

/** How an operator decides an unknown outcome (001 `ResumeClosure`). */
export interface ReconcileRequest {
  readonly turnId: string;
  readonly attempt: number;
  readonly action: Reconciliation['action'];
  /** With `happened`: what the turn, or its effect, came to, as JSON. */
  readonly resultRef?: ContentRef;
  /** Only this effect is decided. */
  readonly effect?: string | undefined;
  readonly issuer?: string | undefined;
  readonly proof: Reconciliation['proof'];
  readonly observedAt: string;
  readonly expiresAt?: string | undefined;
  /** Whom our client speaks for; without it, whoever can write to the namespace. */
  readonly stamp?: Pick<Stamp, 'subject' | 'verified' | 'channel'>;
}

export const resumeUpdate = defineUpdate<Accepted, [SignedMessage]>('resume');
export const takeUpdate = defineUpdate<Accepted, [SignedMessage]>('take');
export const reconcileUpdate = defineUpdate<{ record: ContinuationRecord }, [ReconcileRequest]>('reconcile');
export const stopUpdate = defineUpdate<{ record: ContinuationRecord }, [StopRequest]>('stop');
export const extendUpdate = defineUpdate<{ record: ContinuationRecord }, [{ expiresAt: string }]>('extend');
/** One signal per wait type: `answerSignals.user_reply` and so on. */
export const answerSignals = {
  user_reply: defineSignal<[unknown]>('user_reply'),
  approval_resolution: defineSignal<[unknown]>('approval_resolution'),
  external_result: defineSignal<[unknown]>('external_result'),
  agent_reply: defineSignal<[unknown]>('agent_reply'),
  scheduled_wake: defineSignal<[unknown]>('scheduled_wake'),
} as const satisfies Record<WaitType, unknown>;
export const stopSignal = defineSignal<[unknown]>('stop');
export const recordQuery = defineQuery<ContinuationRecord>('record');
export const statusQuery = defineQuery<ContinuationStatusView>('status');

/** Type of a failure that tells a repeated message its first outcome; not a refusal. Details: [Winner, ContinuationRecord]. */
export const REPEATED = 'repeated';
