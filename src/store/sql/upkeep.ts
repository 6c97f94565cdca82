/**
 * Functions that delete what nobody needs any more. They go by indexes however little PostgreSQL knows of the tables: what a purge
 * costs does not depend on how much is kept.
 */
const BY_INDEXES = 'set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off';

export const UPKEEP = `
-- Deletes the terminal rows among ids with all that belongs to them, and tells purge about their contents.
create function delete_terminal(ids text[]) returns integer language plpgsql set search_path from current ${BY_INDEXES} as $$
declare
  deleted integer;
begin
  update contents k set released = true from (
    select k.scope, k.digest from contents k
      join content_refs f on f.digest = k.digest join continuations c on c.id = f.continuation_id and c.scope = k.scope
      where c.id = any (ids) and c.status not in ('pending', 'resuming')
      order by k.scope, k.digest for update of k
  ) used where k.scope = used.scope and k.digest = used.digest;
  delete from continuations where id = any (ids) and status not in ('pending', 'resuming');
  get diagnostics deleted = row_count;
  return deleted;
end $$;

create function delete_record(p_scope text, p_id text) returns boolean language plpgsql set search_path from current as $$
begin
  perform from continuations where id = p_id and (scope = p_scope or starts_with(scope, p_scope || '/')) for update;
  return found and delete_terminal(array[p_id]) > 0;
end $$;

create function purge(retention_ms bigint, grace_ms bigint, most integer, out deleted_records integer, out deleted_contents integer) language plpgsql
set search_path from current ${BY_INDEXES} as $$
begin
  deleted_records := delete_terminal(array(select id from continuations
    where status not in ('pending', 'resuming') and updated_at < now() - retention_ms * interval '1 millisecond'
    order by updated_at limit most for update skip locked));
  delete from sessions where (scope, session_id) in (select s.scope, s.session_id from sessions s
    where s.active_at < now() - retention_ms * interval '1 millisecond' and not exists (select from continuations c
      where c.scope = s.scope and c.session_id = s.session_id and c.status in ('pending', 'resuming'))
    order by s.active_at limit most for update skip locked);
  -- Locked, so that whoever adds or deletes a reference waits: nothing is taken that is about to be used again.
  with candidate as materialized (
    select k.scope, k.digest, used.one is not null as used from contents k
      -- With a limit this is asked for each; an \`exists\` may be answered by reading all references at once.
      left join lateral (select 1 as one from content_refs f join continuations c on c.id = f.continuation_id
        where f.digest = k.digest and c.scope = k.scope limit 1) used on true
      where k.released and k.used_at < now() - grace_ms * interval '1 millisecond'
      order by k.used_at limit most for update of k skip locked
  ), kept as (
    update contents k set released = false from candidate where candidate.used and k.scope = candidate.scope and k.digest = candidate.digest
  ), taken as (
    delete from contents k using candidate where not candidate.used and k.scope = candidate.scope and k.digest = candidate.digest returning 1
  )
  select count(*) into deleted_contents from taken;
end $$;
`;
