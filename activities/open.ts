/** Makes a new question, or an unknown outcome, visible, now that the workflow can take its answer (C5), and brings it to whoever must answer. */
import { decisionReceipts } from '../src/receipts.ts';
import type { ContinuationRecord } from '../src/schema.ts';
import type { Activities } from './contract.ts';
import type { ActivityDeps } from './deps.ts';
import { write } from './project.ts';

export function createOpen(deps: Pick<ActivityDeps, 'store' | 'delivery'>): Activities['open'] {
  return async ({ record, announce }) => {
    const receipts = record.status === 'pending' ? decisionReceipts(record) : [];
    const committed = await write(deps.store, record, receipts);
    if (announce && isStillAsked(record, committed.record)) await deps.delivery?.announce?.(committed.record);
    return committed;
  };
}

function isStillAsked(asked: ContinuationRecord, now: ContinuationRecord): boolean {
  if (asked.status === 'pending') return now.status === 'pending' && now.suspension.id === asked.suspension.id;
  const { resume } = asked;
  return (
    now.resume?.uncertain !== undefined && now.resume.turnId === resume?.turnId && now.resume.attempt === resume.attempt
  );
}
