/** Rows of continuations on a real PostgreSQL: create, guarded writes, reads by scope, pages, contents, receipts. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contentOf } from '../src/content.ts';
import { canonicalJson } from '../src/digest.ts';
import { isContinuationError } from '../src/errors.ts';
import { newContinuationId } from '../src/ids.ts';
import { decisionReceipts, receipt } from '../src/receipts.ts';
import type { PendingRecord } from '../src/schema.ts';
import { createStore } from '../src/store/store.ts';
import { HOUR, later, MINUTE, NOON } from './support/builders.ts';
import { createTestDatabase, query, type TestDatabase } from './support/database.ts';
import {
  answered,
  beginning,
  chained,
  completing,
  fresh,
  granted,
  happened,
  paused,
  pauseOf,
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

/** A way to the server that loses the answer to one statement, once told to: it was committed then. */
async function startForgettingProxy(databaseUrl: string) {
  const { hostname, port } = new URL(databaseUrl);
  let forgets = false;
  const counts = { forgotten: 0 };
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', cut).on('close', cut);
    client.pipe(upstream);
    upstream.on('data', (answer) => {
      if (forgets) {
        forgets = false;
        counts.forgotten += 1;
        cut();
      } else client.write(answer);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    forget() {
      forgets = true;
    },
    get forgotten() {
      return counts.forgotten;
    },
    close: () => server.close(),
  };
}

describe('create', () => {
  test('stores a record that comes back equal', async () => {
    const input = fresh({
      state: { question: 'Größe? 👕 "quoted" \\ \u001f', approvalId: 'x', n: [1e21, 1e-7, -0, 0.1] },
    });
    const metadata = { z: 1, a: [null, true, { '': '' }], ключ: 'значение', big: Number.MAX_VALUE, __proto__: null };
    const record = { ...input.record, metadata };
    const created = await db().create({ ...input, record });
    expect(created).toEqual({
      created: true,
      record,
      inputDigest: input.inputDigest,
      receiptsHead: expect.stringMatching(/^[0-9a-f]{64}$/),
      superseded: [],
    });
    const stored = await db().get(SCOPE, record.id);
    expect(stored).toEqual({ record, receiptsHead: created.receiptsHead });
    expect(canonicalJson(stored?.record)).toBe(canonicalJson(record));
  });

  test('answers a known idempotency key with what is there, and changes nothing', async () => {
    const input = fresh({ key: 'same' });
    const first = await db().create(input);
    const other = fresh({ key: 'same', sessionId: 's', supersede: true });
    const second = await db().create(other);
    expect(second).toEqual({ ...first, created: false });
    expect(second.inputDigest).not.toBe(other.inputDigest);
    expect(await db().getAcrossScopes(other.record.id)).toBeNull();
    expect(await db().content(SCOPE, other.record.suspension.state)).toBeNull();
    expect(await db().receipts(SCOPE, input.record.id)).toHaveLength(1);
  });

  test('keys are apart by scope and by assistant', async () => {
    const key = 'apart';
    const all = [fresh({ key }), fresh({ key, assistantId: 'other' }), fresh({ key, scope: 'tenant=else' })];
    for (const input of all) expect(await db().create(input)).toMatchObject({ created: true });
  });

  test('twenty at once with one key make one row, and all get it', async () => {
    const inputs = Array.from({ length: 20 }, () => fresh({ key: 'raced' }));
    const results = await Promise.all(inputs.map((input) => db().create(input)));
    expect(results.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(results.map(({ record }) => record.id)).size).toBe(1);
    expect(new Set(results.map(({ inputDigest }) => inputDigest)).size).toBe(1);
    const rows = await database.query(`select id from continuations.continuations where idempotency_key = 'raced'`);
    expect(rows).toEqual([{ id: results[0]!.record.id }]);
  });

  test('twenty at once of one call make one row', async () => {
    const input = fresh();
    const results = await Promise.all(Array.from({ length: 20 }, () => db().create(input)));
    expect(results.filter(({ created }) => created)).toHaveLength(1);
    expect(results.every(({ record }) => record.id === input.record.id)).toBe(true);
  });

  test('an id that exists with another key is an error, not an endless wait', async () => {
    const { id } = await paused(db());
    await expect(db().create(fresh({ id, key: 'another' }))).rejects.toThrow(/exists with another idempotency key/);
  });
});

describe('supersede', () => {
  test('marks what is open in the same scope, assistant and session, and says so again', async () => {
    const sessionId = 'super-1';
    const pending = await paused(db(), { sessionId });
    const resuming = granted(await db().beginTurn(beginning(answered(await paused(db(), { sessionId }))))).record;
    const ended = await stopped(db(), { sessionId });
    const apart = [
      await paused(db(), { sessionId: 'super-2' }),
      await paused(db(), { sessionId, assistantId: 'other' }),
      await paused(db(), { sessionId, scope: `${SCOPE}/workspace=w1` }),
      await paused(db()),
    ];
    const newer = fresh({ sessionId, supersede: true });
    const created = await db().create(newer);
    expect(created.superseded).toEqual([pending.id, resuming.id].sort());
    expect((await db().get(SCOPE, pending.id))?.record).toEqual({ ...pending, supersededBy: newer.record.id });
    const marked = (await db().list({ scope: SCOPE, sessionId })).records.filter(
      ({ supersededBy }) => supersededBy === newer.record.id,
    );
    expect(marked.map(({ id }) => id)).toEqual(created.superseded);
    for (const record of [ended, ...apart, newer.record]) {
      expect((await db().getAcrossScopes(record.id))?.record).not.toHaveProperty('supersededBy');
    }

    // A repeat does nothing, but tells which stops may still have to be sent.
    const between = await paused(db(), { sessionId });
    const repeated = { ...newer, record: { ...newer.record, id: newContinuationId() } };
    expect(await db().create(repeated)).toMatchObject({ created: false, superseded: created.superseded });
    await happened(db(), pending, {
      type: 'stopped',
      reason: 'superseded_by_newer_turn',
      supersededBy: newer.record.id,
      at: later(MINUTE),
    });
    expect((await db().create(repeated)).superseded).toEqual([resuming.id]);
    expect((await db().get(SCOPE, between.id))?.record).not.toHaveProperty('supersededBy');

    // The next one takes what is not taken yet.
    const third = fresh({ sessionId, supersede: true });
    expect((await db().create(third)).superseded).toEqual([newer.record.id, between.id].sort());
    expect((await db().get(SCOPE, resuming.id))?.record.supersededBy).toBe(newer.record.id);
  });

  test('a written record keeps the mark', async () => {
    const sessionId = 'super-keeps';
    const record = await paused(db(), { sessionId });
    const newer = await paused(db(), { sessionId, supersede: true });
    const next = play(record, { type: 'extended', expiresAt: later(3 * HOUR), at: later(MINUTE) });
    expect((await db().write(next, []))?.record).toEqual({ ...next, supersededBy: newer.id });
    expect((await db().get(SCOPE, record.id))?.record).toEqual({ ...next, supersededBy: newer.id });
  });

  test('of two at once one supersedes the other', async () => {
    for (let round = 0; round < 20; round++) {
      const sessionId = `super-raced-${round}`;
      const inputs = [fresh({ sessionId, supersede: true }), fresh({ sessionId, supersede: true })];
      const results = await Promise.all(inputs.map((input) => db().create(input)));
      expect(results.flatMap(({ superseded }) => superseded)).toHaveLength(1);
    }
  });

  test('without a session nothing is superseded', async () => {
    const record = await paused(db());
    expect((await db().create(fresh({ supersede: true }))).superseded).toEqual([]);
    expect((await db().get(SCOPE, record.id))?.record).toEqual(record);
  });
});

describe('write', () => {
  test('takes a record where its revision grows, with its receipts (C14)', async () => {
    const record = await paused(db());
    const next = answered(record);
    const written = await db().write(next, [receipt('admitted', next)]);
    expect(written?.record).toEqual(next);
    expect(await db().get(SCOPE, record.id)).toEqual(written);
    // Again, and the older one: nothing.
    expect(await db().write(next, [receipt('admitted', next)])).toEqual(written);
    expect(await db().write(record, [{ ...receipt('created', record), cause: 'never' }])).toEqual(written);
    expect(await db().receipts(SCOPE, record.id)).toHaveLength(2);
  });

  test('another answer of the same revision meets the one that is there', async () => {
    const record = await paused(db());
    const [one, two] = [answered(record, { text: 'one' }), answered(record, { text: 'two' })];
    const written = await Promise.all([one, two].map((next) => db().write(next, [receipt('admitted', next)])));
    expect(written[0]).toEqual(written[1]);
    expect(await db().receipts(SCOPE, record.id)).toHaveLength(2);
  });

  test('twenty at once leave the newest record and an unbroken chain', async () => {
    const record = await paused(db());
    const versions = Array.from({ length: 20 }, (_, i) => ({ ...record, revision: i + 2 }));
    const fact = (i: number) => ({ kind: 'opened', cause: `opened:${i}`, at: NOON, body: `{"revision":${i}}` });
    await Promise.all(versions.map((version) => db().write(version, [fact(version.revision)])));
    expect((await db().get(SCOPE, record.id))?.record.revision).toBe(21);
    const receipts = await db().receipts(SCOPE, record.id);
    expect(receipts?.map(({ digest }) => digest)).toEqual(chained(receipts!));
    const written = receipts!.slice(1).map(({ body }) => JSON.parse(body).revision as number);
    expect(written).toEqual([...written].sort((a, b) => a - b));
    expect(written.at(-1)).toBe(21);
  });

  test('never changes a terminal row (C10)', async () => {
    const ended = await stopped(db());
    const next = { ...ended, revision: ended.revision + 5, updatedAt: later(HOUR) };
    expect((await db().write(next, [{ kind: 'stopped', cause: 'again', at: NOON, body: '{}' }]))?.record).toEqual(
      ended,
    );
    expect(await db().receipts(SCOPE, ended.id)).toHaveLength(2);
  });

  test('never takes another answer than the one that it knows, however high the revision of a reset workflow (C1)', async () => {
    const record = await paused(db());
    const first = answered(record, { text: 'first' });
    await db().write(first, decisionReceipts(first));
    const extended = play(record, { type: 'extended', at: later(MINUTE), expiresAt: later(3 * HOUR) });
    for (const reset of [
      answered(extended, { text: 'second' }),
      play(extended, { type: 'stopped', reason: 'cancelled_by_user', at: NOON }),
    ]) {
      expect(reset.revision).toBeGreaterThan(first.revision);
      expect((await db().write(reset, decisionReceipts(reset)))?.record).toEqual(first);
    }
    expect((await db().receipts(SCOPE, record.id))?.map(({ kind }) => kind)).toEqual(['created', 'admitted']);
  });

  test('finds nothing to write without a row', async () => {
    expect(await db().write(fresh().record, [])).toBeNull();
  });

  test('a supersededBy of the record itself is kept', async () => {
    const record = await paused(db(), { sessionId: 'own-mark' });
    const supersededBy = newContinuationId();
    const next = await happened(db(), record, {
      type: 'stopped',
      reason: 'superseded_by_newer_turn',
      supersededBy,
      at: later(MINUTE),
    });
    expect((await db().get(SCOPE, record.id))?.record).toEqual(next);
    expect(next.supersededBy).toBe(supersededBy);
  });
});

describe('receipts', () => {
  test('are chained over exactly their bodies', async () => {
    const record = await paused(db());
    const begun = granted(await db().beginTurn(beginning(answered(record))));
    const ended = await db().endTurn(completing(begun));
    const body = '{"text":"Ünïcode 👕 \\u0001 \\\\ \\" end"}';
    const last = play(ended.record, {
      type: 'delivered',
      deliveryId: begun.record.resume.turnId,
      status: 'delivered',
      at: later(5 * MINUTE),
    });
    const written = await db().write(last, [{ ...receipt('delivered', last), body }]);
    const receipts = await db().receipts(SCOPE, record.id);
    expect(receipts?.map(({ kind }) => kind)).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect(receipts?.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
    expect(receipts?.map(({ digest }) => digest)).toEqual(chained(receipts!));
    expect(receipts?.at(-1)).toMatchObject({
      body,
      digest: written?.receiptsHead,
      at: later(5 * MINUTE),
      continuationId: record.id,
    });
    for (const { body } of receipts!) expect(body).toBe(canonicalJson(JSON.parse(body)).replace('\u0001', '\\u0001'));
    expect(JSON.parse(receipts![2]!.body)).toEqual({
      at: begun.startedAt,
      attempt: 1,
      continuationId: record.id,
      kind: 'started',
      turnId: begun.record.resume.turnId,
    });
    expect(receipts![2]!.cause).toBe(`started:${begun.record.resume.turnId}:1`);
  });

  test('page by sequence, and are null for what is not there', async () => {
    const ended = await stopped(db());
    expect((await db().receipts(SCOPE, ended.id, 1))?.map(({ sequence }) => sequence)).toEqual([2]);
    expect(await db().receipts(SCOPE, ended.id, 2)).toEqual([]);
    expect(await db().receipts(SCOPE, newContinuationId())).toBeNull();
    expect(await db().receipts('tenant=else', ended.id)).toBeNull();
  });

  test('of one cause are written once, in the order they are given', async () => {
    const record = await paused(db());
    const denied = { ...answered(record) };
    const facts = [
      receipt('admitted', denied),
      receipt('admitted', denied),
      { ...receipt('admitted', denied), cause: 'b' },
    ];
    await db().write(denied, facts);
    expect((await db().receipts(SCOPE, record.id))?.map(({ cause }) => cause)).toEqual([
      'created',
      facts[0]!.cause,
      'b',
    ]);
  });

  test('of accepted answers come in pages with the latest, to exactly their scope', async () => {
    const record = await paused(db());
    const facts = [1, 2, 3].map((n) => ({ ...receipt('admitted', answered(record)), cause: `admitted:${n}` }));
    const [first, ...others] = facts;
    const settled = { ...first!, kind: 'settled', cause: 'settled' };
    await db().write(answered(record), [first!, settled, ...others]);
    const page = (after: number, limit: number, scope = SCOPE) =>
      db().admittedReceipts(scope, record.id, { after, limit });
    const shown = (found: Awaited<ReturnType<typeof page>>) => [
      found?.receipts.map(({ sequence }) => sequence),
      found?.more,
      found?.latest?.sequence,
    ];
    expect(shown(await page(0, 2))).toEqual([[2, 4], true, 5]);
    expect(shown(await page(4, 2))).toEqual([[5], false, 5]);
    expect(shown(await page(5, 2))).toEqual([[], false, 5]);
    expect((await page(0, 1))?.receipts).toEqual([(await db().receipts(SCOPE, record.id))?.[1]]);
    expect(await db().admittedReceipts(SCOPE, (await paused(db())).id, { after: 0, limit: 2 })).toEqual({
      receipts: [],
      more: false,
    });
    expect(await page(0, 2, 'tenant=else')).toBeNull();
    expect(await page(0, 2, `${SCOPE}/workspace=w`)).toBeNull();
  });
});

describe('scopes are never crossed (C16)', () => {
  const scopes = [
    'tenant=a',
    'tenant=a/workspace=w',
    'tenant=a/workspace=w/user=u',
    'tenant=ab',
    'tenant=a.b',
    'tenant=a-b',
    'tenant=a0',
    'tenant=A',
    'tenant=b',
  ];
  const reached: Record<string, string[]> = {
    'tenant=a': scopes.slice(0, 3),
    'tenant=a/workspace=w': scopes.slice(1, 3),
    'tenant=ab': ['tenant=ab'],
    'tenant=a0': ['tenant=a0'],
    tenant: [],
    'tenant=a/': [],
    'tenant=%': [],
    'tenant=c': [],
  };
  let ids: Map<string, string>;
  beforeAll(async () => {
    ids = new Map();
    for (const scope of scopes) ids.set(scope, (await paused(db(), { scope, sessionId: 'scoped' })).id);
  });

  test.each(Object.keys(reached))('a caller of %s', async (caller) => {
    for (const scope of scopes) {
      const id = ids.get(scope)!;
      const reaches = reached[caller]!.includes(scope);
      expect((await db().get(caller, id)) !== null).toBe(reaches);
      expect((await db().receipts(caller, id)) !== null).toBe(reaches);
      expect(await db().delete(caller, id)).toBe(false);
    }
    const listed = await db().list({ scope: caller, sessionId: 'scoped' });
    expect(listed.records.map(({ scope }) => scope)).toEqual(reached[caller]);
  });

  test('delete, contents and turn results', async () => {
    const record = await stopped(db(), { scope: 'tenant=ab', state: { question: 'secret of ab' } });
    expect(await db().delete('tenant=a', record.id)).toBe(false);
    expect(await db().content('tenant=a', record.suspension.state)).toBeNull();
    expect(await db().content('tenant=ab', record.suspension.state)).not.toBeNull();
    const begun = granted(
      await db().beginTurn(beginning(answered(await paused(db(), { scope: 'tenant=ab/workspace=w' })))),
    );
    await db().endTurn(completing(begun, 'done'));
    const { turnId } = begun.record.resume;
    expect(await db().turnResult('tenant=a', turnId)).toBeNull();
    expect(await db().turnResult('tenant=ab', turnId)).toEqual({
      outcome: 'completed',
      assistantMessage: { text: 'done' },
    });
    expect(await db().turnResult('tenant=ab', `${turnId}0`)).toBeNull();
  });

  test('getAcrossScopes says so', async () => {
    const id = ids.get('tenant=b')!;
    expect((await db().getAcrossScopes(id))?.record.scope).toBe('tenant=b');
    expect(await db().getAcrossScopes(newContinuationId())).toBeNull();
  });
});

describe('list', () => {
  const scope = 'tenant=lists';
  test('finds by words whatever the place in the order, page by page', async () => {
    const own = await createTestDatabase();
    const words = (n: number) => (n % 7 === 0 || n > 560 ? 'Where is the parcel?' : 'Which colour?');
    const records: PendingRecord[] = [];
    for (let n = 0; n < 600; n++) {
      const bounds = { expiresAt: later(HOUR + ((n * 37) % 600) * MINUTE) };
      records.push(await paused(own.store, { bounds, state: { question: words(n) } }));
    }
    const wanted = records.filter((_, n) => words(n).includes('parcel'));
    const byDeadline = wanted.toSorted((a, b) => (a.bounds.expiresAt ?? '').localeCompare(b.bounds.expiresAt ?? ''));
    for (const [order, expected] of [
      [undefined, wanted],
      ['deadline', byDeadline],
    ] as const) {
      const found: string[] = [];
      for (let after: string | undefined, more = true; more; ) {
        const query = { scope: SCOPE, status: 'open', text: 'parc', limit: 10 } as const;
        const page = await own.store.list({ ...query, ...(order && { order }), ...(after && { after }) });
        found.push(...page.records.map(({ id }) => id));
        after = page.next;
        more = after !== undefined;
      }
      expect(found).toEqual(expected.map(({ id }) => id));
    }
    await own.close();
  }, 60_000);

  test('filters by status, wait, session and assistant', async () => {
    const a = await paused(db(), { scope, sessionId: 'l1' });
    const b = answered(await paused(db(), { scope, assistantId: 'sales' }));
    await db().write(b, decisionReceipts(b));
    const c = await stopped(db(), { scope, sessionId: 'l1' });
    const d = await paused(db(), { scope, outcome: 'awaiting_approval', state: { approvalId: 'appr' } });
    const ids = async (query: object) => (await db().list({ scope, ...query })).records.map(({ id }) => id);
    expect(await ids({})).toEqual([a.id, b.id, c.id, d.id].sort());
    expect(await ids({ status: 'pending' })).toEqual([a.id, d.id].sort());
    expect(await ids({ status: 'resuming' })).toEqual([b.id]);
    expect(await ids({ status: 'cancelled' })).toEqual([c.id]);
    expect(await ids({ waitFor: 'approval_resolution' })).toEqual([d.id]);
    expect(await ids({ sessionId: 'l1' })).toEqual([a.id, c.id].sort());
    expect(await ids({ sessionId: 'l1', status: 'pending' })).toEqual([a.id]);
    expect(await ids({ assistantId: 'sales' })).toEqual([b.id]);
    expect(await ids({ assistantId: 'nobody' })).toEqual([]);
  });

  test('by deadline, by the latest change, and by words, each in pages', async () => {
    const scope = 'tenant=orders';
    const due = (minutes: number) => ({ bounds: { expiresAt: later(minutes * MINUTE) } });
    const never = await paused(db(), {
      scope,
      state: { question: 'Émile: ship to São Paulo?' },
      bounds: { neverExpires: true },
    });
    const late = await paused(db(), { scope, state: { question: 'Refund the “kettle”, please' }, ...due(90) });
    const soon = await paused(db(), { scope, state: { question: "Refund order #1042: O\\'Neil" }, ...due(10) });
    const tied = await paused(db(), { scope, state: { question: `${'x'.repeat(5_000)} <b>` }, ...due(90) });
    const first = await stopped(db(), { scope, at: later(MINUTE) });
    const last = await stopped(db(), { scope, at: later(2 * MINUTE) });
    const ids = async (query: object) => {
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await db().list({ scope, limit: 1, ...query, ...(after !== undefined && { after }) });
        seen.push(...page.records.map(({ id }) => id));
        after = page.next;
      } while (after !== undefined);
      return seen;
    };
    const byDeadline = [soon.id, ...[late.id, tied.id].sort(), never.id];
    expect(await ids({ status: 'open', order: 'deadline' })).toEqual(byDeadline);
    expect(await ids({ status: 'ended', order: 'latest' })).toEqual([last.id, first.id]);
    expect(await ids({ status: 'open', order: 'deadline', text: 'refund' })).toEqual([soon.id, late.id]);
    for (const [text, found] of [
      ['1042 REF', [soon.id]],
      ['neil', [soon.id]],
      ['kettle', [late.id]],
      ['são', [never.id]],
      ['x'.repeat(5_000), [tied.id]],
      ['refund nothing', []],
      ["' | 'a':* \\", []],
      ['…', []],
    ] as const)
      expect([text, await ids({ text })]).toEqual([text, found]);
    expect(await ids({ order: 'deadline', after: 'nonsense', status: 'open' })).toEqual(byDeadline);
  });

  test('finds a question that was asked anew, and not the one before', async () => {
    const scope = 'tenant=anew';
    const record = await paused(db(), { scope, state: { question: 'Which colour?' } });
    const { asked } = pauseOf({ question: 'Which size?' }, 'turn:2', later(MINUTE));
    const next = { ...record, revision: record.revision + 1, suspension: asked.suspension };
    await db().write(next, []);
    const found = async (text: string) => (await db().list({ scope, text })).records.map(({ id }) => id);
    expect([await found('size'), await found('colour')]).toEqual([[record.id], []]);
  });

  test('pages are stable while rows are added', async () => {
    const scope = 'tenant=pages';
    const before = [];
    for (let i = 0; i < 7; i++) before.push((await paused(db(), { scope })).id);
    before.sort();
    const seen: string[] = [];
    let after: string | undefined;
    let pages = 0;
    do {
      const page = await db().list({ scope, limit: 3, ...(after !== undefined && { after }) });
      expect(page.records.length).toBeLessThanOrEqual(3);
      seen.push(...page.records.map(({ id }) => id));
      after = page.next;
      // Added meanwhile: a later id, and an earlier one.
      if (++pages <= 2) await paused(db(), { scope });
      if (pages === 2) await paused(db(), { scope, id: 'cont_00000000000000000000000000' });
    } while (after !== undefined);
    expect(seen.slice(0, 7)).toEqual(before);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).not.toContain('cont_00000000000000000000000000');
    expect(seen).toHaveLength(9);
  });

  test('ends without a next exactly at the end, and limits the limit', async () => {
    const scope = 'tenant=limits';
    for (let i = 0; i < 51; i++) await paused(db(), { scope });
    const all = await db().list({ scope, limit: 1000 });
    expect(all.records).toHaveLength(51);
    expect(all).not.toHaveProperty('next');
    expect((await db().list({ scope })).records).toHaveLength(50);
    expect((await db().list({ scope, limit: 0 })).records).toHaveLength(1);
    expect(await db().list({ scope, limit: 51 })).not.toHaveProperty('next');
  });
});

