/** How a follow-up is delivered or suppressed, decided under the lock of its continuation's row (C7, C11). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newToken } from '../src/ids.ts';
import type { BeginDelivery, EndDelivery } from '../src/ports.ts';
import { receipt } from '../src/receipts.ts';
import type { ResumingRecord } from '../src/schema.ts';
import { later, MINUTE } from './support/builders.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import {
  answered,
  beginning,
  delivering,
  fresh,
  granted,
  happened,
  paused,
  play,
  SCOPE,
  stopped,
} from './support/stored.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.close());
const db = () => database.store;

function start(record: ResumingRecord, options: Partial<BeginDelivery> = {}): BeginDelivery {
  return {
    deliveryId: record.resume.turnId,
    continuationId: record.id,
    token: newToken(),
    at: later(3 * MINUTE),
    idempotent: false,
    ...options,
  };
}

/** The end of a delivery as its adapter reported it. */
function done(
  record: ResumingRecord,
  token: string,
  status: 'delivered' | 'suppressed_superseded' = 'delivered',
  at = later(4 * MINUTE),
): EndDelivery {
  const next = play(record, { type: 'delivered', deliveryId: record.resume.turnId, status, at });
  return {
    deliveryId: record.resume.turnId,
    continuationId: record.id,
    token,
    record: next,
    spentMs: 0,
    receipt: receipt('delivered', next),
  };
}

function failed(record: ResumingRecord, token: string, spentMs: number): EndDelivery {
  return { deliveryId: record.resume.turnId, continuationId: record.id, token, spentMs };
}

const kinds = async (id: string) => (await db().receipts(SCOPE, id))?.map(({ kind }) => kind);
const deliveryRow = async (record: ResumingRecord) =>
  (await database.query('select * from continuations.deliveries where delivery_id = $1', [record.resume.turnId]))[0];

describe('beginDelivery', () => {
  test('grants the delivery of the result, and says so again to the same token', async () => {
    const record = await delivering(db());
    const input = start(record);
    const begun = await db().beginDelivery(input);
    expect(begun).toEqual({
      found: 'fresh',
      record,
      result: { outcome: 'completed', assistantMessage: { text: 'done' } },
      spentMs: 0,
      attempt: 1,
    });
    expect(await db().beginDelivery(input)).toEqual(begun);
    expect(await deliveryRow(record)).toMatchObject({ state: 'attempting', attempt: 1 });
  });

  test('after a recorded failure is granted again, with what was spent', async () => {
    const record = await delivering(db());
    const first = start(record);
    await db().beginDelivery(first);
    expect(await db().endDelivery(failed(record, first.token, 700))).toMatchObject({ record });
    const second = start(record);
    expect(await db().beginDelivery(second)).toMatchObject({ found: 'fresh', attempt: 2, spentMs: 700 });
    expect(await db().beginDelivery(second)).toMatchObject({ found: 'fresh', attempt: 2 });
  });

  test('with no recorded end is lost, for good', async () => {
    const record = await delivering(db());
    await db().beginDelivery(start(record));
    const input = start(record);
    expect(await db().beginDelivery(input)).toEqual({ found: 'lost', record });
    expect(await db().beginDelivery(input)).toEqual({ found: 'lost', record });
    expect(await db().beginDelivery(start(record))).toEqual({ found: 'lost', record });
    const last = start(record);
    expect(await db().beginDelivery(last)).toEqual({ found: 'lost', record });
    const uncertain = play(record, {
      type: 'deliveryUncertain',
      deliveryId: record.resume.turnId,
      error: 'lost',
      at: later(5 * MINUTE),
    });
    const end = { ...done(record, last.token), record: uncertain };
    expect(await db().endDelivery({ ...end, token: input.token })).toMatchObject({ record });
    expect(await db().endDelivery(end)).toMatchObject({ record: uncertain });
  });

  test('with no recorded end is repeated by an adapter that recognises it', async () => {
    const record = await delivering(db());
    await db().beginDelivery(start(record));
    expect(await db().beginDelivery(start(record, { idempotent: true }))).toMatchObject({ found: 'fresh', attempt: 2 });
  });

  test('of a follow-up that is delivered returns the record', async () => {
    const record = await delivering(db());
    const input = start(record);
    await db().beginDelivery(input);
    const end = done(record, input.token);
    const ended = await db().endDelivery(end);
    for (const again of [input, start(record), start(record, { idempotent: true })]) {
      expect(await db().beginDelivery(again)).toEqual({ found: 'finished', ...ended });
    }
  });

  test('of what has nothing to deliver returns the record', async () => {
    const pending = await paused(db());
    expect(await db().beginDelivery(start(answered(pending)))).toMatchObject({ found: 'finished', record: pending });
    const { record: running } = granted(await db().beginTurn(beginning(answered(await paused(db())))));
    expect(await db().beginDelivery(start(running))).toMatchObject({ found: 'finished', record: running });
    const record = await delivering(db());
    expect(await db().beginDelivery(start(record, { deliveryId: `${record.id}:resume:7` }))).toMatchObject({
      found: 'finished',
      record,
    });
    const ended = await stopped(db());
    expect(await db().beginDelivery(start(record, { continuationId: ended.id }))).toMatchObject({
      found: 'finished',
      record: ended,
    });
    expect(await db().beginDelivery(start(answered(fresh().record)))).toEqual({ found: 'gone' });
  });

  test('of what is recorded as done is never granted again, whatever the record says', async () => {
    const record = await delivering(db());
    await db().beginDelivery(start(record));
    await database.query(`update continuations.deliveries set state = 'done' where continuation_id = $1`, [record.id]);
    expect(await db().beginDelivery(start(record, { idempotent: true }))).toMatchObject({ found: 'finished', record });
  });

  test('twenty at once: one delivers', async () => {
    const record = await delivering(db());
    const begun = await Promise.all(Array.from({ length: 20 }, () => db().beginDelivery(start(record))));
    expect(begun.map(({ found }) => found).sort()).toEqual(['fresh', ...Array.from({ length: 19 }, () => 'lost')]);
  });
});

