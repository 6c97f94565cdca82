/** The journal of a running turn on a real PostgreSQL: written under the fence, all or nothing (C6), no effect twice (C7). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newToken } from '../src/ids.ts';
import type { Grant, JournalEntry } from '../src/ports.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { answered, beginning, completing, granted, paused } from './support/stored.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.close());
const db = () => database.store;

async function running() {
  return granted(await db().beginTurn(beginning(answered(await paused(db())))));
}
const turnOf = ({ record, fence }: Grant) => ({ turnId: record.resume.turnId, fence });
const entry = (grant: Grant, more: Partial<JournalEntry> = {}): JournalEntry => ({
  ...turnOf(grant),
  events: [{ sequence: 1, body: '{"text":"\\u0000 1.0"}' }],
  ...more,
});
const effect = (grant: Grant, more: { token?: string; again?: boolean } = {}) =>
  db().beginEffect({ ...turnOf(grant), key: 'pay', token: newToken(), again: false, ...more });
/** Another execution of the same turn, after the first was lost. */
const successor = async (grant: Grant) => granted(await db().beginTurn(beginning(grant.record, { replayable: true })));
const bodies = async (turnId: string) =>
  database.query('select sequence, body from continuations.journal where turn_id = $1 order by sequence', [turnId]);

describe('the journal', () => {
  test('keeps events as they came, the last checkpoint and its attempt, and the true tail', async () => {
    const grant = await running();
    const { turnId } = turnOf(grant);
    expect(await db().readJournal(turnId)).toEqual({ tail: 0, effects: [] });
    expect(await db().writeJournal(entry(grant, { checkpoint: '{"a":1}' }))).toBe(true);
    const second = entry(grant, { events: [{ sequence: 7, body: '{}' }], checkpoint: '{"a":2.0}' });
    expect(await db().writeJournal(second)).toBe(true);
    expect(await db().readJournal(turnId)).toEqual({
      tail: 7,
      effects: [],
      checkpoint: { body: '{"a":2.0}', attempt: 1 },
    });
    expect((await bodies(turnId))[0]).toMatchObject({ body: '{"text":"\\u0000 1.0"}' });
  });

  test('a repeated write is the same write; another entry under its number is refused with all it brings', async () => {
    const grant = await running();
    expect(await db().writeJournal(entry(grant))).toBe(true);
    expect(await db().writeJournal(entry(grant))).toBe(true);
    const other = entry(grant, { events: [{ sequence: 1, body: '"other"' }], checkpoint: '{}' });
    await expect(db().writeJournal(other)).rejects.toThrow(/another entry/);
    expect(await bodies(turnOf(grant).turnId)).toHaveLength(1);
    expect(await db().readJournal(turnOf(grant).turnId)).toEqual({ tail: 1, effects: [] });
  });

  test('an execution without the fence writes nothing, nor does one whose turn has ended', async () => {
    const grant = await running();
    const next = await successor(grant);
    const started = { key: 'pay', state: 'started' } as const;
    expect(await db().writeJournal(entry(grant, { checkpoint: '{}', effect: started }))).toBe(false);
    expect(await effect(grant)).toEqual({ found: 'stale' });
    expect(await db().readJournal(turnOf(grant).turnId)).toEqual({ tail: 0, effects: [] });
    await db().endTurn(completing(next));
    expect(await db().writeJournal(entry(next))).toBe(false);
  });
});

describe('an effect', () => {
  test('that is done comes back with its value, also in a later attempt', async () => {
    const grant = await running();
    expect(await effect(grant)).toEqual({ found: 'fresh' });
    await db().writeJournal(entry(grant, { events: [], effect: { key: 'pay', state: 'done', value: '{"n":1.0}' } }));
    expect(await effect(grant)).toEqual({ found: 'done', value: '{"n":1.0}' });
    expect(await effect(await successor(grant))).toEqual({ found: 'done', value: '{"n":1.0}' });
  });

  test('that started without an end is unknown, unless it may be run again', async () => {
    const grant = await running();
    const token = newToken();
    expect(await effect(grant, { token })).toEqual({ found: 'fresh' });
    // A lost acknowledgement.
    expect(await effect(grant, { token })).toEqual({ found: 'fresh' });
    const next = await successor(grant);
    expect(await effect(next)).toEqual({ found: 'started' });
    expect((await db().readJournal(turnOf(next).turnId)).effects).toEqual([{ key: 'pay', state: 'started' }]);
    expect(await effect(next, { again: true })).toEqual({ found: 'fresh' });
    expect(await effect(await successor(next))).toEqual({ found: 'started' });
  });

  test('twenty at once: one is granted', async () => {
    const grant = await running();
    const found = await Promise.all(Array.from({ length: 20 }, () => effect(grant)));
    expect(found.filter((one) => one.found === 'fresh')).toHaveLength(1);
    expect(found.filter((one) => one.found === 'started')).toHaveLength(19);
  });

  test('that is done is not undone; one that surely did not happen may start again', async () => {
    const grant = await running();
    await effect(grant);
    await db().writeJournal(entry(grant, { events: [], effect: { key: 'pay', state: 'undone' } }));
    expect((await db().readJournal(turnOf(grant).turnId)).effects).toEqual([{ key: 'pay', state: 'undone' }]);
    expect(await effect(grant)).toEqual({ found: 'fresh' });
    expect(await effect(grant)).toEqual({ found: 'started' });
    await db().writeJournal(entry(grant, { events: [], effect: { key: 'pay', state: 'done' } }));
    await db().writeJournal(entry(grant, { events: [], effect: { key: 'pay', state: 'undone' } }));
    expect(await effect(grant)).toEqual({ found: 'done' });
  });
});
