/** How a turn begins and ends, decided under the lock of its row (C6), on a real PostgreSQL. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newToken } from '../src/ids.ts';
import type { BeginTurn, CloseTurn, EndTurn, Grant } from '../src/ports.ts';
import { receipt } from '../src/receipts.ts';
import type { ContinuationRecord, ResumingRecord } from '../src/schema.ts';
import { DAY, HOUR, later, MINUTE } from './support/builders.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import {
  answered,
  beginning,
  chained,
  completing,
  fresh,
  granted,
  happened,
  ofTurn,
  paused,
  pauseOf,
  play,
  SCOPE,
} from './support/stored.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.close());
const db = () => database.store;

/** A stored pause, and the record after its answer. */
async function ready(): Promise<ResumingRecord> {
  return answered(await paused(db()));
}

async function running(options: Partial<BeginTurn> = {}) {
  return granted(await db().beginTurn(beginning(await ready(), options)));
}

type State = EndTurn['state'];
/** How `runTurn` ends a grant other than by a completed turn. */
function ending(grant: Grant, state: Exclude<State, 'settled'>, at = later(2 * MINUTE)): EndTurn {
  const turn = ofTurn(grant, { at });
  const error = { code: 'harness_error', message: '503' };
  const record = {
    ended: () => play(grant.record, { type: 'attemptEnded', ...turn, error }),
    failed: () => play(grant.record, { type: 'turnFailed', ...turn, error }),
    uncertain: () =>
      play(grant.record, { type: 'turnUncertain', ...turn, uncertain: { cause: 'lost', at, message: 'gone' } }),
  }[state]();
  const kind = { ended: 'attempt_ended', failed: 'settled', uncertain: 'uncertain' } as const;
  return {
    turnId: turn.turnId,
    fence: grant.fence,
    state,
    record,
    spentMs: 1500,
    receipt: receipt(kind[state], record),
  };
}

/** How a stop closes the turn of `record`. */
function closing(record: ResumingRecord, options: Partial<CloseTurn> = {}): CloseTurn {
  const { turnId } = record.resume;
  const closed = play(record, { type: 'turnClosed', turnId, reason: 'cancelled_by_user', at: later(3 * MINUTE) });
  return {
    turnId,
    record: closed,
    basedOn: record.revision,
    onlyIfNotStarted: false,
    receipt: receipt('stopped', closed),
    ...options,
  };
}

const kinds = async (id: string) => (await db().receipts(SCOPE, id))?.map(({ kind }) => kind);
const rowOf = async (id: string) => (await db().getAcrossScopes(id))?.record;
const turnRow = async (turnId: string) =>
  (await database.query('select * from continuations.turns where turn_id = $1', [turnId]))[0];