describe('suppression', () => {
  test('of a follow-up whose continuation was superseded', async () => {
    const sessionId = 'superseded';
    const record = await delivering(db(), { sessionId });
    const newer = await paused(db(), { sessionId, supersede: true });
    const shown = { ...record, supersededBy: newer.id };
    const input = start(record);
    const suppressed = { found: 'suppressed', status: 'suppressed_superseded', record: shown };
    expect(await db().beginDelivery(input)).toEqual(suppressed);
    expect(await db().beginDelivery(input)).toEqual(suppressed);
    // Another worker after a crash: nothing was under way, so nothing is uncertain.
    const second = start(record);
    expect(await db().beginDelivery(second)).toEqual(suppressed);
    const end = done(shown, second.token, 'suppressed_superseded');
    expect(await db().endDelivery({ ...end, token: input.token })).toMatchObject({ record: shown });
    expect(await db().endDelivery(end)).toMatchObject({
      record: { status: 'completed', delivery: { status: 'suppressed_superseded' } },
    });
    expect(await kinds(record.id)).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
  });

  const target = { suppressIfSessionReengaged: true };
  const answeredAt = later(MINUTE);
  test.each([
    ['later than the answer', later(1, answeredAt), target, 'suppressed'],
    ['at the answer', answeredAt, target, 'fresh'],
    ['before the answer', later(-1, answeredAt), target, 'fresh'],
    ['later, but it does not matter', later(1, answeredAt), { suppressIfSessionReengaged: false }, 'fresh'],
    ['later, but nobody asked', later(1, answeredAt), {}, 'fresh'],
  ])('of a session that was active %s', async (_name, at, target, found) => {
    const sessionId = newToken();
    const record = await delivering(db(), { sessionId, target });
    await db().sessionActive(SCOPE, sessionId, at);
    expect(await db().beginDelivery(start(record))).toMatchObject({
      found,
      ...(found === 'suppressed' && { status: 'suppressed_session_reengaged' }),
    });
  });

  test('the latest activity counts, of this session in this scope only', async () => {
    const sessionId = newToken();
    const record = await delivering(db(), { sessionId, target });
    await db().sessionActive('tenant=else', sessionId, later(2 * MINUTE));
    await db().sessionActive(SCOPE, `${sessionId}x`, later(2 * MINUTE));
    const input = start(record);
    expect(await db().beginDelivery(input)).toMatchObject({ found: 'fresh' });
    await db().endDelivery(failed(record, input.token, 0));
    await db().sessionActive(SCOPE, sessionId, later(2 * MINUTE));
    await db().sessionActive(SCOPE, sessionId, later(0));
    expect(await db().beginDelivery(start(record))).toMatchObject({
      found: 'suppressed',
      status: 'suppressed_session_reengaged',
    });
  });

  test('activity noted in a scope counts for all below it, and for none beside it', async () => {
    const sessionId = newToken();
    const below = await delivering(db(), { sessionId, target, scope: `${SCOPE}/workspace=w1` });
    await db().sessionActive(`${SCOPE}/workspace=w2`, sessionId, later(2 * MINUTE));
    const input = start(below);
    expect(await db().beginDelivery(input)).toMatchObject({ found: 'fresh' });
    await db().endDelivery(failed(below, input.token, 0));
    await db().sessionActive(SCOPE, sessionId, later(2 * MINUTE));
    expect(await db().beginDelivery(start(below))).toMatchObject({ found: 'suppressed' });
  });

  test('comes too late for an attempt that may have arrived (C11)', async () => {
    const sessionId = newToken();
    const record = await delivering(db(), { sessionId });
    await db().beginDelivery(start(record));
    await paused(db(), { sessionId, supersede: true });
    expect(await db().beginDelivery(start(record, { idempotent: true }))).toMatchObject({ found: 'fresh', attempt: 2 });
    const lost = start(record);
    expect(await db().beginDelivery(lost)).toMatchObject({ found: 'lost' });
    expect(await db().beginDelivery(lost)).toMatchObject({ found: 'lost' });
  });
});

