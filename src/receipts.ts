/**
 * The facts about a continuation. Bodies come from the record alone, so that two writers of one fact write the same;
 * `cause` makes a fact unique. The store links each receipt to the one before.
 */

import type { ReconcileRequest } from '../workflows/messages.ts';
import { canonicalJson, digestJson } from './digest.ts';
import type { NewReceipt } from './ports.ts';
import { winnerOf } from './record.ts';
import type { CallVerdict, ContinuationRecord, Reconciliation } from './schema.ts';

export type ReceiptKind =
  | 'created'
  | 'admitted'
  | 'started'
  | 'attempt_ended'
  | 'settled'
  | 'opened'
  | 'expired'
  | 'stopped'
  | 'delivered'
  | 'uncertain'
  | 'reconciled';

/** The receipt of one fact, as `record` shows it right after it became true. */
export function receipt(kind: keyof typeof FACTS, record: ContinuationRecord): NewReceipt {
  return newReceipt(kind, record, FACTS[kind](record));
}

/** By this a repeated decision is told from another one about the same execution. */
export function reconcileDigest({ stamp, ...request }: ReconcileRequest): Reconciliation['requestDigest'] {
  return digestJson(request);
}

/** An operator's decision, which a record that asks again no longer holds. One for each execution that was in question. */
export function reconciledReceipt(
  record: ContinuationRecord,
  decided: { turnId: string; attempt: number; reconciliation: Reconciliation },
): NewReceipt {
  const { turnId, attempt, reconciliation } = decided;
  return newReceipt('reconciled', record, {
    cause: `${turnId}:${attempt}`,
    facts: { turnId, attempt, ...reconciliation },
  });
}

function newReceipt(kind: ReceiptKind, record: ContinuationRecord, { cause, facts }: Facts): NewReceipt {
  const at = record.updatedAt;
  const body = canonicalJson({ ...facts, kind, continuationId: record.id, at });
  return { kind, cause: cause ? `${kind}:${cause}` : kind, at, body };
}

/** The receipts of what a workflow decides by itself: an accepted answer, a new question, an end without a turn. */
export function decisionReceipts(record: ContinuationRecord): NewReceipt[] {
  switch (record.status) {
    case 'pending':
      return [receipt(record.answers.length === 0 ? 'created' : 'opened', record)];
    case 'resuming':
      return [receipt('admitted', record)];
    case 'expired':
      return [receipt('expired', record)];
    default: {
      // Its turn had settled: what ended is the delivery of its follow-up.
      if (record.resume?.outcome) return [receipt('delivered', record)];
      const answered = record.answers.at(-1)?.suspensionId === record.suspension.id;
      const byAnswer = record.terminalReason === 'approval_denied' || record.terminalReason === 'completed';
      return byAnswer && record.resume === undefined && answered
        ? [receipt('admitted', record), receipt('stopped', record)]
        : [receipt('stopped', record)];
    }
  }
}

type Facts = { cause?: string | undefined; facts: Record<string, unknown> };

const FACTS: Record<Exclude<ReceiptKind, 'started' | 'reconciled'>, (record: ContinuationRecord) => Facts> = {
  created: (record) => ({ facts: { scope: record.scope, originTurnId: record.origin.turnId, ...asked(record) } }),
  opened: (record) => ({ cause: record.suspension.id, facts: asked(record) }),
  admitted: (record) => {
    const answer = record.answers.at(-1);
    return {
      cause: answer?.suspensionId,
      facts: {
        suspensionDigest: record.suspension.digest,
        revision: record.revision,
        answer: answer && winnerOf(answer),
        ...(answer?.calls && { calls: decidedOn(record, answer.calls) }),
      },
    };
  },
  attempt_ended: ({ resume }) => ({
    cause: resume && `${resume.turnId}:${resume.attempt}`,
    facts: { turnId: resume?.turnId, attempt: resume?.attempt, error: resume?.error },
  }),
  settled: (record) => ({
    cause: record.lineage.at(-1),
    facts: { turnId: record.lineage.at(-1), outcome: outcomeOf(record), error: record.resume?.error },
  }),
  expired: (record) => ({
    facts: { suspensionId: record.suspension.id, expiresAt: record.bounds.expiresAt, turnId: record.resume?.turnId },
  }),
  stopped: (record) => ({
    facts: { reason: 'terminalReason' in record ? record.terminalReason : undefined, turnId: record.resume?.turnId },
  }),
  delivered: ({ delivery, resume }) => ({ cause: resume?.turnId, facts: { deliveryId: resume?.turnId, delivery } }),
  uncertain: ({ resume }) => ({
    cause: resume && `${resume.turnId}:${resume.attempt}`,
    facts: { turnId: resume?.turnId, attempt: resume?.attempt, uncertain: resume?.uncertain },
  }),
};

function asked({ suspension, waitFor, bounds }: ContinuationRecord): Record<string, unknown> {
  return { suspensionId: suspension.id, suspensionDigest: suspension.digest, waitFor, expiresAt: bounds.expiresAt };
}

/** What was decided about each call, with the digest of what was shown. */
function decidedOn({ suspension }: ContinuationRecord, calls: readonly CallVerdict[]): Array<Record<string, unknown>> {
  return calls.map((call) => {
    const shown = suspension.pending.find(({ id }) => id === call.id);
    return { ...call, name: shown?.name, argumentsDigest: shown?.argumentsDigest };
  });
}

/** How a settled turn left the continuation: its outcome, or that it asks again. */
function outcomeOf(record: ContinuationRecord): string {
  return record.status === 'pending' ? record.origin.outcome : (record.resume?.outcome ?? record.status);
}
