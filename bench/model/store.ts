/**
 * The store as its contract has it, for one continuation: the functions of src/store/sql as pure functions of what is stored.
 * test/model.store.test.ts compares them with PostgreSQL over random sequences.
 */
import { canonicalJson } from '../../src/digest.ts';
import type {
  BeginDelivery,
  BeginTurn,
  Begun,
  Closed,
  CloseTurn,
  DeliveryBegun,
  EndDelivery,
  Ended,
  EndTurn,
  Grant,
  NewReceipt,
  TurnState,
} from '../../src/ports.ts';
import { isTerminal } from '../../src/record.ts';
import type { ContinuationRecord, ResumingRecord } from '../../src/schema.ts';
import type { Without } from './guards.ts';
import { one } from './values.ts';

export interface Row {
  readonly record: ContinuationRecord;
  readonly supersededBy?: string;
  readonly receipts: readonly NewReceipt[];
}
export interface Turn {
  readonly state: TurnState;
  readonly fence: number;
  readonly attempt: number;
  readonly answer: string;
  readonly token?: string;
  readonly granted?: 'fresh' | 'lost';
  readonly startedAt?: string;
  /** The record that it ended with. */
  readonly next?: ContinuationRecord;
}
export interface Delivery {
  readonly state: 'attempting' | 'retrying' | 'done';
  readonly attempt: number;
  readonly token: string;
  readonly granted: 'fresh' | 'lost';
}
export interface Db {
  readonly row?: Row;
  readonly turns: Readonly<Record<string, Turn>>;
  readonly deliveries: Readonly<Record<string, Delivery>>;
}
export const EMPTY: Db = { turns: {}, deliveries: {} };

/** What a call leaves behind, and what its caller is told. */
export type Result<A> = readonly [Db, A];
/** A row as readers see it. */
export interface Shown {
  readonly record: ContinuationRecord;
}

export function shown({ record, supersededBy }: Row): Shown {
  return { record: supersededBy ? one({ ...record, supersededBy }) : record };
}

/* Records */

export function create(db: Db, record: ContinuationRecord, receipt: NewReceipt): Result<Shown> {
  if (db.row) return [db, shown(db.row)];
  const row = { record: one(record), receipts: [one(receipt)] };
  return [{ ...db, row }, shown(row)];
}

export function write(
  db: Db,
  record: ContinuationRecord,
  receipts: readonly NewReceipt[],
  without: Without,
): Result<Shown | null> {
  if (!db.row) return [db, null];
  const row = movedOn(db.row, record, receipts, without);
  return [{ ...db, row }, shown(row)];
}

export function supersede(db: Db, supersededBy: string): Db {
  if (!db.row || db.row.supersededBy || isTerminal(db.row.record)) return db;
  return { ...db, row: { ...db.row, supersededBy } };
}

function movedOn(row: Row, record: ContinuationRecord, receipts: readonly NewReceipt[], without: Without): Row {
  if (isTerminal(row.record) && !without.has('final')) return row;
  if (record.revision <= row.record.revision && !without.has('forward')) return row;
  if (!goesOn(row.record, record) && !without.has('goesOn')) return row;
  return withReceipts(withRecord(row, record), receipts);
}

/** No answer that the row knows is missing, or another one. */
function goesOn(known: ContinuationRecord, record: ContinuationRecord): boolean {
  return known.answers.every(({ contentDigest }, index) => record.answers[index]?.contentDigest === contentDigest);
}

function withRecord(row: Row, record: ContinuationRecord): Row {
  const supersededBy = record.supersededBy ?? row.supersededBy;
  return { ...row, record: one(record), ...(supersededBy && { supersededBy }) };
}

function withReceipts(row: Row, added: readonly NewReceipt[]): Row {
  const isNew = ({ cause }: NewReceipt) => !row.receipts.some((known) => known.cause === cause);
  return { ...row, receipts: [...row.receipts, ...added.filter(isNew).map(one)] };
}

/* Turns */

function withTurn(db: Db, row: Row, turnId: string, turn: Turn): Db {
  return { ...db, row, turns: { ...db.turns, [turnId]: turn } };
}

