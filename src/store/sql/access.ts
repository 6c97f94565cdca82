/** API keys, what named requests were answered, and the order of all receipts. */
export const ACCESS = `
create table api_keys (
  id text collate "C" primary key,
  subject text collate "C" not null,
  scope text collate "C" not null,
  permissions text[] not null,
  secret_digest text collate "C" not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);

create table requests (
  owner text collate "C" not null,
  key text collate "C" not null,
  digest text collate "C" not null,
  claimed_at timestamptz not null default clock_timestamp(),
  answer jsonb,
  primary key (owner, key)
);
create index requests_by_age on requests (claimed_at);

create type claimed_request as (found text, answer jsonb);

create function claim_request(p_owner text, p_key text, p_digest text, lease_ms bigint, keep_ms bigint) returns claimed_request
language plpgsql set search_path from current as $$
declare
  q requests;
begin
  delete from requests where (owner, key) in (select o.owner, o.key from requests o
    where o.claimed_at < now() - keep_ms * interval '1 millisecond' order by o.claimed_at limit 100 for update skip locked);
  insert into requests (owner, key, digest) values (p_owner, p_key, p_digest) on conflict do nothing;
  if found then return row('fresh', null)::claimed_request; end if;
  select * into q from requests where owner = p_owner and key = p_key for update;
  -- It was given back in between: its sender is told to come again.
  if not found then return row('running', null)::claimed_request; end if;
  if q.digest <> p_digest then return row('other', null)::claimed_request; end if;
  if q.answer is not null then return row('answered', q.answer)::claimed_request; end if;
  if q.claimed_at > clock_timestamp() - lease_ms * interval '1 millisecond' then return row('running', null)::claimed_request; end if;
  update requests set claimed_at = clock_timestamp() where owner = p_owner and key = p_key;
  return row('fresh', null)::claimed_request;
end $$;

-- Receipts in one order for all: by transaction, because numbers alone are handed out before a commit and could be passed.
alter table receipts
  add column transaction_id xid8 not null default pg_current_xact_id(),
  add column position bigint not null generated always as identity;
create index receipts_in_order on receipts (transaction_id, position);
`;

/** Of an answer's acceptance and its start, the latter is looked up by time. */
export const METRICS = `
create index receipts_started on receipts (at) where kind = 'started';
`;

export const OUTBOX = `
create table outbox (
  id text collate "C" primary key,
  scope text collate "C" not null,
  message jsonb, -- null once acknowledged
  created_at timestamptz not null default clock_timestamp()
);
create index outbox_waiting on outbox (created_at, id) where message is not null;
`;