describe('endDelivery', () => {
  test('commits the record with its receipt; a repeat gets the same', async () => {
    const record = await delivering(db());
    const input = start(record);
    await db().beginDelivery(input);
    const end = done(record, input.token);
    const ended = await db().endDelivery(end);
    expect(ended?.record).toEqual(end.record);
    expect(await db().getAcrossScopes(record.id)).toEqual(ended);
    expect(await db().endDelivery(end)).toEqual(ended);
    expect(await kinds(record.id)).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(await deliveryRow(record)).toMatchObject({ state: 'done' });
  });

  test('of another execution changes nothing', async () => {
    const record = await delivering(db());
    const input = start(record);
    await db().beginDelivery(input);
    for (const end of [done(record, newToken()), failed(record, newToken(), 5000)]) {
      expect((await db().endDelivery(end))?.record).toEqual(record);
    }
    expect(await deliveryRow(record)).toMatchObject({ state: 'attempting', spent_ms: '0' });
    expect(await kinds(record.id)).toEqual(['created', 'admitted', 'started', 'settled']);
  });

  test('meets a stop that came first', async () => {
    const record = await delivering(db());
    const input = start(record);
    await db().beginDelivery(input);
    const stop = await happened(db(), record, {
      type: 'stopped',
      reason: 'session_no_longer_deliverable',
      at: later(4 * MINUTE),
    });
    expect((await db().endDelivery(done(record, input.token)))?.record).toEqual(stop);
    expect(await kinds(record.id)).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    const receipts = await db().receipts(record.scope, record.id);
    expect(receipts?.at(-1)?.body).toContain('"status":"suppressed_session_reengaged"');
  });

  test('of what is gone is null', async () => {
    expect(await db().endDelivery(failed(answered(fresh().record), newToken(), 0))).toBeNull();
  });
});
