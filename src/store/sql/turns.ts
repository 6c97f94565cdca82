/** Functions that decide how a turn runs and ends, under the lock of its continuation's row (C6). */
export const TURNS = `
create type turn_begun as (found text, fence integer, attempt integer, started_at text, spent_ms bigint, record jsonb,
  receipts_head text, superseded_by text, state bytea, input bytea, worker text);

-- Lets the holder of a token run turn t: the receipt of its attempt is appended to c, which the caller saves.
create function with_started(c continuations, t turns) returns continuations language plpgsql
set search_path from current as $$
declare
  body text := concat('{"at":', to_json(t.started_at), ',"attempt":', t.attempt, ',"continuationId":', to_json(c.id),
    ',"kind":"started","turnId":', to_json(t.turn_id), '}');
begin
  return with_receipts(c, jsonb_build_array(jsonb_build_object('kind', 'started', 'at', t.started_at, 'body', body,
    'cause', concat('started:', t.turn_id, ':', t.attempt))));
end $$;

create function begun(c continuations, t turns) returns turn_begun language plpgsql set search_path from current as $$
declare
  b turn_begun;
begin
  b.found := t.granted;
  b.fence := t.fence;
  b.attempt := t.attempt;
  b.started_at := t.started_at;
  b.spent_ms := t.spent_ms;
  b.worker := t.worker;
  b.record := shown(c.record, c.superseded_by);
  b.receipts_head := c.receipts_head;
  if t.granted = 'fresh' then
    select k.bytes into b.state from contents k where k.scope = c.scope and k.digest = c.record #>> '{suspension,state,digest}';
    select k.bytes into b.input from contents k where k.scope = c.scope and k.digest = c.record #>> '{answers,-1,input,ref,digest}';
  end if;
  return b;
end $$;

create function begin_turn(r jsonb, p_token text, p_worker text, p_at text, replayable boolean, added jsonb) returns turn_begun
language plpgsql set search_path from current as $$
declare
  c continuations;
  t turns;
  b turn_begun;
  turn text := r #>> '{resume,turnId}';
  answer text := r #>> '{answers,-1,contentDigest}';
begin
  select * into c from continuations where id = r ->> 'id' for update;
  if not found then
    b.found := 'gone';
    return b;
  end if;
  select * into t from turns where turn_id = turn;
  b.found := 'finished';
  b.record := shown(c.record, c.superseded_by);
  b.receipts_head := c.receipts_head;
  -- Another answer than the one that ran: the workflow is older than the row.
  if t.answer_digest <> answer then return b; end if;
  if t.state in ('settled', 'failed', 'uncertain', 'closed') then
    b.record := t.next_record;
    return b;
  end if;
  if c.status not in ('pending', 'resuming') then return b; end if;
  if c.superseded_by is not null then
    b.found := 'superseded';
    b.superseded_by := c.superseded_by;
    return b;
  end if;

  if t.turn_id is null then
    c := moved_on(c, r, added);
    if c.record #>> '{resume,turnId}' is distinct from turn
      or c.record #>> '{answers,-1,contentDigest}' is distinct from answer then return b; end if;
    t := row(turn, c.id, answer, 'running', 1, 1, p_token, 'fresh', p_worker, p_at, 0, null, null, '{}')::turns;
    insert into turns select t.*;
    c := with_started(c, t);
    perform save(c);
    return begun(c, t);
  end if;
  -- One's own token: an acknowledgement got lost, and what was granted stays granted.
  if t.state = 'running' and t.token = p_token then return begun(c, t); end if;

  t.granted := case when t.state = 'ended' or replayable then 'fresh' else 'lost' end;
  t.state := 'running';
  t.fence := t.fence + 1;
  t.token := p_token;
  t.next_record := null;
  if t.granted = 'fresh' then
    t.worker := p_worker;
    t.attempt := t.attempt + 1;
    t.started_at := p_at;
    c := with_started(c, t);
    perform save(c);
  end if;
  update turns set state = t.state, fence = t.fence, attempt = t.attempt, token = t.token, granted = t.granted, worker = t.worker,
    started_at = t.started_at, next_record = null where turn_id = t.turn_id;
  return begun(c, t);
end $$;

create type turn_ended as (verdict text, record jsonb, receipts_head text);

create function end_turn(turn text, p_fence integer, p_state text, r jsonb, p_spent_ms bigint, p_result jsonb,
  digests text[], bodies bytea[], fact jsonb) returns turn_ended language plpgsql set search_path from current as $$
declare
  c continuations;
  t turns;
  o turn_ended;
begin
  select * into c from continuations where id = r ->> 'id' for update;
  if not found then return null; end if;
  select * into t from turns where turn_id = turn;
  o.verdict := 'refused';
  o.record := coalesce(t.next_record, shown(c.record, c.superseded_by));
  o.receipts_head := c.receipts_head;
  if t.fence is distinct from p_fence then return o; end if;
  if t.state <> 'running' then
    -- The same end again: an acknowledgement got lost.
    if t.state = p_state then o.verdict := 'accepted'; end if;
    return o;
  end if;
  if c.status not in ('pending', 'resuming') or c.revision >= (r ->> 'revision')::integer then return o; end if;

  update turns set state = p_state, next_record = r, result = p_result, spent_ms = p_spent_ms where turn_id = turn;
  perform keep_contents(c, digests, bodies);
  if r ->> 'status' = 'pending' then
    -- It asks again: the row shows that only when the workflow can take an answer (C5).
    c := with_receipts(c, jsonb_build_array(fact));
  else
    c := with_receipts(with_record(c, r), jsonb_build_array(fact));
  end if;
  perform save(c);
  return row('accepted', r, c.receipts_head)::turn_ended;
end $$;

-- Decides a turn whose outcome is unknown: it ends, or it runs again with a new attempt and the whole of its budget. Then what was
-- unknown did not happen; with p_effect only that one is decided, and with p_value it came to that.
create function reconcile_turn(turn text, p_attempt integer, p_state text, r jsonb, p_result jsonb, digests text[], bodies bytea[],
  facts jsonb, p_effect text, p_value text) returns turn_ended language plpgsql set search_path from current as $$
declare
  c continuations;
  t turns;
  o turn_ended;
begin
  select * into c from continuations where id = r ->> 'id' for update;
  if not found then return null; end if;
  select * into t from turns where turn_id = turn;
  o.record := coalesce(t.next_record, shown(c.record, c.superseded_by));
  o.receipts_head := c.receipts_head;
  if t.state is distinct from 'uncertain' or t.attempt <> p_attempt or c.status not in ('pending', 'resuming')
    or c.revision >= (r ->> 'revision')::integer
    or (p_effect is not null
      and not exists (select from effects where turn_id = turn and key = p_effect and state = 'started')) then
    -- The same decision again: an acknowledgement got lost.
    o.verdict := case when exists (select from receipts e where e.continuation_id = c.id and e.cause = facts #>> '{0,cause}'
      and e.body = facts #>> '{0,body}') then 'accepted' else 'refused' end;
    return o;
  end if;

  update turns set state = p_state, fence = t.fence + 1, result = p_result, spent_ms = 0,
    next_record = case when p_state = 'ended' then null else r end where turn_id = turn;
  if p_state = 'ended' then
    update effects set state = case when p_value is null then 'undone' else 'done' end, value = p_value
      where turn_id = turn and state = 'started' and (p_effect is null or key = p_effect);
  end if;
  perform keep_contents(c, digests, bodies);
  c := with_receipts(case when r ->> 'status' = 'pending' then c else with_record(c, r) end, facts);
  perform save(c);
  return row('accepted', r, c.receipts_head)::turn_ended;
end $$;

create function close_turn(turn text, r jsonb, based_on integer, only_if_not_started boolean, fact jsonb) returns turn_ended
language plpgsql set search_path from current as $$
declare
  c continuations;
  t turns;
  o turn_ended;
begin
  select * into c from continuations where id = r ->> 'id' for update;
  if not found then return null; end if;
  select * into t from turns where turn_id = turn;
  o.record := shown(c.record, c.superseded_by);
  o.receipts_head := c.receipts_head;
  if t.state in ('settled', 'failed', 'closed') then
    -- The same close again: an acknowledgement got lost.
    o.verdict := case when t.state = 'closed' and t.next_record = r then 'closed' else 'ended' end;
    o.record := t.next_record;
    return o;
  end if;
  o.verdict := case
    when c.status not in ('pending', 'resuming') then 'ended'
    when only_if_not_started and t.turn_id is not null then 'started'
    when c.revision > based_on then 'moved' end;
  if o.verdict is not null then return o; end if;

  insert into turns (turn_id, continuation_id, answer_digest, state, fence, attempt, next_record)
    values (turn, c.id, coalesce(r #>> '{answers,-1,contentDigest}', ''), 'closed', 1, 0, r)
    on conflict (turn_id) do update set state = 'closed', fence = turns.fence + 1, next_record = r;
  c := moved_on(c, r, jsonb_build_array(fact));
  perform save(c);
  return row('closed', shown(c.record, c.superseded_by), c.receipts_head)::turn_ended;
end $$;
`;
