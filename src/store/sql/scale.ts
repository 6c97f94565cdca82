/** Indexes for what is asked while many wait, or many have ended, so that neither has to be looked through for the other. */
export const SCALE = `
-- A column, because an index alone answers only from columns.
alter table continuations add column terminal_reason text collate "C" generated always as (record ->> 'terminalReason') stored;

-- Pages of all that is open go by id: through these alone, however many have ended. Counts read nothing but the index of scopes.
create index open_by_id on continuations (id) where status in ('pending', 'resuming');
drop index open_by_scope;
create index open_by_scope on continuations (scope, id, wait_type, status) where status in ('pending', 'resuming');
create index open_resuming on continuations (scope, id) where status = 'resuming';
create index terminal_by_scope on continuations (scope, status, terminal_reason) where status not in ('pending', 'resuming');
create index terminal_repaired on continuations (scope) where status = 'failed' and record ? 'error';

-- Rows change several times in a short life: vacuum comes before a fifth of them is dead, and keeps answers from indexes alone.
alter table continuations set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
`;
