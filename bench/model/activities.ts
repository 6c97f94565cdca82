/** The activities, after activities/*.ts and src/close.ts; the rules are the real ones. */
import { next, step } from '../../src/continuation.ts';
import type { NewSuspension } from '../../src/events.ts';
import type { Grant } from '../../src/ports.ts';
import { receipt } from '../../src/receipts.ts';
import type { ContinuationRecord, ResumingRecord } from '../../src/schema.ts';
import type { Without } from './guards.ts';
import { ask, type Given, type Outcome, type Program, recordOf, type Stop } from './programs.ts';

/** The first attempt to deliver is made here; one that throws is repeated by `deliver`. */
export function* runTurn(given: Given): Program {
  const ended = yield* startTurn(given);
  if (!('committed' in ended) || next(ended.committed).do !== 'deliver') return ended;
  const { again, ...attempted } = yield* deliverOnce(given, ended.committed as ResumingRecord);
  return attempted;
}

function* startTurn(given: Given): Program {
  const record = recordOf(given) as ResumingRecord;
  const { turnId } = record.resume;
  const { at } = given;
  const begun = yield* ask('beginTurn', { record });
  switch (begun.found) {
    case 'finished':
      return { committed: begun.record };
    case 'gone':
      return { failed: true };
    case 'superseded':
      return yield* close(given, record, { reason: 'superseded_by_newer_turn', supersededBy: begun.by });
    case 'lost':
      return yield* endUncertain(begun, at, 'lost');
    default:
  }
  const { came } = yield* ask('harness', { turnId });
  if (came === 'transient') return yield* endAttempt(begun, at);
  if (came === 'unknown') return yield* endUncertain(begun, at, 'unknown');
  const result = { outcome: came === 'completed' ? ('completed' as const) : ('needs_clarification' as const) };
  const suspension = came === 'asks again' ? { suspension: asksAgain(begun.record, at) } : {};
  const after = step(begun.record, {
    type: 'turnSettled',
    ...ofTurn(begun, at),
    result,
    ...suspension,
    deliverable: true,
  });
  if (!after.ok) return yield* notDecided(record);
  return yield* end(begun, 'settled', after.record);
}

const ofTurn = ({ record, attempt, startedAt }: Grant, at: string) => ({
  at,
  turnId: record.resume.turnId,
  attempt,
  startedAt,
});

/** The pause of a turn that asks again. */
function asksAgain(record: ResumingRecord, at: string): NewSuspension {
  const id = `sus_${record.answers.length + 1}`;
  const { waitFor, continuation, suspension } = record;
  return {
    ok: true,
    waitFor,
    continuation,
    stopReason: 'clarification_required',
    suspension: { ...suspension, id, createdAt: at },
  };
}

function* endAttempt(grant: Grant, at: string): Program {
  const error = { code: 'transient', message: '503' };
  const after = step(grant.record, { type: 'attemptEnded', ...ofTurn(grant, at), error });
  if (!after.ok) return yield* notDecided(grant.record);
  const fact = receipt('attempt_ended', after.record);
  const ended = yield* ask('endTurn', { fence: grant.fence, state: 'ended', record: after.record, receipt: fact });
  return ended.accepted ? { again: true } : { committed: ended.record };
}

function* endUncertain(grant: Grant, at: string, cause: 'lost' | 'unknown'): Program {
  const uncertain = { cause, at, message: 'nobody knows' };
  const after = step(grant.record, { type: 'turnUncertain', ...ofTurn(grant, at), uncertain });
  if (!after.ok) return yield* notDecided(grant.record);
  return yield* end(grant, 'uncertain', after.record);
}

function* end(grant: Grant, state: 'settled' | 'uncertain', record: ContinuationRecord): Program {
  const fact = receipt(state, record);
  return { committed: (yield* ask('endTurn', { fence: grant.fence, state, record, receipt: fact })).record };
}

function* notDecided(record: ContinuationRecord): Program {
  return { committed: (yield* ask('read', {}))?.record ?? record };
}

export function* closeActivity(given: Given): Program {
  return yield* close(given, recordOf(given), given.stop as Stop);
}

