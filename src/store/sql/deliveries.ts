/** Functions that decide whether and how a follow-up is delivered, under the lock of its continuation's row (C7, C11). */
export const DELIVERIES = `
create type delivery_begun as (found text, record jsonb, receipts_head text, result jsonb, spent_ms bigint, attempt integer);

-- Why the follow-up of c should not be delivered any more, or null.
create function suppression(c continuations) returns text language plpgsql stable set search_path from current as $$
begin
  if c.superseded_by is not null then return 'suppressed_superseded'; end if;
  if c.record #> '{delivery,target,suppressIfSessionReengaged}' = 'true' and exists (select from sessions s
    where s.session_id = c.session_id and (s.scope = c.scope or starts_with(c.scope, s.scope || '/'))
      and s.active_at > (c.record #>> '{answers,-1,receivedAt}')::timestamptz) then
    return 'suppressed_session_reengaged';
  end if;
  return null;
end $$;

create function begin_delivery(p_delivery_id text, p_id text, p_token text, p_at text, idempotent boolean) returns delivery_begun
language plpgsql set search_path from current as $$
declare
  c continuations;
  d deliveries;
  b delivery_begun;
  suppressed text;
begin
  select * into c from continuations where id = p_id for update;
  if not found then
    b.found := 'gone';
    return b;
  end if;
  select * into d from deliveries where delivery_id = p_delivery_id;
  b.record := shown(c.record, c.superseded_by);
  b.receipts_head := c.receipts_head;
  if d.state = 'done' or c.status <> 'resuming' or c.record #>> '{resume,turnId}' is distinct from p_delivery_id
    or c.record #> '{resume,outcome}' is null then
    b.found := 'finished';
    return b;
  end if;

  suppressed := suppression(c);
  if d.delivery_id is null then
    d := row(p_delivery_id, c.id, 'attempting', (suppressed is null)::integer, p_token, 'fresh', p_at, 0)::deliveries;
  elsif d.state = 'attempting' and d.token = p_token then
    -- An acknowledgement got lost, and what was granted stays granted.
    null;
  elsif d.state = 'attempting' then
    -- An attempt without a recorded end may have arrived: it is not told as suppressed any more.
    suppressed := null;
    d.granted := case when idempotent then 'fresh' else 'lost' end;
    d.attempt := d.attempt + (d.granted = 'fresh')::integer;
  else
    d.granted := 'fresh';
    d.attempt := d.attempt + (suppressed is null)::integer;
  end if;
  if d.granted = 'lost' then suppressed := null; end if;
  -- Nothing is under way while it is being suppressed.
  d.state := case when suppressed is null then 'attempting' else 'retrying' end;
  insert into deliveries values (d.delivery_id, d.continuation_id, d.state, d.attempt, p_token, d.granted, d.started_at, d.spent_ms)
    on conflict (delivery_id) do update set state = d.state, attempt = d.attempt, token = p_token, granted = d.granted;
  b.found := coalesce(suppressed, d.granted);
  b.attempt := d.attempt;
  b.spent_ms := d.spent_ms;
  select t.result into b.result from turns t where t.turn_id = p_delivery_id;
  return b;
end $$;

create function end_delivery(p_delivery_id text, p_id text, p_token text, r jsonb, p_spent_ms bigint, fact jsonb) returns stored
language plpgsql set search_path from current as $$
declare
  c continuations;
  d deliveries;
  revision integer;
begin
  select * into c from continuations where id = p_id for update;
  if not found then return null; end if;
  select * into d from deliveries where delivery_id = p_delivery_id;
  if d.token = p_token and d.state <> 'done' then
    update deliveries set state = case when r is null then 'retrying' else 'done' end, spent_ms = p_spent_ms
      where delivery_id = p_delivery_id;
    if r is not null then
      revision := c.revision;
      c := moved_on(c, r, case when fact is null then '[]' else jsonb_build_array(fact) end);
      if c.revision > revision then perform save(c); end if;
    end if;
  end if;
  return row(shown(c.record, c.superseded_by), c.receipts_head)::stored;
end $$;
`;
