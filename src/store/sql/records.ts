/**
 * Functions that create and write continuations. Each locks the continuation's row before anything else of it, so that all
 * locks are taken in one order, and answers in one round trip.
 */
export const RECORDS = `
-- A record as readers see it: marked as superseded before its workflow knows. A mark in the record is in the column, too.
create function shown(record jsonb, superseded_by text) returns jsonb language sql immutable as $$
  select case when superseded_by is null then record else record || jsonb_build_object('supersededBy', superseded_by) end
$$;

create function link(previous text, sequence integer, body text) returns text language sql immutable as $$
  select encode(sha256(convert_to(
    previous || E'\\n' || sequence || E'\\n' || encode(sha256(convert_to(body, 'UTF8')), 'hex'), 'UTF8')), 'hex')
$$;

-- Appends receipts to the locked row c; a cause that is there already is a repeat. The caller saves c.
create function with_receipts(c continuations, added jsonb) returns continuations language plpgsql
set search_path from current as $$
declare
  fact jsonb;
begin
  for fact in select e.value from jsonb_array_elements(added) with ordinality e order by e.ordinality loop
    continue when exists (select from receipts r where r.continuation_id = c.id and r.cause = fact ->> 'cause');
    c.receipts_count := c.receipts_count + 1;
    c.receipts_head := link(c.receipts_head, c.receipts_count, fact ->> 'body');
    insert into receipts (continuation_id, sequence, kind, cause, at, body, digest) values (c.id, c.receipts_count,
      fact ->> 'kind', fact ->> 'cause', (fact ->> 'at')::timestamptz, fact ->> 'body', c.receipts_head);
  end loop;
  return c;
end $$;

-- The row c with record r in it; its columns follow the record.
create function with_record(c continuations, r jsonb) returns continuations language plpgsql immutable as $$
begin
  c.record := r;
  c.revision := (r ->> 'revision')::integer;
  c.status := r ->> 'status';
  c.wait_type := r #>> '{waitFor,type}';
  c.expires_at := (r #>> '{bounds,expiresAt}')::timestamptz;
  c.uncertain := r #> '{resume,uncertain}' is not null;
  c.superseded_by := coalesce(r ->> 'supersededBy', c.superseded_by);
  c.updated_at := (r ->> 'updatedAt')::timestamptz;
  return c;
end $$;

-- Whether record r goes on from the row c: no answer that the row knows is missing in it, or another one. A workflow that was
-- reset may have taken another, and may have got to a higher revision (C1).
create function goes_on(c continuations, r jsonb) returns boolean language sql immutable as $$
  select not exists (select from jsonb_array_elements(c.record -> 'answers') with ordinality a (answer, n)
    where r #>> array['answers', (n - 1)::text, 'contentDigest'] is distinct from a.answer ->> 'contentDigest')
$$;

-- The locked row c after record r and its receipts: unchanged where c is terminal, or r is not newer or of another history (C10, C14).
create function moved_on(c continuations, r jsonb, added jsonb) returns continuations language plpgsql
set search_path from current as $$
begin
  if c.status not in ('pending', 'resuming') or (r ->> 'revision')::integer <= c.revision or not goes_on(c, r) then
    return c;
  end if;
  return with_receipts(with_record(c, r), added);
end $$;

create function save(c continuations) returns void language plpgsql set search_path from current as $$
begin
  update continuations set record = c.record, revision = c.revision, status = c.status, wait_type = c.wait_type,
    expires_at = c.expires_at, uncertain = c.uncertain, superseded_by = c.superseded_by, updated_at = c.updated_at,
    receipts_count = c.receipts_count, receipts_head = c.receipts_head
    where id = c.id;
end $$;

-- Stores contents that the locked row c refers to; in the order of their digests, so that two of these do not deadlock.
create function keep_contents(c continuations, digests text[], bodies bytea[]) returns void language plpgsql
set search_path from current as $$
begin
  if cardinality(digests) = 0 then return; end if;
  insert into contents (scope, digest, bytes)
    select distinct on (u.digest) c.scope, u.digest, u.bytes from unnest(digests, bodies) u (digest, bytes) order by u.digest
    on conflict (scope, digest) do update set used_at = now();
  insert into content_refs (continuation_id, digest) select distinct c.id, u.digest from unnest(digests) u (digest)
    on conflict do nothing;
end $$;

-- Tells listeners of changed rows, each by its id and status. Nothing depends on its being on disk.
create function notify_changed(notes text[]) returns void language plpgsql set search_path from current as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_notify('continuations', n.note) from unnest(notes) n (note);
end $$;

create type stored as (record jsonb, receipts_head text);

create function find_record(p_scope text, p_id text) returns setof stored language sql stable begin atomic
  select shown(c.record, c.superseded_by), c.receipts_head from continuations c
    where c.id = p_id and (c.scope = p_scope or starts_with(c.scope, p_scope || '/'));
end;

create function find_record_across_scopes(p_id text) returns setof stored language sql stable begin atomic
  select shown(c.record, c.superseded_by), c.receipts_head from continuations c where c.id = p_id;
end;

create type written as (record jsonb, receipts_head text, written boolean);

create function write_record(r jsonb, added jsonb) returns written language plpgsql set search_path from current as $$
declare
  c continuations;
  revision integer;
begin
  -- Often it is there already: then nobody's lock is waited for.
  select * into c from continuations where id = r ->> 'id';
  if found and c.revision >= (r ->> 'revision')::integer then
    return row(shown(c.record, c.superseded_by), c.receipts_head, false)::written;
  end if;
  select * into c from continuations where id = r ->> 'id' for update;
  if not found then return null; end if;
  revision := c.revision;
  c := moved_on(c, r, added);
  if c.revision > revision then perform save(c); end if;
  return row(shown(c.record, c.superseded_by), c.receipts_head, c.revision > revision)::written;
end $$;

create type created as (created boolean, record jsonb, receipts_head text, input_digest text, superseded text[]);

create function create_continuation(r jsonb, digest text, digests text[], bodies bytea[], fact jsonb, supersede boolean)
returns created language plpgsql set search_path from current as $$
declare
  c continuations := with_record(null, r);
  o created;
begin
  if supersede then
    -- One superseding create of a session at a time: the later one then sees the row of the earlier one.
    perform pg_advisory_xact_lock(hashtextextended(concat_ws(E'\\n', 'supersede', r ->> 'scope', r ->> 'assistantId', r ->> 'sessionId'), 0));
  end if;
  o.created := false;
  loop
    insert into continuations (id, scope, assistant_id, session_id, idempotency_key, input_digest, superseded_by, status, wait_type,
      expires_at, revision, record, uncertain, receipts_count, receipts_head, seen_at, created_at, updated_at)
    values (r ->> 'id', r ->> 'scope', r ->> 'assistantId', r ->> 'sessionId', r ->> 'idempotencyKey', digest, c.superseded_by, c.status,
      c.wait_type, c.expires_at, c.revision, r, c.uncertain, 1, link('', 1, fact ->> 'body'),
      (r ->> 'createdAt')::timestamptz, (r ->> 'createdAt')::timestamptz, c.updated_at)
    on conflict do nothing;
    o.created := found;
    select * into c from continuations
      where scope = r ->> 'scope' and assistant_id = r ->> 'assistantId' and idempotency_key = r ->> 'idempotencyKey';
    exit when found;
    if exists (select from continuations where id = r ->> 'id') then
      raise unique_violation using message = 'continuation ' || (r ->> 'id') || ' exists with another idempotency key';
    end if;
    -- What stood in the way was deleted in between.
    c := with_record(null, r);
  end loop;
  if o.created then
    insert into receipts (continuation_id, sequence, kind, cause, at, body, digest)
      values (c.id, 1, fact ->> 'kind', fact ->> 'cause', (fact ->> 'at')::timestamptz, fact ->> 'body', c.receipts_head);
    perform keep_contents(c, digests, bodies);
    if supersede then perform mark_superseded(c); end if;
  end if;
  o.record := shown(c.record, c.superseded_by);
  o.receipts_head := c.receipts_head;
  o.input_digest := c.input_digest;
  o.superseded := array(select id from continuations
    where scope = c.scope and session_id = c.session_id and status in ('pending', 'resuming') and superseded_by = c.id order by id);
  return o;
end $$;

-- Marks what else is open in the session of c.
create function mark_superseded(c continuations) returns void language plpgsql set search_path from current as $$
begin
  -- In one order, so that two of these do not deadlock.
  perform from continuations
    where scope = c.scope and session_id = c.session_id and assistant_id = c.assistant_id and status in ('pending', 'resuming')
      and superseded_by is null and id <> c.id
    order by id for update;
  update continuations set superseded_by = c.id
    where scope = c.scope and session_id = c.session_id and assistant_id = c.assistant_id and status in ('pending', 'resuming')
      and superseded_by is null and id <> c.id;
end $$;

create function put_contents(p_scope text, p_id text, digests text[], bodies bytea[]) returns void language plpgsql
set search_path from current as $$
declare
  c continuations;
begin
  select * into c from continuations where id = p_id and scope = p_scope for no key update;
  if found then perform keep_contents(c, digests, bodies); end if;
end $$;
`;
