/**
 * Tables. Times inside a record are its truth; the columns beside it are for queries. Ids and scopes sort bytewise, so that
 * a scope and those below it are one range.
 */
export const TABLES = `
create table continuations (
  id text collate "C" primary key,
  scope text collate "C" not null,
  assistant_id text collate "C" not null,
  session_id text collate "C",
  status text collate "C" not null,
  wait_type text collate "C" not null,
  expires_at timestamptz,
  revision integer not null,
  record jsonb not null,
  idempotency_key text collate "C" not null,
  input_digest text collate "C" not null,
  superseded_by text collate "C",
  started boolean not null default false,
  seen_at timestamptz not null,
  uncertain boolean not null default false,
  receipts_count integer not null default 0,
  receipts_head text collate "C" not null default '',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (scope, assistant_id, idempotency_key)
);
create index open_by_scope on continuations (scope, id) where status in ('pending', 'resuming');
create index by_session on continuations (session_id, scope, id) where session_id is not null;
create index open_by_deadline on continuations (expires_at) where status in ('pending', 'resuming') and expires_at is not null;
create index open_by_seen on continuations (seen_at) where status in ('pending', 'resuming');
create index open_unstarted on continuations (seen_at) where status in ('pending', 'resuming') and not started;
create index open_superseded on continuations (seen_at) where status in ('pending', 'resuming') and superseded_by is not null;
create index terminal_by_age on continuations (updated_at) where status not in ('pending', 'resuming');

create table receipts (
  continuation_id text collate "C" not null references continuations on delete cascade,
  sequence integer not null,
  kind text collate "C" not null,
  cause text collate "C" not null,
  at timestamptz not null,
  body text not null,
  digest text collate "C" not null,
  primary key (continuation_id, sequence),
  unique (continuation_id, cause)
);

create table contents (
  scope text collate "C" not null,
  digest text collate "C" not null,
  bytes bytea not null,
  used_at timestamptz not null default now(),
  released boolean not null default false, -- a continuation that referred to it was deleted: purge has a look
  primary key (scope, digest)
);
create index contents_released on contents (used_at) where released;
create table content_refs (
  digest text collate "C" not null,
  continuation_id text collate "C" not null references continuations on delete cascade,
  primary key (continuation_id, digest)
);
create index content_refs_by_digest on content_refs (digest);

create table turns (
  turn_id text collate "C" primary key,
  continuation_id text collate "C" not null references continuations on delete cascade,
  answer_digest text collate "C" not null,
  state text collate "C" not null,
  fence integer not null,
  attempt integer not null,
  token text collate "C",
  granted text collate "C", -- what the holder of the token was told: 'fresh' or 'lost'
  worker text,
  started_at text collate "C",
  spent_ms bigint not null default 0,
  next_record jsonb,
  result jsonb,
  evidence jsonb not null default '{}' -- what executions without the fence came to, by their fence
);
create index turns_by_continuation on turns (continuation_id);

create table deliveries (
  delivery_id text collate "C" primary key,
  continuation_id text collate "C" not null references continuations on delete cascade,
  state text collate "C" not null,
  attempt integer not null,
  token text collate "C" not null,
  granted text collate "C" not null,
  started_at text collate "C" not null,
  spent_ms bigint not null default 0
);
create index deliveries_by_continuation on deliveries (continuation_id);

create table sessions (
  scope text collate "C" not null,
  session_id text collate "C" not null,
  active_at timestamptz not null,
  primary key (session_id, scope)
);
create index sessions_by_age on sessions (active_at);
`;
