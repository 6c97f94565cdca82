/**
 * The store of the model (bench/model/store.ts) and PostgreSQL do the same, call by call, over random sequences: so what the model
 * finds holds for the store. Calls come as lost, late and repeated as executions can make them.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as model from '../bench/model/store.ts';
import { step } from '../src/continuation.ts';
import type { ContinuationEvent } from '../src/events.ts';
import type { EndTurn, Grant, NewReceipt } from '../src/ports.ts';
import { decisionReceipts, receipt } from '../src/receipts.ts';
import type { ContinuationRecord, ResumingRecord } from '../src/schema.ts';
import { DAY, HOUR, later, MINUTE } from './support/builders.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { answered, fresh, pauseOf, SCOPE } from './support/stored.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.close());

const ALL = new Set<never>();
const CALLS = ['write', 'begin', 'begin', 'end', 'end', 'close', 'beginDelivery', 'endDelivery', 'supersede'] as const;
const call = fc.record({ do: fc.constantFrom(...CALLS), a: fc.nat(11), b: fc.nat(11), c: fc.nat(11) });
type Call = typeof call extends fc.Arbitrary<infer C> ? C : never;

/** A turn that ran and completed, whose follow-up is due. */
const SETTLES: readonly Call[] = [
  { do: 'begin', a: 0, b: 0, c: 1 },
  { do: 'end', a: 0, b: 0, c: 1 },
];

/** Everything that anybody may know by now: records that were written, computed or thrown away, and grants of every execution. */
interface Known {
  readonly id: string;
  readonly sessionId: string;
  db: model.Db;
  readonly records: ContinuationRecord[];
  readonly grants: Grant[];
  readonly answers: Map<string, number>;
}

let sessions = 0;
test('the model answers as PostgreSQL does', async () => {
  const answers = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(call, { minLength: 4, maxLength: 24 }), async (settled, calls) => {
      sessions += 1;
      const sessionId = `session-${sessions}`;
      const input = fresh({ sessionId });
      const { record } = input;
      await database.store.create(input);
      const [db] = model.create(model.EMPTY, record, input.receipt);
      // So that most sequences get somewhere: it has been answered, and two people know different answers.
      const records = [record, answered(record, { text: 'a' }), answered(record, { text: 'b' })];
      const known: Known = { id: record.id, sessionId, db, records, grants: [], answers };
      for (const one of [...(settled ? SETTLES : []), ...calls]) await carryOut(one, known);
      await agree(known);
    }),
    { numRuns: Number(process.env.RUNS ?? 300), endOnFailure: true },
  );
  // Every kind of answer was among them.
  console.log(Object.fromEntries([...answers].sort()));
  for (const kind of EXPECTED) expect([...answers.keys()]).toContain(kind);
}, 240_000);

const EXPECTED = [
  'write changed',
  'write unchanged',
  'begin fresh',
  'begin lost',
  'begin finished',
  'begin superseded',
  'end accepted',
  'end refused',
  'close closed',
  'close ended',
  'close started',
  'close moved',
  'beginDelivery fresh',
  'beginDelivery lost',
  'beginDelivery finished',
  'beginDelivery suppressed',
  'endDelivery done',
];

const pick = <T>(from: readonly T[], index: number): T | undefined => from[index % Math.max(1, from.length)];
/** Mostly what is newest, and sometimes what is long past. */
const pickLate = <T>(from: readonly T[], index: number): T | undefined =>
  index < 8 ? (from.at(-1 - (index % 2)) ?? from.at(-1)) : pick(from, index);

function note(known: Known, kind: string, record?: ContinuationRecord): void {
  known.answers.set(kind, (known.answers.get(kind) ?? 0) + 1);
  if (record) known.records.push(record);
}

/** Both were told the same, but for what the model leaves out. */
function same(real: object | null, modelled: object | null): void {
  const told = (answer: object | null) => {
    const { receiptsHead, spentMs, worker, state, input, result, ...rest } = { ...answer } as Record<string, unknown>;
    return answer && rest;
  };
  expect(told(modelled)).toEqual(told(real));
}

