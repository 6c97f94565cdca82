/** Makes a new question visible, now that the workflow can take its answer (C5), and brings it to whoever must answer. */
import { decisionReceipts } from '../src/receipts.ts';
import type { Activities } from './contract.ts';
import type { ActivityDeps } from './deps.ts';
import { write } from './project.ts';

export function createOpen(deps: Pick<ActivityDeps, 'store' | 'delivery'>): Activities['open'] {
  return async ({ record, announce }) => {
    const committed = await write(deps.store, record, decisionReceipts(record));
    const waits = committed.record.suspension.id === record.suspension.id && committed.record.status === 'pending';
    if (announce && waits) await deps.delivery?.announce?.(committed.record);
    return committed;
  };
}
