/** The receipts of a continuation, as they were chained when they were written. */
import type { Receipt, Receipts } from '../ports.ts';
import type { Connection } from './retry.ts';
import { within } from './scope.ts';

export function createReceipts({ run }: Connection): Receipts {
  return {
    receipts: (scope, id, after = 0) =>
      run(async (db) => {
        const rows = await db
          .selectFrom('continuations.continuations as c')
          .leftJoin('continuations.receipts as r', (join) =>
            join.onRef('r.continuation_id', '=', 'c.id').on('r.sequence', '>', after),
          )
          .select(['r.continuation_id', 'r.sequence', 'r.kind', 'r.cause', 'r.at', 'r.body', 'r.digest'])
          .where('c.id', '=', id)
          .where(within('c.scope', scope))
          .orderBy('r.sequence')
          .execute();
        if (rows.length === 0) return null;
        return rows.flatMap(({ continuation_id: continuationId, ...receipt }) =>
          continuationId === null ? [] : [{ continuationId, ...receipt } as Receipt],
        );
      }),
  };
}