function carryOut(one: Call, known: Known): Promise<void> | void {
  switch (one.do) {
    case 'write':
      return write(one, known);
    case 'begin':
      return begin(one, known);
    case 'end':
      return end(one, known);
    case 'close':
      return close(one, known);
    case 'beginDelivery':
      return beginDelivery(one, known);
    case 'endDelivery':
      return endDelivery(one, known);
    case 'supersede':
      return one.a < 3 ? supersede(known) : undefined;
    default:
      return one.do satisfies never;
  }
}

async function write({ a, b }: Call, known: Known): Promise<void> {
  const base = pickLate(known.records, a) as ContinuationRecord;
  const record = b < 4 ? base : afterAny(base, b);
  if (!record) return;
  const before = known.db.row?.record;
  const facts = decisionReceipts(record);
  const real = await database.store.write(record, facts);
  const [db, modelled] = model.write(known.db, record, facts, ALL);
  same(real, modelled);
  known.db = db;
  note(known, db.row?.record === before ? 'write unchanged' : 'write changed', record);
}

/** The record after something that a workflow decides, if it can happen to it. */
function afterAny(base: ContinuationRecord, which: number): ContinuationRecord | undefined {
  const events: ContinuationEvent[] = [
    { type: 'stopped', at: later(2 * MINUTE), reason: 'cancelled_by_user' },
    { type: 'extended', at: later(2 * MINUTE), expiresAt: later(2 * HOUR + which * MINUTE) },
    { type: 'expired', at: later(DAY) },
  ];
  if (which > 8) return base.status === 'pending' ? answered(base, { text: `answer-${which}` }) : undefined;
  const result = step(base, events[which % 3] as ContinuationEvent);
  return result.ok ? result.record : undefined;
}

const isResuming = (record: ContinuationRecord): record is ResumingRecord => record.status === 'resuming';

async function begin({ a, b, c }: Call, known: Known): Promise<void> {
  const record = pickLate(known.records.filter(isResuming), a);
  if (!record) return;
  const receipts = [receipt('admitted', record)];
  const input = { record, token: `token-${b % 4}`, worker: 'w', at: later(MINUTE + b), replayable: c === 0, receipts };
  const real = await database.store.beginTurn(input);
  const [db, modelled] = model.beginTurn(known.db, input, ALL);
  same(real, modelled);
  known.db = db;
  note(known, `begin ${real.found}`, 'record' in real ? real.record : undefined);
  if (real.found === 'fresh' || real.found === 'lost') known.grants.push(real);
}

async function end({ a, b, c }: Call, known: Known): Promise<void> {
  const grant = pickLate(known.grants, a);
  if (!grant) return;
  const { turnId } = grant.record.resume;
  const at = later(2 * MINUTE + c);
  const pause = pauseOf({ question: `${turnId} asks` }, turnId, at);
  const error = { code: 'transient', message: '503' };
  const turn = { at, turnId, attempt: grant.attempt, startedAt: grant.startedAt };
  const settled = { type: 'turnSettled', ...turn, deliverable: b !== 1 } as const;
  const endings: [EndTurn['state'], ContinuationEvent][] = [
    ['settled', { ...settled, result: { outcome: 'completed' } }],
    ['settled', { ...settled, result: { outcome: 'needs_clarification' }, suspension: pause.asked }],
    ['ended', { type: 'attemptEnded', ...turn, error }],
    ['uncertain', { type: 'turnUncertain', ...turn, uncertain: { cause: 'lost', at, message: 'gone' } }],
  ];
  const [state, event] = endings[b % 4] as (typeof endings)[number];
  const after = step(grant.record, event);
  if (!after.ok) return;
  const kind = state === 'ended' ? 'attempt_ended' : state === 'uncertain' ? 'uncertain' : 'settled';
  const fact = receipt(kind, after.record);
  const input = { turnId, fence: c === 0 ? grant.fence - 1 : grant.fence, state, record: after.record, receipt: fact };
  const result = state === 'settled' ? { result: { outcome: 'completed' } as const } : {};
  const real = await database.store.endTurn({ ...input, ...result, spentMs: 0, contents: pause.contents });
  const [db, modelled] = model.endTurn(known.db, input, ALL);
  same(real, modelled);
  known.db = db;
  note(known, real.accepted ? 'end accepted' : 'end refused', real.record);
}