describe('contents', () => {
  test('come back byte for byte, U+0000 and lone surrogates included', async () => {
    const bytes = Buffer.concat([
      Buffer.from('a\u0000b\\x00'),
      Buffer.from([0xed, 0xa0, 0x80, 0xff, 0x00, 0x5c, 0x27]),
    ]);
    const state = { bytes: new Uint8Array(bytes), mediaType: 'application/octet-stream' };
    const record = await paused(db(), {
      outcome: 'deferred',
      state: { question: 'x', operationId: 'o', text: '\u0000 \ud800' },
    });
    const stored = await db().content(SCOPE, record.suspension.state);
    expect(JSON.parse(Buffer.from(stored!.bytes).toString())).toEqual({
      question: 'x',
      operationId: 'o',
      text: '\u0000 \ud800',
    });

    const content = contentOf(state.bytes, state.mediaType);
    await db().putContents(SCOPE, record.id, [content, content, contentOf(new Uint8Array(0), 'text/plain')]);
    const back = await db().content(SCOPE, content.ref);
    expect(Buffer.from(back!.bytes).equals(bytes)).toBe(true);
    expect(back?.ref).toEqual(content.ref);
    expect((await db().content(SCOPE, contentOf(new Uint8Array(0), 'text/plain').ref))?.bytes).toHaveLength(0);
    // A view into a larger buffer is that view only.
    const view = contentOf(new Uint8Array(Buffer.from('0123456789').subarray(2, 5)), 'text/plain');
    await db().putContents(SCOPE, record.id, [view]);
    expect(Buffer.from((await db().content(SCOPE, view.ref))!.bytes).toString()).toBe('234');
  });

  test('eight MiB', async () => {
    const record = await paused(db());
    const content = contentOf(new Uint8Array(8 * 1024 * 1024).fill(7), 'application/octet-stream');
    await db().putContents(SCOPE, record.id, [content]);
    expect(Buffer.from((await db().content(SCOPE, content.ref))!.bytes).equals(Buffer.from(content.bytes))).toBe(true);
  });

  test('are not stored for a continuation of another scope', async () => {
    const record = await paused(db());
    const content = contentOf(Buffer.from('stray'), 'text/plain');
    await db().putContents('tenant=else', record.id, [content]);
    await db().putContents(SCOPE, newContinuationId(), [content]);
    expect(await db().content('tenant=else', content.ref)).toBeNull();
    expect(await db().content(SCOPE, content.ref)).toBeNull();
  });

  test('an answer that travels by reference is there when its turn begins', async () => {
    const record = await paused(db());
    const content = contentOf(Buffer.from('{"type":"user_reply","message":{"text":"long"}}'), 'application/json');
    await db().putContents(SCOPE, record.id, [content]);
    const begun = granted(await db().beginTurn(beginning(answered(record, { input: { ref: content.ref } }))));
    expect(Buffer.from(begun.input!.bytes)).toEqual(content.bytes);
    expect(begun.input?.ref).toEqual(content.ref);
    expect(begun.state.ref).toEqual(record.suspension.state);
    expect(JSON.parse(Buffer.from(begun.state.bytes).toString())).toEqual({ question: `${record.id}?` });
  });
});