describe('beginTurn', () => {
  test('projects the accepted answer and grants the run', async () => {
    const record = await ready();
    const input = beginning(record);
    const begun = granted(await db().beginTurn(input));
    expect(begun).toMatchObject({ fence: 1, attempt: 1, startedAt: input.at, spentMs: 0, record });
    expect(begun).not.toHaveProperty('input');
    expect(await rowOf(record.id)).toEqual(record);
    expect(await kinds(record.id)).toEqual(['created', 'admitted', 'started']);
    expect(await turnRow(record.resume.turnId)).toMatchObject({
      worker: 'worker-1',
      state: 'running',
      token: input.token,
    });
  });

  test('after the client had projected it, writes the same once', async () => {
    const record = await ready();
    await db().write(record, [receipt('admitted', record)]);
    granted(await db().beginTurn(beginning(record)));
    expect(await kinds(record.id)).toEqual(['created', 'admitted', 'started']);
  });

  test('recognises its own token after a lost acknowledgement', async () => {
    const input = beginning(await ready());
    const begun = await db().beginTurn(input);
    expect(await db().beginTurn({ ...input, at: later(HOUR) })).toEqual(begun);
    expect(await kinds(input.record.id)).toEqual(['created', 'admitted', 'started']);
  });

  test('twenty at once: one runs, the others are told it is lost only with a higher fence', async () => {
    const record = await ready();
    const begun = await Promise.all(Array.from({ length: 20 }, () => db().beginTurn(beginning(record))));
    expect(begun.filter(({ found }) => found === 'fresh')).toHaveLength(1);
    const fences = begun.map((each) => ('fence' in each ? each.fence : 0)).sort((a, b) => a - b);
    expect(fences).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  });

  test('another execution of a running turn may only record that it is unknown (C7, C8)', async () => {
    const begun = await running();
    const input = beginning(begun.record);
    const lost = await db().beginTurn(input);
    expect(lost).toMatchObject({
      found: 'lost',
      fence: 2,
      attempt: 1,
      startedAt: begun.startedAt,
      record: begun.record,
    });
    // Also when that answer got lost: what was granted stays granted.
    expect(await db().beginTurn(input)).toEqual(lost);
    expect(await kinds(begun.record.id)).toEqual(['created', 'admitted', 'started']);
    if (lost.found !== 'lost') throw new Error(lost.found);
    const end = ending(lost, 'uncertain');
    expect(await db().endTurn(end)).toMatchObject({ accepted: true, record: end.record });
    expect(await rowOf(begun.record.id)).toEqual(end.record);
    // The one that was slow, not lost, is refused.
    expect(await db().endTurn(completing(begun))).toMatchObject({ accepted: false, record: end.record });
    expect(await db().beginTurn(beginning(begun.record))).toMatchObject({ found: 'finished', record: end.record });
  });

  test('a replayable harness runs it again', async () => {
    const begun = await running();
    const again = granted(await db().beginTurn(beginning(begun.record, { replayable: true, at: later(5 * MINUTE) })));
    expect(again).toMatchObject({ fence: 2, attempt: 2, startedAt: later(5 * MINUTE) });
    expect(again.state).toEqual(begun.state);
    expect(await kinds(begun.record.id)).toEqual(['created', 'admitted', 'started', 'started']);
    expect(await db().endTurn(completing(begun))).toMatchObject({ accepted: false });
    expect(await db().endTurn(completing(again))).toMatchObject({ accepted: true });
  });

  test('after a recorded transient end the same answer runs again, with what was spent', async () => {
    const begun = await running();
    const end = ending(begun, 'ended');
    expect(await db().endTurn(end)).toMatchObject({ accepted: true, record: end.record });
    expect(await rowOf(begun.record.id)).toEqual(end.record);
    // The workflow still holds the record that it accepted.
    const input = beginning(begun.record, { at: later(4 * MINUTE) });
    const again = granted(await db().beginTurn(input));
    expect(again).toMatchObject({
      fence: 2,
      attempt: 2,
      startedAt: later(4 * MINUTE),
      spentMs: 1500,
      record: end.record,
    });
    expect(await db().beginTurn(input)).toEqual(again);
    expect(await kinds(begun.record.id)).toEqual(['created', 'admitted', 'started', 'attempt_ended', 'started']);
    // The end of the first attempt, once more: refused, and shows what is there now.
    expect(await db().endTurn(end)).toMatchObject({ accepted: false, record: end.record });
    expect(await db().endTurn(completing(again))).toMatchObject({ accepted: true });
  });

  test.each(['failed', 'uncertain'] as const)('of a turn that ended as %s returns that end', async (state) => {
    const begun = await running();
    const end = ending(begun, state);
    const ended = await db().endTurn(end);
    expect(await db().beginTurn(beginning(begun.record))).toEqual({
      found: 'finished',
      record: end.record,
      receiptsHead: ended.receiptsHead,
    });
  });

  test('of a settled turn returns its end, and changes nothing', async () => {
    const begun = await running();
    const ended = await db().endTurn(completing(begun));
    const { accepted, ...stored } = ended;
    expect(await db().beginTurn(beginning(begun.record, { replayable: true }))).toEqual({
      found: 'finished',
      ...stored,
    });
    expect(await kinds(begun.record.id)).toEqual(['created', 'admitted', 'started', 'settled']);
  });

  test('of another answer for the same turn returns the row, which the workflow adopts (a reset)', async () => {
    const record = await paused(db());
    const [one, two] = [answered(record, { text: 'one' }), answered(record, { text: 'two' })];
    const begun = granted(await db().beginTurn(beginning(one)));
    expect(await db().beginTurn(beginning(two))).toMatchObject({ found: 'finished', record: one });
    const ended = await db().endTurn(completing(begun));
    expect(await db().beginTurn(beginning(two))).toMatchObject({ found: 'finished', record: ended.record });
    expect(await kinds(record.id)).toEqual(['created', 'admitted', 'started', 'settled']);
  });

  test('of another answer than the projected one returns the row too, though no turn runs', async () => {
    const record = await paused(db());
    const [one, two] = [answered(record, { text: 'one' }), answered(record, { text: 'two' })];
    await db().write(one, [receipt('admitted', one)]);
    expect(await db().beginTurn(beginning(two))).toMatchObject({ found: 'finished', record: one });
    expect(await kinds(record.id)).toEqual(['created', 'admitted']);
    expect(granted(await db().beginTurn(beginning(one))).record).toEqual(one);
  });

  test('after a re-pend was opened, an older workflow meets the newer question', async () => {
    const begun = await running();
    const asks = asking(begun);
    await db().endTurn(asks);
    await db().write(asks.record, [receipt('opened', asks.record)]);
    const older = answered(
      { ...begun.record, status: 'pending', bounds: { ...begun.record.bounds, resumeAttempts: 0 } } as never,
      { text: 'other' },
    );
    expect(older.resume.turnId).toBe(begun.record.resume.turnId);
    expect(await db().beginTurn(beginning(older))).toMatchObject({ found: 'finished', record: asks.record });
  });

  test('of an answer that an older workflow accepted while the row moved on returns the row', async () => {
    const record = await paused(db());
    const one = await happened(db(), record, { type: 'extended', expiresAt: later(3 * HOUR), at: later(MINUTE) });
    const two = await happened(db(), one, { type: 'extended', expiresAt: later(4 * HOUR), at: later(MINUTE) });
    expect(await db().beginTurn(beginning(answered(record)))).toMatchObject({ found: 'finished', record: two });
    expect(await turnRow(`${record.id}:resume:1`)).toBeUndefined();
  });

  test('of a terminal continuation returns it', async () => {
    const record = await paused(db());
    const next = answered(record);
    const stopped = await happened(db(), record, { type: 'stopped', reason: 'cancelled_by_user', at: later(MINUTE) });
    expect(await db().beginTurn(beginning(next))).toMatchObject({ found: 'finished', record: stopped });
    expect(await kinds(record.id)).toEqual(['created', 'stopped']);
  });

  test('does not run again what was ended past its turn', async () => {
    const begun = await running();
    const { record } = await db().endTurn(ending(begun, 'ended'));
    const failed = {
      ...record,
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      revision: record.revision + 1,
    } as ContinuationRecord;
    await db().write(failed, []);
    for (const replayable of [false, true]) {
      expect(await db().beginTurn(beginning(begun.record, { replayable }))).toMatchObject({
        found: 'finished',
        record: failed,
      });
    }
    expect(await kinds(record.id)).toEqual(['created', 'admitted', 'started', 'attempt_ended']);
  });

  test('does not start what was superseded, and writes nothing', async () => {
    const sessionId = 'superseded-before';
    const record = await paused(db(), { sessionId });
    const newer = await paused(db(), { sessionId, supersede: true });
    expect(await db().beginTurn(beginning(answered(record)))).toEqual({ found: 'superseded', by: newer.id });
    expect(await rowOf(record.id)).toEqual({ ...record, supersededBy: newer.id });
    expect(await kinds(record.id)).toEqual(['created']);
    expect(await turnRow(`${record.id}:resume:1`)).toBeUndefined();
  });

  test('a turn that had ended before it was superseded keeps its end', async () => {
    const sessionId = 'superseded-after';
    const begun = granted(await db().beginTurn(beginning(answered(await paused(db(), { sessionId })))));
    const ended = await db().endTurn(completing(begun));
    await paused(db(), { sessionId, supersede: true });
    expect(await db().beginTurn(beginning(begun.record))).toMatchObject({ found: 'finished', record: ended.record });
  });

  test('finds nothing of what was never created', async () => {
    expect(await db().beginTurn(beginning(answered(fresh().record)))).toEqual({ found: 'gone' });
  });

  test('a state that is missing is an error that says where', async () => {
    const record = await ready();
    await database.query('delete from continuations.contents where digest = $1', [record.suspension.state.digest]);
    await expect(db().beginTurn(beginning(record))).rejects.toMatchObject({
      code: 'record_malformed',
      message: expect.stringContaining('suspension.state'),
    });
  });
});

