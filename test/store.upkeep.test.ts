/** What maintenance finds and deletes. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Store } from '../src/ports.ts';
import { receipt } from '../src/receipts.ts';
import { DAY, HOUR, later, MINUTE } from './support/builders.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { answered, beginning, fresh, granted, ofTurn, paused, play, SCOPE, stopped } from './support/stored.ts';

let database: TestDatabase;
let db: Store;
beforeEach(async () => {
  database = await createTestDatabase();
  db = database.store;
});
afterEach(() => database?.close());

/** An instant `ms` from now: maintenance goes by the clock of the database. */
const soon = (ms: number) => later(ms, new Date().toISOString());
const found = async (query: Partial<Parameters<Store['dueAcrossScopes']>[0]> = {}) =>
  (await db.dueAcrossScopes({ graceMs: MINUTE, unseenMs: DAY, limit: 100, ...query })).map(({ id, reason }) => [
    id,
    reason,
  ]);

test('open rows that were never marked started are due after the grace', async () => {
  const old = await paused(db, { at: soon(-2 * MINUTE), scope: 'tenant=b' });
  const recent = await paused(db, { at: soon(0) });
  await stopped(db, { at: soon(-2 * MINUTE) });
  expect(await found()).toEqual([[old.id, 'unstarted']]);
  expect(await found({ graceMs: 0 })).toEqual([
    [old.id, 'unstarted'],
    [recent.id, 'unstarted'],
  ]);
  await db.markStarted([old.id]);
  expect(await found()).toEqual([]);
});

test('rows past their deadline are due after the grace, once per grace', async () => {
  const past = await paused(db, { at: soon(-10 * MINUTE), bounds: { expiresAt: soon(-5 * MINUTE) } });
  const justPast = await paused(db, { at: soon(-10 * MINUTE), bounds: { expiresAt: soon(-30_000) } });
  const ahead = await paused(db, { at: soon(-10 * MINUTE), bounds: { expiresAt: soon(HOUR) } });
  const never = await paused(db, { at: soon(-10 * MINUTE), bounds: { neverExpires: true } });
  await db.markStarted([past.id, justPast.id, ahead.id, never.id]);
  expect(await found()).toEqual([[past.id, 'overdue']]);
  await db.markSeen([past.id]);
  expect(await found()).toEqual([]);
  expect(await found({ graceMs: 0 })).toEqual([
    [justPast.id, 'overdue'],
    [past.id, 'overdue'],
  ]);
});

test('rows that were not seen for a day are due', async () => {
  const old = await paused(db, { at: soon(-25 * HOUR), bounds: { neverExpires: true } });
  const younger = await paused(db, { at: soon(-23 * HOUR), bounds: { neverExpires: true } });
  await db.markStarted([old.id, younger.id]);
  expect(await found()).toEqual([[old.id, 'unseen']]);
  await db.markSeen([old.id]);
  expect(await found()).toEqual([]);
});

test('superseded rows are due until they have ended', async () => {
  const old = await paused(db, { at: soon(-2 * MINUTE), sessionId: 's' });
  const newer = await paused(db, { at: soon(0), sessionId: 's', supersede: true });
  await db.markStarted([old.id, newer.id]);
  expect(await found()).toEqual([[old.id, 'superseded']]);
  const ended = play(old, { type: 'stopped', reason: 'superseded_by_newer_turn', supersededBy: newer.id, at: soon(0) });
  await db.write(ended, []);
  expect(await found()).toEqual([]);
});

test('a row has one reason, the least recently seen come first, and a limit holds', async () => {
  const ids = [];
  for (let i = 0; i < 5; i++) {
    const { id } = await paused(db, {
      at: soon(-(30 * HOUR) + i * MINUTE),
      sessionId: `s${i}`,
      bounds: { expiresAt: soon(-20 * HOUR) },
    });
    ids.push(id);
  }
  expect(await found()).toEqual(ids.map((id) => [id, 'unstarted']));
  expect(await found({ limit: 2 })).toEqual(ids.slice(0, 2).map((id) => [id, 'unstarted']));
  await db.markSeen([ids[0]!]);
  expect((await found({ graceMs: 0 })).map(([id]) => id)).toEqual([...ids.slice(1), ids[0]]);
  await db.markStarted(ids);
  expect(await found()).toEqual(ids.slice(1).map((id) => [id, 'overdue']));
});