describe('delete', () => {
  test('takes terminal records only, with all that belongs to them, and frees the key', async () => {
    const open = await paused(db());
    expect(await db().delete(SCOPE, open.id)).toBe(false);
    expect(await db().get(SCOPE, open.id)).not.toBeNull();

    const begun = granted(await db().beginTurn(beginning(answered(await paused(db(), { key: 'freed' })))));
    const { id } = begun.record;
    const ended = await db().endTurn(completing(begun));
    await happened(db(), ended.record, {
      type: 'stopped',
      reason: 'session_no_longer_deliverable',
      at: later(5 * MINUTE),
    });
    expect(await db().delete('tenant=acme/workspace=w', id)).toBe(false);
    expect(await db().delete(SCOPE, id)).toBe(true);
    expect(await db().delete(SCOPE, id)).toBe(false);
    expect(await db().getAcrossScopes(id)).toBeNull();
    expect(await db().receipts(SCOPE, id)).toBeNull();
    expect(await db().turnResult(SCOPE, begun.record.resume.turnId)).toBeNull();
    expect(
      await database.query('select from continuations.content_refs where continuation_id = $1', [id]),
    ).toHaveLength(0);
    expect(await db().create(fresh({ key: 'freed' }))).toMatchObject({ created: true });
  });
});