/** How a granted turn ends that asks again. */
function asking(grant: Grant): EndTurn {
  const turn = ofTurn(grant);
  const pause = pauseOf({ question: 'and now?' }, turn.turnId, turn.at);
  const record = play(grant.record, {
    type: 'turnSettled',
    result: { outcome: 'needs_clarification' },
    suspension: pause.asked,
    deliverable: true,
    ...turn,
  });
  return {
    turnId: turn.turnId,
    fence: grant.fence,
    state: 'settled',
    record,
    spentMs: 0,
    result: { outcome: 'needs_clarification', continuation: { state: null } },
    contents: pause.contents,
    receipt: receipt('settled', record),
  };
}

describe('endTurn', () => {
  test('commits turn, record, result, contents and receipt together', async () => {
    const begun = await running();
    const end = completing(begun, 'all done');
    const ended = await db().endTurn(end);
    expect(ended).toMatchObject({ accepted: true, record: end.record });
    expect(await db().getAcrossScopes(begun.record.id)).toEqual({
      record: end.record,
      receiptsHead: ended.receiptsHead,
    });
    expect(await db().turnResult(SCOPE, end.turnId)).toEqual(end.result);
    const receipts = await db().receipts(SCOPE, begun.record.id);
    expect(receipts?.map(({ kind }) => kind)).toEqual(['created', 'admitted', 'started', 'settled']);
    expect(receipts?.at(-1)?.digest).toBe(ended.receiptsHead);
    expect(receipts?.map(({ digest }) => digest)).toEqual(chained(receipts!));
  });

  test('repeated after a lost acknowledgement gets the same, and writes nothing', async () => {
    const begun = await running();
    const end = completing(begun);
    const ended = await db().endTurn(end);
    expect(await db().endTurn(end)).toEqual(ended);
    expect(await kinds(begun.record.id)).toEqual(['created', 'admitted', 'started', 'settled']);
  });

  test.each(['ended', 'failed', 'uncertain'] as const)('repeated as %s gets the same', async (state) => {
    const end = ending(await running(), state);
    const ended = await db().endTurn(end);
    expect(ended.accepted).toBe(true);
    expect(await db().endTurn(end)).toEqual(ended);
  });

  test('with another end than the recorded one is refused (C6)', async () => {
    const begun = await running();
    const ended = await db().endTurn(completing(begun));
    expect(await db().endTurn(ending(begun, 'failed'))).toEqual({ ...ended, accepted: false });
    expect(await db().turnResult(SCOPE, begun.record.resume.turnId)).toMatchObject({ outcome: 'completed' });
  });

  test('a re-pend is stored, but the row shows it only when it is opened (C5)', async () => {
    const begun = await running();
    const end = asking(begun);
    const ended = await db().endTurn(end);
    expect(ended).toMatchObject({ accepted: true, record: end.record });
    expect(await rowOf(begun.record.id)).toEqual(begun.record);
    expect((await db().getAcrossScopes(begun.record.id))?.receiptsHead).toBe(ended.receiptsHead);
    expect(await db().endTurn(end)).toEqual(ended);
    expect(await db().beginTurn(beginning(begun.record))).toMatchObject({ found: 'finished', record: end.record });
    const opened = await db().write(end.record, [receipt('opened', end.record)]);
    expect(opened?.record).toEqual(end.record);
    expect(await kinds(begun.record.id)).toEqual(['created', 'admitted', 'started', 'settled', 'opened']);
    // The state of the new suspension is there.
    const second = granted(
      await db().beginTurn(
        beginning(answered(end.record as ContinuationRecord, { text: 'now', at: later(10 * MINUTE) })),
      ),
    );
    expect(JSON.parse(Buffer.from(second.state.bytes).toString())).toEqual({ question: 'and now?' });
    expect(second.record.resume.turnId).toBe(`${begun.record.id}:resume:2`);
  });

  test('a zombie writes nothing; what it came to is kept as evidence only', async () => {
    const begun = await running();
    const again = granted(await db().beginTurn(beginning(begun.record, { replayable: true })));
    const before = await db().getAcrossScopes(begun.record.id);
    const zombie = {
      ...completing(begun, 'zombie'),
      contents: [pauseOf({ question: 'zombie' }, 'turn', later(0)).contents[0]!],
    };
    expect(await db().endTurn(zombie)).toEqual({ accepted: false, ...before });
    await db().keepEvidence(zombie.turnId, begun.fence, { outcome: 'completed' });
    await db().keepEvidence(zombie.turnId, begun.fence, { outcome: 'completed' });
    // The holder of the fence has no evidence against itself.
    await db().keepEvidence(zombie.turnId, again.fence, { outcome: 'failed' });
    expect(await db().getAcrossScopes(begun.record.id)).toEqual(before);
    expect(await db().content(SCOPE, zombie.contents[0]!.ref)).toBeNull();
    expect(await db().turnResult(SCOPE, zombie.turnId)).toBeNull();
    expect((await turnRow(zombie.turnId))?.evidence).toEqual({ 1: { outcome: 'completed' } });
    expect(await db().endTurn(completing(again, 'real'))).toMatchObject({ accepted: true });
    expect(await db().turnResult(SCOPE, zombie.turnId)).toMatchObject({ assistantMessage: { text: 'real' } });
    expect((await turnRow(zombie.turnId))?.evidence).toEqual({ 1: { outcome: 'completed' } });
  });

  test('of a continuation that was ended past its turn is refused, and leaves no trace (C10)', async () => {
    const begun = await running();
    const { record } = begun;
    const failed = {
      ...record,
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      revision: record.revision + 1,
    } as never;
    const written = await db().write(failed, []);
    expect(await db().endTurn(completing(begun))).toEqual({ accepted: false, ...written });
    expect(await db().turnResult(SCOPE, record.resume.turnId)).toBeNull();
    expect(await kinds(record.id)).toEqual(['created', 'admitted', 'started']);
  });

  test('of a continuation that was deleted meanwhile is refused', async () => {
    const begun = await running();
    await db().closeTurn(closing(begun.record));
    await db().delete(SCOPE, begun.record.id);
    const end = completing(begun);
    expect(await db().endTurn(end)).toEqual({ accepted: false, record: end.record, receiptsHead: '' });
    expect(await db().closeTurn(closing(begun.record))).toMatchObject({ closed: false, because: 'ended' });
    await db().keepEvidence(end.turnId, 1, { outcome: 'completed' });
  });
});

