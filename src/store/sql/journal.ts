/** The journal of turns that run: what is written is written under the fence, all or nothing (C6, C7). Bodies are kept as they came. */
export const JOURNAL = `
create table journal (
  turn_id text collate "C" not null references turns on delete cascade,
  sequence bigint not null,
  body text not null,
  primary key (turn_id, sequence)
);
create table checkpoints (
  turn_id text collate "C" primary key references turns on delete cascade,
  attempt integer not null, -- the execution that wrote it
  body text not null
);
create table effects (
  turn_id text collate "C" not null references turns on delete cascade,
  key text collate "C" not null,
  state text collate "C" not null, -- 'started', 'done' or 'undone': it surely did not happen
  attempt integer not null, -- the execution that started it
  token text collate "C" not null,
  value text,
  primary key (turn_id, key)
);

-- The turn while p_fence holds it, locked against another grant until the caller commits.
create function held_turn(turn text, p_fence integer) returns turns language sql set search_path from current as $$
  select * from turns where turn_id = turn and fence = p_fence and state = 'running' for share;
$$;

create function write_journal(turn text, p_fence integer, sequences bigint[], bodies text[], p_checkpoint text,
  p_effect text, p_state text, p_value text, p_token text) returns boolean
language plpgsql set search_path from current as $$
declare
  t turns := held_turn(turn, p_fence);
begin
  if t.turn_id is null then return false; end if;
  -- The same entry again is a lost acknowledgement; another one under its number is a fault of the writer.
  if exists (select from journal j join unnest(sequences, bodies) as e (sequence, body) using (sequence)
    where j.turn_id = turn and j.body <> e.body) then
    raise exception 'the journal of % has another entry under one of these numbers', turn;
  end if;
  insert into journal select turn, e.sequence, e.body from unnest(sequences, bodies) as e (sequence, body) on conflict do nothing;
  if p_checkpoint is not null then
    insert into checkpoints values (turn, t.attempt, p_checkpoint)
      on conflict (turn_id) do update set attempt = excluded.attempt, body = excluded.body;
  end if;
  if p_state = 'undone' then
    update effects set state = 'undone' where turn_id = turn and key = p_effect and state = 'started';
  elsif p_effect is not null then
    insert into effects values (turn, p_effect, p_state, t.attempt, p_token, p_value)
      on conflict (turn_id, key) do update set state = excluded.state, attempt = excluded.attempt, token = excluded.token,
        value = excluded.value where effects.state <> 'done';
  end if;
  return true;
end $$;

create type begun_effect as (found text, attempt integer, value text);

create function begin_effect(turn text, p_fence integer, p_key text, p_token text, again boolean) returns begun_effect
language plpgsql set search_path from current as $$
declare
  t turns := held_turn(turn, p_fence);
  e effects;
begin
  if t.turn_id is null then return row('stale', null, null)::begun_effect; end if;
  insert into effects values (turn, p_key, 'started', t.attempt, p_token, null) on conflict do nothing;
  if found then return row('fresh', t.attempt, null)::begun_effect; end if;
  select * into e from effects where turn_id = turn and key = p_key for update;
  if e.state = 'done' then return row('done', e.attempt, e.value)::begun_effect; end if;
  -- One's own token: an acknowledgement got lost.
  if e.state = 'started' and e.token <> p_token and not again then return row('started', e.attempt, null)::begun_effect; end if;
  update effects set state = 'started', attempt = t.attempt, token = p_token where turn_id = turn and key = p_key;
  return row('fresh', t.attempt, null)::begun_effect;
end $$;
`;