test('what needs help comes before what is only due for a look, however long that backlog is', async () => {
  const unseen = await Promise.all(
    [40, 30, 28].map((hours) => paused(db, { at: soon(-hours * HOUR), bounds: { neverExpires: true } })),
  );
  await db.markStarted(unseen.map(({ id }) => id));
  const unstarted = await paused(db, { at: soon(-2 * MINUTE) });
  expect(await found({ limit: 2 })).toEqual([
    [unstarted.id, 'unstarted'],
    [unseen[0]?.id, 'unseen'],
  ]);
});

test('the census counts open, overdue, uncertain and never expiring rows', async () => {
  expect(await db.censusAcrossScopes()).toEqual({ open: 0, overdue: 0, uncertain: 0, neverExpires: 0 });
  await paused(db, { at: soon(-HOUR), bounds: { expiresAt: soon(-MINUTE) } });
  await paused(db, { at: soon(-HOUR), bounds: { neverExpires: true }, scope: 'tenant=b' });
  await stopped(db, { at: soon(-HOUR), bounds: { neverExpires: true } });
  const begun = granted(await db.beginTurn(beginning(answered(await paused(db)))));
  const at = later(2 * MINUTE);
  const record = play(begun.record, {
    type: 'turnUncertain',
    ...ofTurn(begun, { at }),
    uncertain: { cause: 'lost', at, message: 'gone' },
  });
  await db.endTurn({
    turnId: begun.record.resume.turnId,
    fence: 1,
    state: 'uncertain',
    record,
    spentMs: 0,
    receipt: receipt('uncertain', record),
  });
  expect(await db.censusAcrossScopes()).toEqual({ open: 3, overdue: 1, uncertain: 1, neverExpires: 1 });
});

const purge = (limits: Partial<Parameters<Store['purgeAcrossScopes']>[0]> = {}) =>
  db.purgeAcrossScopes({ retentionMs: 7 * DAY, graceMs: 0, limit: 100, ...limits });

test('purge deletes terminal records past their retention, and frees their keys', async () => {
  const old = await stopped(db, { at: soon(-8 * DAY), key: 'freed' });
  const recent = await stopped(db, { at: soon(-6 * DAY) });
  const open = await paused(db, { at: soon(-30 * DAY), bounds: { neverExpires: true } });
  expect(await purge({ graceMs: HOUR })).toEqual({ records: 1, contents: 0 });
  expect(await purge({ graceMs: HOUR })).toEqual({ records: 0, contents: 0 });
  expect(await db.getAcrossScopes(old.id)).toBeNull();
  expect(await db.getAcrossScopes(recent.id)).not.toBeNull();
  expect(await db.getAcrossScopes(open.id)).not.toBeNull();
  // Its content goes after the grace, that of the others stays.
  expect(await db.content(SCOPE, old.suspension.state)).not.toBeNull();
  expect(await purge()).toEqual({ records: 0, contents: 1 });
  expect(await db.content(SCOPE, old.suspension.state)).toBeNull();
  for (const kept of [recent, open]) expect(await db.content(SCOPE, kept.suspension.state)).not.toBeNull();
  expect(await db.create(fresh({ key: 'freed' }))).toMatchObject({ created: true });
});

test('purge keeps contents that something of their scope refers to', async () => {
  const state = { question: 'shared' };
  const old = await stopped(db, { at: soon(-8 * DAY), state });
  const user = await paused(db, { state, at: soon(0) });
  const elsewhere = await stopped(db, { at: soon(-8 * DAY), state, scope: 'tenant=b' });
  expect(old.suspension.state.digest).toBe(user.suspension.state.digest);
  // That of the other scope goes: a reference in this scope does not keep it.
  expect(await purge()).toEqual({ records: 2, contents: 1 });
  expect(await db.content('tenant=b', elsewhere.suspension.state)).toBeNull();
  expect(await db.content(SCOPE, user.suspension.state)).not.toBeNull();
  // Until the last one that refers to it is deleted, too.
  expect(await purge()).toEqual({ records: 0, contents: 0 });
  await db.write(play(user, { type: 'stopped', reason: 'completed', at: soon(0) }), []);
  expect(await db.delete(SCOPE, user.id)).toBe(true);
  expect(await purge()).toEqual({ records: 0, contents: 1 });
  expect(await db.content(SCOPE, user.suspension.state)).toBeNull();
});