async function close({ a, b, c }: Call, known: Known): Promise<void> {
  const base = pickLate(known.records.filter(isResuming), a);
  if (!base) return;
  const { turnId } = base.resume;
  const reason = b % 2 === 0 ? 'cancelled_by_user' : 'expired_ttl';
  const after = step(base, { type: 'turnClosed', at: later(3 * MINUTE), turnId, reason });
  if (!after.ok) return;
  const fact = receipt(reason === 'expired_ttl' ? 'expired' : 'stopped', after.record);
  const basedOn = base.revision - (c < 4 ? 1 : 0);
  const input = { turnId, record: after.record, basedOn, onlyIfNotStarted: b % 2 === 1, receipt: fact };
  const real = await database.store.closeTurn(input);
  const [db, modelled] = model.closeTurn(known.db, input, ALL);
  same(real, modelled);
  known.db = db;
  note(known, `close ${real.closed ? 'closed' : real.because}`, real.record);
}

async function beginDelivery({ a, b, c }: Call, known: Known): Promise<void> {
  const record = pickLate(known.records.filter(isResuming), a);
  if (!record) return;
  const delivery = { deliveryId: record.resume.turnId, continuationId: known.id, token: `token-${b % 4}` };
  const input = { ...delivery, at: later(3 * MINUTE), idempotent: c === 0 };
  const real = await database.store.beginDelivery(input);
  const [db, modelled] = model.beginDelivery(known.db, input, ALL);
  same(real, modelled);
  known.db = db;
  note(known, `beginDelivery ${real.found}`);
}

async function endDelivery({ a, b, c }: Call, known: Known): Promise<void> {
  const record = pickLate(known.records.filter(isResuming), a);
  if (!record) return;
  const deliveryId = record.resume.turnId;
  const delivery = { deliveryId, continuationId: known.id, token: `token-${b % 4}` };
  const after = step(record, { type: 'delivered', at: later(4 * MINUTE), deliveryId, status: 'delivered' });
  const ended = c > 3 && after.ok ? { record: after.record, receipt: receipt('delivered', after.record) } : {};
  const real = await database.store.endDelivery({ ...delivery, ...ended, spentMs: 0 });
  const [db, modelled] = model.endDelivery(known.db, { ...delivery, ...ended }, ALL);
  same(real, modelled);
  known.db = db;
  note(known, 'endDelivery done');
}

async function supersede(known: Known): Promise<void> {
  const { record } = fresh();
  await database.store.create(fresh({ id: record.id, sessionId: known.sessionId, supersede: true }));
  known.db = model.supersede(known.db, record.id);
}

/** Row, receipts and turns are the same. */
async function agree({ id, db }: Known): Promise<void> {
  same(await database.store.get(SCOPE, id), db.row ? model.shown(db.row) : null);
  const facts = ({ kind, cause, body }: NewReceipt) => ({ kind, cause, body });
  expect(db.row?.receipts.map(facts)).toEqual((await database.store.receipts(SCOPE, id))?.map(facts));
  const executions = await database.store.executions(SCOPE, id);
  const turns = Object.entries(db.turns).map(([turnId, { state, attempt }]) => ({ turnId, state, attempt }));
  expect(turns.sort((x, y) => (x.turnId < y.turnId ? -1 : 1))).toEqual(
    executions
      .map(({ turnId, state, attempt }) => ({ turnId, state, attempt }))
      .sort((x, y) => (x.turnId < y.turnId ? -1 : 1)),
  );
}