describe('malformed records', () => {
  test('are an error at load that says where', async () => {
    const record = await paused(db(), { scope: 'tenant=broken' });
    await database.query(
      `update continuations.continuations set record = jsonb_set(record, '{bounds,maxResumeAttempts}', '"many"') where id = $1`,
      [record.id],
    );
    const error = await db()
      .get('tenant=broken', record.id)
      .catch((thrown: unknown) => thrown);
    expect(isContinuationError(error, 'record_malformed')).toBe(true);
    expect((error as Error).message).toContain(record.id);
    expect((error as Error).message).toContain('bounds.maxResumeAttempts');
  });

  test.each([undefined, 'deadline', 'latest'] as const)(
    'are named in a list, which shows the others: order %s',
    async (order) => {
      const scope = `tenant=broken/order=${order}`;
      const ids: string[] = [];
      for (let n = 0; n < 3; n++) {
        const at = later(n * MINUTE);
        const { id } = await paused(db(), { scope, at, bounds: { expiresAt: later(HOUR + n * MINUTE) } });
        ids.push(id);
      }
      if (order === 'latest') ids.reverse();
      await database.query(`update continuations.continuations set record = record - 'waitFor' where id = $1`, [
        ids[1],
      ]);
      const query = { scope, ...(order && { order }) };
      const page = await db().list(query);
      expect(page.records.map(({ id }) => id)).toEqual([ids[0], ids[2]]);
      expect(page.malformed).toEqual([
        { id: ids[1], message: expect.stringContaining(`${ids[1]} is malformed: waitFor`) },
      ]);
      // A page that ends with it goes on after it.
      const first = await db().list({ ...query, limit: 2 });
      expect(first.records.map(({ id }) => id)).toEqual([ids[0]]);
      const rest = await db().list({ ...query, limit: 2, after: first.next as string });
      expect(rest.records.map(({ id }) => id)).toEqual([ids[2]]);
      // Only to those who reach it (C16).
      expect(await db().list({ ...query, scope: 'tenant=nobody' })).toEqual({ records: [] });
    },
  );
});

