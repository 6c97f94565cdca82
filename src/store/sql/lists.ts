/** Lists in the order of what is urgent, or of what happened last, and the words by which a question is found. */
export const LISTS = `
create index open_in_order on continuations ((coalesce(expires_at, 'infinity'::timestamptz)), id) where status in ('pending', 'resuming');
create index open_by_wait on continuations (wait_type, (coalesce(expires_at, 'infinity'::timestamptz)), id)
  where status in ('pending', 'resuming');
create index open_uncertain on continuations ((coalesce(expires_at, 'infinity'::timestamptz)), id)
  where status in ('pending', 'resuming') and uncertain;

-- The words of a text, cut at punctuation and at what is not seen; their case does not count.
create function search_words(t text) returns text[] language sql immutable set search_path from current as $$
  select array(select distinct left(w, 64) from unnest(string_to_array(
    regexp_replace(lower(t), '[\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u00bf\\u2000-\\u206f\\u3000-\\u303f]+', ' ', 'g'), ' ')) w
    where w <> '')
$$;
-- Every word of t, or a word that begins with it.
create function search_query(t text) returns tsquery language sql immutable set search_path from current as $$
  select array_to_string(array(select '''' || w || ''':*' from unnest(search_words(t)) w), ' & ')::tsquery
$$;

-- Apart from their rows, which change more often than what they ask.
create table questions (
  continuation_id text collate "C" primary key references continuations on delete cascade,
  words tsvector not null
);
create index questions_by_word on questions using gin (words);

-- The question, and the names of the calls that wait.
create function words_of(r jsonb) returns tsvector language sql immutable set search_path from current as $$
  select array_to_tsvector(search_words(concat_ws(' ', r #>> '{suspension,question}',
    jsonb_path_query_array(r, '$.suspension.pending[*].name') #>> '{}')))
$$;

create function note_question() returns trigger language plpgsql set search_path from current as $$
begin
  insert into questions (continuation_id, words) values (new.id, words_of(new.record))
    on conflict (continuation_id) do update set words = excluded.words;
  return null;
end $$;
create trigger question_asked after insert on continuations for each row execute function note_question();
create trigger question_asked_again after update of record on continuations for each row
  when (old.record #>> '{suspension,id}' is distinct from new.record #>> '{suspension,id}') execute function note_question();
insert into questions (continuation_id, words) select id, words_of(record) from continuations;
`;
