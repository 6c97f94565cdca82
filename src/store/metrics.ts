/** What is worth watching about a scope, in numbers. */
import { sql } from 'kysely';
import type { Metrics, ScopeMetrics } from '../access-ports.ts';
import type { Connection } from './retry.ts';
import { within } from './scope.ts';

const LATENCY_WINDOW = sql`interval '5 minutes'`;
/** Enough for a 0.99 quantile, however many there were. */
const MOST_LATENCIES = 2_000;

export function createMetrics({ run }: Connection): Metrics {
  return {
    metrics: (scope) =>
      run(async (db) => {
        const own = within('c.scope', scope);
        // Each number by itself, so that each has its index.
        const { rows } = await sql<ScopeMetrics>`
          with o as not materialized (select * from continuations.continuations c where ${own} and status in ('pending', 'resuming'))
          select
            (select coalesce(jsonb_agg(t), '[]') from (select wait_type as "waitFor", status, count(*) as count from o group by 1, 2) t) as open,
            coalesce(extract(epoch from now() - (select created_at from o order by id limit 1)), 0)::float8 as "oldestSeconds",
            (select count(*) from o where coalesce(expires_at, 'infinity'::timestamptz) = 'infinity') as "neverExpires",
            (select count(*) from o where uncertain) as uncertain,
            (select count(*) from o where status = 'pending' and expires_at < now()) as overdue,
            (select coalesce(jsonb_agg(t), '[]') from (select status, terminal_reason as reason, count(*) as count
              from continuations.continuations c where ${own} and status not in ('pending', 'resuming') group by 1, 2) t) as ended,
            (select count(*) from continuations.continuations c where ${own} and status = 'failed' and record ? 'error') as repaired`.execute(
          db,
        );
        const latency = await sql<{ quantiles: number[] | null; count: number }>`
          select percentile_cont(array[0.5, 0.95, 0.99]) within group (order by extract(epoch from s.at - a.at)) as quantiles, count(*) as count
          from (select s.continuation_id, s.sequence, s.at from continuations.receipts s
            join continuations.continuations c on c.id = s.continuation_id
            where s.kind = 'started' and s.cause like '%:1' and s.at > now() - ${LATENCY_WINDOW} and ${own}
            order by s.at desc limit ${MOST_LATENCIES}) s
          join lateral (select a.at from continuations.receipts a where a.continuation_id = s.continuation_id and a.kind = 'admitted'
            and a.sequence < s.sequence order by a.sequence desc limit 1) a on true`.execute(db);
        const [row] = rows;
        if (!row) throw new Error('the numbers of a scope returned nothing');
        const { quantiles, count } = latency.rows[0] ?? { quantiles: null, count: 0 };
        return { ...row, startSeconds: { quantiles: quantiles ?? [], count } };
      }),
  };
}
