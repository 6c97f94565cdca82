/** Many continuations at once, as copies of a few. */
import type pg from 'pg';
import { step } from '../../src/continuation.ts';
import type { ContinuationClient, Store } from '../../src/index.ts';

/** Idempotency keys of those that are copied. */
const ENDED = 'ended';
const WAITING = 'waiting';
const RARE = 'rare';

/** In ten scopes; every second has ended, and those began before any other. */
const COPY = `
  insert into continuations.continuations (id, scope, assistant_id, session_id, status, wait_type, expires_at, revision, record,
    idempotency_key, input_digest, started, seen_at, created_at, updated_at)
  select n.id, n.scope, assistant_id, session_id, status, wait_type, expires_at + n.i * interval '1 second', revision,
    record || jsonb_build_object('id', n.id, 'scope', n.scope, 'idempotencyKey', n.id), n.id, input_digest, true, now(), created_at,
    updated_at + n.i * interval '1 second'
  from (select i, case when i % 2 = 0 then '${ENDED}' when i % 1000 = 999 then '${RARE}' else '${WAITING}' end as kind,
      'cont_' || i % 2 || lpad(i::text, 25, '0') as id, 'app=default/tenant=t' || i % 10 as scope
    from generate_series($1::int, $2::int) i) n join continuations.continuations c on c.idempotency_key = n.kind`;

/** What is copied; Temporal is not needed for it. */
export async function addKinds(client: ContinuationClient, store: Store): Promise<void> {
  const common = { assistantId: 'support' };
  const refund = { assistantMessage: { text: 'Refund order 1042?' }, continuation: { state: { order: '1042' } } };
  const parcel = { assistantMessage: { text: 'Where is the parcel?' }, continuation: { state: { operationId: 'op' } } };
  const asking = { outcome: 'needs_clarification' as const, ...refund };
  await client.create({ ...common, originTurnId: WAITING, harnessResult: asking });
  await client.create({ ...common, originTurnId: RARE, harnessResult: { outcome: 'deferred', ...parcel } });
  const created = await client.create({ ...common, originTurnId: ENDED, harnessResult: asking });
  if (!created.ok) throw new Error(created.refusal.message);
  const at = created.record.createdAt;
  const stopped = step(created.record, { type: 'stopped', at, reason: 'cancelled_by_user' });
  if (!stopped.ok) throw new Error(stopped.refusal?.message);
  await store.write(stopped.record, []);
}

/** Up to `size` in all. */
export async function addCopies(database: pg.Client, filled: number, size: number): Promise<void> {
  await database.query(COPY, [filled, size - 1]);
  await database.query('vacuum analyze');
}