function withStarted(row: Row, turnId: string, { attempt, startedAt: at = '' }: Turn): Row {
  const body = canonicalJson({ kind: 'started', continuationId: row.record.id, at, turnId, attempt });
  return withReceipts(row, [{ kind: 'started', cause: `started:${turnId}:${attempt}`, at, body }]);
}

function grantOf({ fence, attempt, startedAt = '' }: Turn, row: Row): Grant {
  return { fence, attempt, startedAt, spentMs: 0, record: shown(row).record as ResumingRecord };
}

/** What `fresh` reads besides: not of interest here. */
const STATE = { ref: { digest: 'sha256:', bytes: 0, mediaType: '' }, bytes: new Uint8Array() } as const;

function begun(turn: Turn, row: Row): Begun {
  return turn.granted === 'lost'
    ? { found: 'lost', ...grantOf(turn, row) }
    : { found: 'fresh', ...grantOf(turn, row), state: STATE };
}

export function beginTurn(db: Db, input: BeginTurn, without: Without): Result<Begun> {
  const { record, token, at, replayable } = input;
  const { row } = db;
  if (!row) return [db, { found: 'gone' }];
  const { turnId } = record.resume;
  const answer = record.answers.at(-1)?.contentDigest ?? '';
  const turn = db.turns[turnId];
  const finished = { found: 'finished', record: turn?.next ?? shown(row).record, receiptsHead: '' } as const;
  if (turn && turn.answer !== answer) return [db, { ...finished, ...shown(row) }];
  const ended = turn !== undefined && turn.state !== 'running' && turn.state !== 'ended';
  if (ended && !without.has('ended')) return [db, finished];
  if (isTerminal(row.record)) return [db, { ...finished, ...shown(row) }];
  if (row.supersededBy) return [db, { found: 'superseded', by: row.supersededBy }];
  if (!turn) return firstBegin(db, row, input, without);
  const own = turn.token === token ? !without.has('acknowledged') : without.has('token');
  if (turn.state === 'running' && own) return [db, begun(turn, row)];
  const granted = turn.state === 'running' && !replayable ? 'lost' : 'fresh';
  const { next, ...kept } = turn;
  const taken: Turn = { ...kept, state: 'running', fence: turn.fence + 1, token, granted };
  if (granted === 'lost') return [withTurn(db, row, turnId, taken), begun(taken, row)];
  const again = { ...taken, attempt: turn.attempt + 1, startedAt: at };
  const after = withStarted(row, turnId, again);
  return [withTurn(db, after, turnId, again), begun(again, after)];
}

function firstBegin(db: Db, row: Row, { record, token, at, receipts }: BeginTurn, without: Without): Result<Begun> {
  const { turnId } = record.resume;
  const answer = record.answers.at(-1)?.contentDigest ?? '';
  const moved = movedOn(row, record, receipts, without);
  const now = moved.record;
  if (now.resume?.turnId !== turnId || now.answers.at(-1)?.contentDigest !== answer)
    return [
      { ...db, row: moved },
      { found: 'finished', ...shown(moved), receiptsHead: '' },
    ];
  const turn: Turn = { state: 'running', fence: 1, attempt: 1, answer, token, granted: 'fresh', startedAt: at };
  const after = withStarted(moved, turnId, turn);
  return [withTurn(db, after, turnId, turn), begun(turn, after)];
}

export function endTurn(db: Db, input: Omit<EndTurn, 'spentMs'>, without: Without): Result<Ended> {
  const { turnId, fence, state, record, receipt } = input;
  const { row } = db;
  const turn = db.turns[turnId];
  if (!row) return [db, { accepted: false, record, receiptsHead: '' }];
  const refused = { accepted: false, record: turn?.next ?? shown(row).record, receiptsHead: '' };
  if (!turn || (turn.fence !== fence && !without.has('fence'))) return [db, refused];
  if (turn.state !== 'running') return [db, { ...refused, accepted: turn.state === state }];
  if (isTerminal(row.record) || row.record.revision >= record.revision) return [db, refused];
  const visible = record.status !== 'pending' || without.has('hidden');
  const after = withReceipts(visible ? withRecord(row, record) : row, [receipt]);
  const ended = withTurn(db, after, turnId, { ...turn, state, next: one(record) });
  return [ended, { accepted: true, record: one(record), receiptsHead: '' }];
}