describe('closeTurn', () => {
  test('of a running turn ends the continuation and raises the fence', async () => {
    const begun = await running();
    const close = closing(begun.record);
    const closed = await db().closeTurn(close);
    expect(closed).toMatchObject({ closed: true, record: close.record });
    expect(await rowOf(begun.record.id)).toEqual(close.record);
    expect(await db().endTurn(completing(begun))).toMatchObject({ accepted: false, record: close.record });
    expect(await db().beginTurn(beginning(begun.record))).toMatchObject({ found: 'finished', record: close.record });
    await db().keepEvidence(close.turnId, begun.fence, { error: { code: 'x', message: 'late' } });
    expect(await turnRow(close.turnId)).toMatchObject({
      fence: 2,
      state: 'closed',
      evidence: { 1: { error: { code: 'x', message: 'late' } } },
    });
    expect(await kinds(begun.record.id)).toEqual(['created', 'admitted', 'started', 'stopped']);
  });

  test('before a begin inserts the closed turn', async () => {
    const record = await ready();
    const close = closing(record, { onlyIfNotStarted: true });
    // The row lags behind the workflow: the answer was never projected.
    expect((await rowOf(record.id))?.revision).toBeLessThan(close.basedOn);
    expect(await db().closeTurn(close)).toMatchObject({ closed: true, record: close.record });
    expect(await db().beginTurn(beginning(record, { replayable: true }))).toMatchObject({
      found: 'finished',
      record: close.record,
    });
    expect(await kinds(record.id)).toEqual(['created', 'stopped']);
  });

  test('repeated after a lost acknowledgement gets the same; another close is too late', async () => {
    const close = closing((await running()).record);
    const closed = await db().closeTurn(close);
    expect(await db().closeTurn(close)).toEqual(closed);
    const other = { ...close, record: { ...close.record, updatedAt: later(HOUR) } };
    expect(await db().closeTurn(other)).toEqual({ ...closed, closed: false, because: 'ended' });
    expect((await turnRow(close.turnId))?.fence).toBe(2);
  });

  test.each(['settled', 'failed'] as const)('after a turn that %s meets its end', async (state) => {
    const begun = await running();
    const end = state === 'settled' ? completing(begun) : ending(begun, state);
    const { accepted, ...stored } = await db().endTurn(end);
    expect(await db().closeTurn(closing(begun.record))).toEqual({ closed: false, because: 'ended', ...stored });
    expect((await rowOf(begun.record.id))?.revision).toBe(end.record.revision);
  });

  test('after a re-pend meets the new question, though the row does not show it yet', async () => {
    const begun = await running();
    const end = asking(begun);
    await db().endTurn(end);
    expect(await db().closeTurn(closing(begun.record))).toMatchObject({
      closed: false,
      because: 'ended',
      record: end.record,
    });
  });

  test('an unknown outcome can be closed', async () => {
    const begun = await running();
    const { record } = await db().endTurn(ending(begun, 'uncertain'));
    const close = closing(record as ResumingRecord);
    expect(await db().closeTurn(close)).toMatchObject({ closed: true, record: close.record });
  });

  test.each(['running', 'ended', 'uncertain'] as const)(
    'onlyIfNotStarted leaves a turn alone that is %s',
    async (state) => {
      const begun = await running();
      const stored = state === 'running' ? begun.record : (await db().endTurn(ending(begun, state))).record;
      const close = closing(stored as ResumingRecord, { onlyIfNotStarted: true });
      expect(await db().closeTurn(close)).toMatchObject({ closed: false, because: 'started', record: stored });
      expect((await turnRow(close.turnId))?.state).toBe(state);
    },
  );

  test('based on an older row is told that it moved', async () => {
    const begun = await running();
    const { record } = await db().endTurn(ending(begun, 'ended'));
    expect(await db().closeTurn(closing(begun.record))).toMatchObject({ closed: false, because: 'moved', record });
    const close = closing(record as ResumingRecord);
    expect(await db().closeTurn(close)).toMatchObject({ closed: true, record: close.record });
  });

  test('of a terminal continuation changes nothing', async () => {
    const record = await ready();
    const expired = await happened(db(), (await rowOf(record.id))!, { type: 'expired', at: later(DAY) });
    expect(await db().closeTurn(closing(record))).toMatchObject({ closed: false, because: 'ended', record: expired });
    expect(await turnRow(record.resume.turnId)).toBeUndefined();
  });

  test('of what was never created changes nothing', async () => {
    expect(await db().closeTurn(closing(answered(fresh().record)))).toMatchObject({
      closed: false,
      because: 'ended',
      receiptsHead: '',
    });
  });

  test('raced with the end of the turn a hundred times: one wins and both see the same', async () => {
    const wins = { ended: 0, closed: 0 };
    for (let round = 0; round < 100; round++) {
      const begun = await running();
      const end = completing(begun, 'raced');
      const close = closing(begun.record);
      // Either may be sent first.
      const calls = [() => db().endTurn(end), () => db().closeTurn(close)];
      if (round % 2 === 1) calls.reverse();
      const results = await Promise.all(calls.map((call) => call()));
      const ended = results.find((result) => 'accepted' in result)!;
      const closed = results.find((result) => 'closed' in result)!;
      if (!('accepted' in ended) || !('closed' in closed)) throw new Error('impossible');
      expect(ended.accepted).toBe(!closed.closed);
      expect(ended.record).toEqual(closed.record);
      expect(ended.record).toEqual(ended.accepted ? end.record : close.record);
      expect(await rowOf(begun.record.id)).toEqual(ended.record);
      expect(await kinds(begun.record.id)).toEqual([
        'created',
        'admitted',
        'started',
        ended.accepted ? 'settled' : 'stopped',
      ]);
      wins[ended.accepted ? 'ended' : 'closed']++;
    }
    expect(wins.ended).toBeGreaterThan(0);
    expect(wins.closed).toBeGreaterThan(0);
  });

  test('raced with a begin: either the turn runs and is closed, or it never starts', async () => {
    for (let round = 0; round < 50; round++) {
      const record = await ready();
      const close = closing(record, { onlyIfNotStarted: true });
      const calls = [() => db().beginTurn(beginning(record)), () => db().closeTurn(close)];
      if (round % 2 === 1) calls.reverse();
      const results = await Promise.all(calls.map((call) => call()));
      const begun = results.find((result) => 'found' in result)!;
      const closed = results.find((result) => 'closed' in result)!;
      if (!('found' in begun) || !('closed' in closed)) throw new Error('impossible');
      expect(begun.found).toBe(closed.closed ? 'finished' : 'fresh');
    }
  });
});

test('tokens are compared, not workers', async () => {
  const record = await ready();
  const token = newToken();
  const begun = granted(await db().beginTurn(beginning(record, { token, worker: 'a' })));
  expect(await db().beginTurn(beginning(record, { token, worker: 'b' }))).toEqual(begun);
  expect(await db().beginTurn(beginning(record, { worker: 'a' }))).toMatchObject({ found: 'lost' });
});