describe('onChange', () => {
  test('calls back with the ids of changed rows until closed', async () => {
    const heard: string[] = [];
    const other: string[] = [];
    const listening = db().onChange((id) => heard.push(id));
    const second = db().onChange((id) => other.push(id));
    // Listening begins a moment later.
    const hears = async () => (await paused(db())) && heard.length > 0;
    await expect.poll(hears, { timeout: 5000 }).toBe(true);
    const record = await paused(db(), { sessionId: 'heard' });
    await expect.poll(() => heard.filter((id) => id === record.id).length).toBe(1);
    const next = await happened(db(), record, { type: 'extended', expiresAt: later(5 * HOUR), at: later(MINUTE) });
    await expect.poll(() => heard.filter((id) => id === record.id).length).toBe(2);
    await db().write(next, []);
    const newer = await paused(db(), { sessionId: 'heard', supersede: true });
    await expect.poll(() => heard.filter((id) => id === record.id).length).toBe(3);
    await expect.poll(() => heard).toContain(newer.id);
    listening.close();
    listening.close();
    const last = await paused(db());
    await expect.poll(() => other).toContain(last.id);
    expect(heard).not.toContain(last.id);
    second.close();
  });

  test('tells also of what was committed and never acknowledged', async () => {
    const own = await createTestDatabase();
    const proxy = await startForgettingProxy(own.url);
    const writer = createStore({ url: proxy.url, poolSize: 1, waitMs: 10_000 });
    const heard: string[] = [];
    const listening = own.store.onChange((id, status) => heard.push(`${id} ${status}`));
    await expect.poll(async () => (await paused(writer)) && heard.length > 0).toBe(true);
    const input = fresh();
    const { id } = input.record;
    proxy.forget();
    expect(await writer.create(input)).toMatchObject({ created: true });
    await expect.poll(() => heard).toContain(`${id} pending`);
    const next = answered(input.record);
    proxy.forget();
    expect((await writer.write(next, decisionReceipts(next)))?.record).toEqual(next);
    await expect.poll(() => heard).toContain(`${id} resuming`);
    expect(proxy.forgotten).toBe(2);
    listening.close();
    await writer.close();
    proxy.close();
    await own.close();
  });

  test('tells the status, an unknown outcome apart, over one connection that ends with the store', async () => {
    const own = await createTestDatabase();
    const heard: string[] = [];
    const listening = own.store.onChange((_, status) => heard.push(status ?? ''));
    const another = own.store.onChange(() => {});
    await expect.poll(async () => (await paused(own.store)) && heard.length > 0).toBe(true);
    expect(heard[0]).toBe('pending');
    const stopped = await paused(own.store);
    await happened(own.store, stopped, { type: 'stopped', reason: 'cancelled_by_user', at: later(MINUTE) });
    await expect.poll(() => heard).toContain('cancelled');
    const listeners = () =>
      query(own.url, `select from pg_stat_activity where datname = current_database() and query like 'listen%'`);
    expect(await listeners()).toHaveLength(1);
    listening.close();
    another.close();
    await own.store.close();
    expect(await listeners()).toHaveLength(0);
    await own.close();
  });
});