export function closeTurn(db: Db, input: CloseTurn, without: Without): Result<Closed> {
  const { turnId, record, basedOn, onlyIfNotStarted, receipt } = input;
  const { row } = db;
  const turn = db.turns[turnId];
  if (!row) return [db, { closed: false, because: 'ended', record, receiptsHead: '' }];
  const now = { ...shown(row), receiptsHead: '' };
  const ended = turn && ['settled', 'failed', 'closed'].includes(turn.state) && !without.has('settledFirst');
  if (ended && turn.next) {
    const own = turn.state === 'closed' && turn.next === one(record);
    const stored = { record: turn.next, receiptsHead: '' };
    return [db, own ? { closed: true, ...stored } : { closed: false, because: 'ended', ...stored }];
  }
  if (isTerminal(row.record)) return [db, { closed: false, because: 'ended', ...now }];
  if (onlyIfNotStarted && turn && !without.has('started')) return [db, { closed: false, because: 'started', ...now }];
  if (row.record.revision > basedOn && !without.has('basedOn'))
    return [db, { closed: false, because: 'moved', ...now }];
  const fence = (turn?.fence ?? 0) + 1;
  const answer = turn?.answer ?? record.answers.at(-1)?.contentDigest ?? '';
  const closed: Turn = { attempt: 0, ...turn, state: 'closed', fence, answer, next: one(record) };
  const after = movedOn(row, record, [receipt], without);
  return [withTurn(db, after, turnId, closed), { closed: true, ...shown(after), receiptsHead: '' }];
}

/* Deliveries */

export function beginDelivery(db: Db, input: BeginDelivery, without: Without): Result<DeliveryBegun> {
  const { deliveryId, token, idempotent } = input;
  const { row } = db;
  if (!row) return [db, { found: 'gone' }];
  const { resume, status } = row.record;
  const before = db.deliveries[deliveryId];
  const over = status !== 'resuming' || resume?.turnId !== deliveryId || resume.outcome === undefined;
  if (before?.state === 'done' || over) return [db, { found: 'finished', ...shown(row), receiptsHead: '' }];
  const record = shown(row).record as ResumingRecord;
  const found = (delivery: Delivery, suppressed: boolean): Result<DeliveryBegun> => [
    { ...db, deliveries: { ...db.deliveries, [deliveryId]: { ...delivery, token } } },
    suppressed ? { found: 'suppressed', status: 'suppressed_superseded', record } : foundOf(delivery, record),
  ];
  const attempt = before?.attempt ?? 0;
  if (before?.state === 'attempting' && before.token === token) {
    const suppressed = row.supersededBy !== undefined && before.granted === 'fresh';
    return found({ ...before, state: suppressed ? 'retrying' : 'attempting' }, suppressed);
  }
  if (before?.state === 'attempting' && !without.has('attempting')) {
    const granted = idempotent ? 'fresh' : 'lost';
    return found({ ...before, granted, attempt: granted === 'fresh' ? attempt + 1 : attempt }, false);
  }
  if (row.supersededBy) return found({ state: 'retrying', attempt, token, granted: 'fresh' }, true);
  return found({ state: 'attempting', attempt: attempt + 1, token, granted: 'fresh' }, false);
}

function foundOf({ granted, attempt }: Delivery, record: ResumingRecord): DeliveryBegun {
  if (granted === 'lost') return { found: 'lost', record };
  return {
    found: 'fresh',
    record,
    result: { outcome: record.resume.outcome ?? 'completed' } as never,
    spentMs: 0,
    attempt,
  };
}

export function endDelivery(db: Db, input: Omit<EndDelivery, 'spentMs'>, without: Without): Result<Shown | null> {
  const { deliveryId, token, record, receipt } = input;
  const { row } = db;
  if (!row) return [db, null];
  const delivery = db.deliveries[deliveryId];
  const holds = delivery && (delivery.token === token || without.has('deliveryToken'));
  if (!holds || delivery.state === 'done') return [db, shown(row)];
  const state = record ? 'done' : 'retrying';
  const after = record ? movedOn(row, record, receipt ? [receipt] : [], without) : row;
  return [{ ...db, row: after, deliveries: { ...db.deliveries, [deliveryId]: { ...delivery, state } } }, shown(after)];
}
