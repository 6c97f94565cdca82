/** The receipts of a continuation, as they were chained when they were written. */
import { sql } from 'kysely';
import type { AdmittedReceipts, Receipt, Receipts } from '../ports.ts';
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
    admittedReceipts: (scope, id, { after, limit }) =>
      run(async (db) => {
        const admitted = sql`from continuations.receipts r where r.continuation_id = c.id and r.kind = 'admitted'`;
        const fields = sql`r.continuation_id as "continuationId", r.sequence, r.kind, r.cause, r.at, r.body, r.digest`;
        // One more than asked for tells whether there are more.
        const { rows } = await sql<AdmittedRow>`
          select a.* from continuations.continuations c left join lateral (
            (select false as latest, ${fields} ${admitted} and r.sequence > ${after} order by r.sequence limit ${limit + 1})
            union all
            (select true, ${fields} ${admitted} order by r.sequence desc limit 1)
          ) a on true where c.id = ${id} and c.scope = ${scope} order by a.sequence`.execute(db);
        return rows.length === 0 ? null : admittedOf(rows, limit);
      }),
  };
}

type AdmittedRow = ({ latest: boolean } & Receipt) | { latest: null };

function admittedOf(rows: readonly AdmittedRow[], limit: number): AdmittedReceipts {
  const of = (wanted: boolean): Receipt[] =>
    rows.flatMap(({ latest, ...receipt }) => (latest === wanted ? [receipt as Receipt] : []));
  const [page, [latest]] = [of(false), of(true)];
  return { receipts: page.slice(0, limit), more: page.length > limit, ...(latest && { latest }) };
}