/** src/close.ts */
export function* close(
  given: Given,
  record: ContinuationRecord,
  stop: Stop,
): Program<Extract<Outcome, { committed: unknown }>> {
  const { at, onlyIfNotStarted = false } = given;
  const turnId = record.resume?.turnId ?? '';
  for (;;) {
    const base = (yield* ask('write', { record })) ?? { record };
    const after = step(base.record, { type: 'turnClosed', at, turnId, ...stop });
    if (!after.ok) return { committed: yield* hadEnded(given, base.record, stop) };
    const fact = receipt(after.record.status === 'expired' ? 'expired' : 'stopped', after.record);
    const closing = { turnId, record: after.record, basedOn: base.record.revision, onlyIfNotStarted, receipt: fact };
    const closed = yield* ask('closeTurn', closing);
    if (closed.closed) return { committed: closed.record };
    if (closed.because === 'started') return { committed: closed.record, started: true };
    if (closed.because === 'ended') return { committed: yield* hadEnded(given, closed.record, stop) };
  }
}

function* hadEnded(
  { at, leaveFollowUp = false, without }: Given,
  record: ContinuationRecord,
  stop: Stop,
): Program<ContinuationRecord> {
  if (next(record).do !== 'deliver' || (leaveFollowUp && !without.has('heardFirst'))) return record;
  const wanted = step(record, { type: 'stopped', at, ...stop });
  if (!wanted.ok || wanted.record === record) return record;
  return (yield* endFollowUp(record as ResumingRecord, at, wanted.record, without)) ?? record;
}

export function* endFollowUp(
  { resume: { turnId } }: ResumingRecord,
  at: string,
  wanted: ContinuationRecord,
  without: Without,
): Program<ContinuationRecord | undefined> {
  const begun = yield* ask('beginDelivery', { deliveryId: turnId });
  if (begun.found === 'finished') return begun.record;
  if (begun.found === 'gone') return undefined;
  const lost = begun.found === 'lost' && !without.has('mayHaveArrived');
  const after = lost
    ? step(begun.record, { type: 'deliveryUncertain', at, deliveryId: turnId, error: 'stopped' })
    : undefined;
  if (after && !after.ok) return undefined;
  return (yield* ask('endDelivery', { deliveryId: turnId, record: after?.record ?? wanted }))?.record;
}

export function* deliver(given: Given): Program {
  const { again, ...attempted } = yield* deliverOnce(given, recordOf(given) as ResumingRecord);
  return again ? { again } : attempted;
}

/** `again`: the adapter threw, and may be called again. */
type Attempted = Exclude<Outcome, { again: true }> & { readonly again?: true };

function* deliverOnce({ at }: Given, asked: ResumingRecord): Program<Attempted> {
  const deliveryId = asked.resume.turnId;
  const begun = yield* ask('beginDelivery', { deliveryId });
  if (begun.found === 'finished') return { committed: begun.record };
  if (begun.found === 'gone') return { failed: true };
  const { record } = begun;
  const finish = function* (event: Parameters<typeof step>[1]): Program<Attempted> {
    const after = step(record, event);
    if (!after.ok) return { failed: true };
    const stored = yield* ask('endDelivery', { deliveryId, record: after.record });
    return stored ? { committed: stored.record } : { failed: true };
  };
  if (begun.found === 'suppressed') return yield* finish({ type: 'delivered', at, deliveryId, status: begun.status });
  if (begun.found === 'lost') return yield* finish({ type: 'deliveryUncertain', at, deliveryId, error: 'lost' });
  const { came } = yield* ask('bring', { deliveryId });
  if (came === 'delivered')
    return yield* finish({ type: 'delivered', at, deliveryId, status: 'delivered', attemptedAt: at });
  const stored = yield* ask('endDelivery', { deliveryId });
  return stored ? { committed: stored.record, again: true } : { failed: true };
}

/** Both `open` and `project`: what the workflow knows is written to the row. */
export function* project(given: Given): Program {
  const record = recordOf(given);
  return { committed: (yield* ask('write', { record }))?.record ?? record };
}
