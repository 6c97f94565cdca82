/** Writes what the workflow decided by itself to the row, where it moves the row forward (C14). */

import type { NewReceipt, Store } from '../src/ports.ts';
import { decisionReceipts } from '../src/receipts.ts';
import type { ContinuationRecord } from '../src/schema.ts';
import { traceEnd } from '../src/trace.ts';
import type { Activities, Committed } from './contract.ts';
import type { ActivityDeps } from './deps.ts';

export function createProject(deps: Pick<ActivityDeps, 'store' | 'trace'>): Activities['project'] {
  return async ({ record }) => {
    const committed = await write(deps.store, record, decisionReceipts(record));
    if (committed.record.revision === record.revision) traceEnd(deps.trace, record, record.updatedAt);
    return committed;
  };
}

/** Returns what stands in the row after it: after a reset, something else may. A deleted row leaves the record as it is. */
export async function write(
  store: Store,
  record: ContinuationRecord,
  receipts: readonly NewReceipt[],
): Promise<Committed> {
  return (await store.write(record, receipts)) ?? { record, receiptsHead: '' };
}