test('using a content again starts its grace anew', async () => {
  const state = { question: 'again' };
  const first = await stopped(db, { at: soon(-8 * DAY), state });
  expect(await purge({ graceMs: HOUR })).toEqual({ records: 1, contents: 0 });
  const ages = `update continuations.contents set used_at = used_at - interval '2 hours'`;
  await database.query(ages);
  const second = await stopped(db, { at: soon(-8 * DAY), state });
  expect(await purge({ graceMs: HOUR })).toEqual({ records: 1, contents: 0 });
  expect(await db.content(SCOPE, second.suspension.state)).not.toBeNull();
  await database.query(ages);
  expect(await purge({ graceMs: HOUR })).toEqual({ records: 0, contents: 1 });
  expect(await db.content(SCOPE, first.suspension.state)).toBeNull();
});

test('purge takes no more than its limit, the oldest first', async () => {
  const ids = [];
  for (let i = 0; i < 5; i++) ids.push((await stopped(db, { at: soon(-10 * DAY + i * MINUTE) })).id);
  expect(await purge({ limit: 2 })).toEqual({ records: 2, contents: 2 });
  expect((await db.list({ scope: SCOPE })).records.map(({ id }) => id)).toEqual(ids.slice(2));
});

test('purge goes by indexes: what it reads does not depend on how much is kept', async () => {
  await Promise.all(Array.from({ length: 1_000 }, () => paused(db, { at: soon(-8 * DAY) })));
  for (let one = 0; one < 20; one++) await stopped(db, { at: soon(-8 * DAY) });
  const [purged] = await database.query(`
    select p.*, s.read::integer from continuations.purge(${7 * DAY}, 0, 100) p,
      lateral (select sum(seq_tup_read) as read from pg_stat_xact_user_tables
        where schemaname = 'continuations' and p.deleted_records > 0) s`);
  expect(purged).toEqual({ deleted_records: 20, deleted_contents: 20, read: 0 });
});

test('purges at once share the work', async () => {
  for (let i = 0; i < 20; i++) await stopped(db, { at: soon(-10 * DAY) });
  const purged = await Promise.all([purge(), purge(), purge(), purge()]);
  expect(purged.reduce((sum, { records }) => sum + records, 0)).toBe(20);
});

test('purge forgets sessions that nothing open belongs to', async () => {
  await paused(db, { sessionId: 'open', bounds: { neverExpires: true } });
  for (const session of ['open', 'closed']) await db.sessionActive(SCOPE, session, soon(-8 * DAY));
  await db.sessionActive(SCOPE, 'recent', soon(-DAY));
  await purge();
  const rows = await database.query('select session_id from continuations.sessions order by 1');
  expect(rows.map(({ session_id: session }) => session)).toEqual(['open', 'recent']);
});

test('creates and purges of one content at once leave nobody without it', async () => {
  const state = { question: 'contended' };
  for (let round = 0; round < 30; round++) {
    const old = await stopped(db, { at: soon(-8 * DAY), state });
    await database.query(`update continuations.contents set used_at = used_at - interval '2 hours'`);
    const input = fresh({ state, at: soon(0) });
    await Promise.all([purge({ graceMs: HOUR }), purge({ graceMs: HOUR }), db.create(input), purge({ graceMs: HOUR })]);
    expect(await db.content(SCOPE, input.record.suspension.state)).not.toBeNull();
    expect(await db.getAcrossScopes(old.id)).toBeNull();
    await db.write(play(input.record, { type: 'stopped', reason: 'completed', at: soon(0) }), []);
    await db.delete(SCOPE, input.record.id);
  }
});
