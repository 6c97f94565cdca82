/** How a turn runs and ends; the decisions are made in `sql/turns.ts`, under the lock of the continuation's row (C6). */
import { sql } from 'kysely';
import type { Content } from '../content.ts';
import { ContinuationError } from '../errors.ts';
import type {
  BeginTurn,
  Begun,
  Closed,
  CloseTurn,
  Ended,
  EndTurn,
  Execution,
  Grant,
  ReconcileTurn,
  Turns,
} from '../ports.ts';
import type { ContentRef, ResumingRecord } from '../schema.ts';
import type { Deliveries } from './deliveries.ts';
import type { Journals } from './journal.ts';
import type { Notifier } from './notify.ts';
import { arrays, json } from './parameters.ts';
import type { StoredRow } from './records.ts';
import type { Connection } from './retry.ts';
import { within } from './scope.ts';

export type TurnEnds = Omit<Turns, keyof Deliveries | keyof Journals>;

export function createTurns(connection: Connection, notifier: Notifier): TurnEnds {
  const { run } = connection;
  const call: Call = async (name, args) => {
    const { row } = await connection.call<StoredRow>(name, args);
    // Also what had been done before: whoever did it may not have come to tell.
    if (row?.record) notifier.changed(row.record);
    return row as never;
  };
  return {
    beginTurn: (input) => beginTurn(call, input),
    endTurn: (input) => endTurn(call, input),
    closeTurn: (input) => closeTurn(call, input),
    reconcileTurn: (input) => reconcileTurn(call, input),
    executions: (scope, id) => executions(connection, scope, id),
    keepEvidence: (turnId, fence, evidence) =>
      run(async (db) => {
        await sql`
          update continuations.turns set evidence = evidence || jsonb_build_object(${String(fence)}::text, ${json(evidence)}::jsonb)
          where turn_id = ${turnId} and fence <> ${fence}`.execute(db);
      }),
    turnResult: (scope, turnId) =>
      run(async (db) => {
        const row = await db
          .selectFrom('continuations.turns as t')
          .innerJoin('continuations.continuations as c', 'c.id', 't.continuation_id')
          .select('t.result')
          .where('t.turn_id', '=', turnId)
          .where(within('c.scope', scope))
          .executeTakeFirst();
        return row?.result ?? null;
      }),
  };
}

/** Calls a function that returns the row of a continuation, and tells of it. */
type Call = <Row extends StoredRow>(name: string, args: readonly unknown[]) => Promise<Row | undefined>;

interface BegunRow extends StoredRow {
  found: 'fresh' | 'lost' | 'finished' | 'superseded' | 'gone';
  fence: number;
  attempt: number;
  started_at: string;
  spent_ms: number;
  worker: string | null;
  superseded_by: string;
  state: Buffer | null;
  input: Buffer | null;
}

async function beginTurn(call: Call, input: BeginTurn): Promise<Begun> {
  const { record, token, worker, at, replayable, receipts } = input;
  const row = await call<BegunRow>('begin_turn', [json(record), token, worker, at, replayable, json(receipts)]);
  if (!row?.record) return { found: 'gone' };
  switch (row.found) {
    case 'superseded':
      return { found: 'superseded', by: row.superseded_by };
    case 'finished':
      return { found: 'finished', record: row.record, receiptsHead: row.receipts_head };
    case 'lost':
      return { found: 'lost', ...grantOf(row), ...(row.worker && { worker: row.worker }) };
    default:
      return fresh(row);
  }
}

function grantOf(row: BegunRow): Grant {
  return {
    fence: row.fence,
    attempt: row.attempt,
    startedAt: row.started_at,
    spentMs: row.spent_ms,
    record: row.record as ResumingRecord,
  };
}

function fresh(row: BegunRow): Begun {
  const grant = grantOf(row);
  const { suspension, answers } = grant.record;
  const given = answers.at(-1)?.input;
  const state = contentOf(grant, 'suspension.state', suspension.state, row.state);
  if (!given || !('ref' in given)) return { found: 'fresh', ...grant, state };
  return {
    found: 'fresh',
    ...grant,
    state,
    input: contentOf(grant, `answers[${answers.length - 1}].input`, given.ref, row.input),
  };
}

function contentOf({ record }: Grant, path: string, ref: ContentRef, bytes: Buffer | null): Content {
  if (bytes) return { ref, bytes };
  throw new ContinuationError('record_malformed', `the content of ${record.id} at ${path} is missing: ${ref.digest}`);
}

interface DecidedRow<V> extends StoredRow {
  verdict: V;
}

/** A turn whose row was deleted ended long ago: what this execution came to is refused, and there is nothing else to show. */
const DELETED = '';

async function endTurn(call: Call, input: EndTurn): Promise<Ended> {
  const { turnId, fence, state, record, spentMs, result, receipt } = input;
  const { digests, bodies } = arrays(input.contents);
  const end = [turnId, fence, state, json(record), Math.round(spentMs), json(result), digests, bodies, json(receipt)];
  const row = await call<DecidedRow<'accepted' | 'refused'>>('end_turn', end);
  if (!row?.record) return { accepted: false, record, receiptsHead: DELETED };
  return { accepted: row.verdict === 'accepted', record: row.record, receiptsHead: row.receipts_head };
}

async function reconcileTurn(call: Call, input: ReconcileTurn): Promise<Ended> {
  const { turnId, attempt, state, record, result, receipts, effect } = input;
  const { digests, bodies } = arrays(input.contents);
  const decision = [
    turnId,
    attempt,
    state,
    json(record),
    json(result),
    digests,
    bodies,
    json(receipts),
    effect?.key,
    effect?.value,
  ];
  const row = await call<DecidedRow<'accepted' | 'refused'>>('reconcile_turn', decision);
  if (!row?.record) return { accepted: false, record, receiptsHead: DELETED };
  return { accepted: row.verdict === 'accepted', record: row.record, receiptsHead: row.receipts_head };
}

const journalled = sql<Execution['effects']>`coalesce((
  select jsonb_agg(jsonb_build_object('key', e.key, 'state', e.state, 'attempt', e.attempt) order by e.attempt, e.state, e.key)
  from continuations.effects e where e.turn_id = t.turn_id), '[]')`.as('effects');

async function executions({ run }: Connection, scope: string, id: string): Promise<Execution[]> {
  const rows = await run((db) =>
    db
      .selectFrom('continuations.turns as t')
      .innerJoin('continuations.continuations as c', 'c.id', 't.continuation_id')
      .select(['t.turn_id', 't.state', 't.attempt', 't.worker', 't.started_at', 't.evidence', journalled])
      .where('c.id', '=', id)
      .where(within('c.scope', scope))
      .orderBy('t.started_at')
      .execute(),
  );
  return rows.map(({ turn_id, state, attempt, worker, started_at, evidence, effects }) => ({
    turnId: turn_id,
    state,
    attempt,
    effects,
    late: evidence,
    ...(worker && { worker }),
    ...(started_at && { startedAt: started_at }),
  }));
}

async function closeTurn(call: Call, input: CloseTurn): Promise<Closed> {
  const { turnId, record, basedOn, onlyIfNotStarted, receipt } = input;
  const close = [turnId, json(record), basedOn, onlyIfNotStarted, json(receipt)];
  const row = await call<DecidedRow<'closed' | 'ended' | 'started' | 'moved'>>('close_turn', close);
  if (!row?.record) return { closed: false, because: 'ended', record, receiptsHead: DELETED };
  const stored = { record: row.record, receiptsHead: row.receipts_head };
  return row.verdict === 'closed' ? { closed: true, ...stored } : { closed: false, because: row.verdict, ...stored };
}
