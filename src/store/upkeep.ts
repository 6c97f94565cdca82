/** What maintenance needs. PostgreSQL's clock is used to select and to report only, never to decide a deadline. */
import { sql } from 'kysely';
import type { Census, Upkeep, Watched } from '../ports.ts';
import type { Connection } from './retry.ts';

export function createUpkeep(connection: Connection): Upkeep {
  const { run } = connection;
  return {
    dueAcrossScopes: (query) => dueAcrossScopes(connection, query),
    markSeen: (ids) =>
      run(async (db) => {
        await sql`update continuations.continuations set seen_at = now() where id = any (${[...ids]}::text[])`.execute(
          db,
        );
      }),
    purgeAcrossScopes: ({ retentionMs, graceMs, limit }) =>
      run(async (db) => {
        const { rows } = await sql<{ records: number; contents: number }>`
          select deleted_records as records, deleted_contents as contents
          from continuations.purge(${retentionMs}::bigint, ${graceMs}::bigint, ${limit})`.execute(db);
        return rows[0] ?? { records: 0, contents: 0 };
      }),
    censusAcrossScopes: () =>
      run(async (db) => {
        const { rows } = await sql<Census>`
          with o as not materialized (select * from continuations.continuations where status in ('pending', 'resuming'))
          select (select count(*) from o) as open, (select count(*) from o where status = 'pending' and expires_at < now()) as overdue,
            (select count(*) from o where uncertain) as uncertain, (select count(*) from o where coalesce(expires_at, 'infinity'::timestamptz) = 'infinity') as "neverExpires"`.execute(
          db,
        );
        return rows[0] ?? { open: 0, overdue: 0, uncertain: 0, neverExpires: 0 };
      }),
  };
}

/**
 * Every reason has its own index and its own share of the limit. What needs help comes before what is only due for a look, however
 * long that backlog is, and the least recently seen first: a row that stays due (an unknown outcome past its deadline) is looked
 * at once per grace and does not hide others.
 */
async function dueAcrossScopes(
  { run }: Connection,
  query: Parameters<Upkeep['dueAcrossScopes']>[0],
): Promise<Watched[]> {
  const { graceMs, unseenMs, limit } = query;
  const open = sql`select id, seen_at from continuations.continuations where status in ('pending', 'resuming')`;
  const before = (ms: number) => sql`now() - ${ms}::bigint * interval '1 millisecond'`;
  const seen = sql`seen_at <= ${before(graceMs)}`;
  const some = sql`order by seen_at limit ${limit}`;
  return await run(async (db) => {
    const { rows } = await sql<Watched>`
      select id, reason from (
        select distinct on (id) id, seen_at, reason, place from (
          select *, 'unstarted' as reason, 1 as place from (${open} and not started and ${seen} ${some}) a
          union all
          select *, 'superseded', 2 from (${open} and superseded_by is not null and ${seen} ${some}) b
          union all
          select *, 'overdue', 3 from (${open} and expires_at <= ${before(graceMs)} and ${seen} ${some}) c
          union all
          select *, 'unseen', 4 from (${open} and seen_at <= ${before(unseenMs)} ${some}) d
        ) found order by id, place
      ) due order by place, seen_at, id limit ${limit}`.execute(db);
    return rows;
  });
}
