/** Clients and maintenance, after src/creating.ts, src/answering.ts, src/repair.ts; the rules are the real ones. */
import { step } from '../../src/continuation.ts';
import { answeredEvent, type SignedMessage } from '../../src/message.ts';
import { isTerminal } from '../../src/record.ts';
import type { ContinuationRecord } from '../../src/schema.ts';
import { close, endFollowUp } from './activities.ts';
import type { Without } from './guards.ts';
import { ask, type Given, type Program, type Reply, type Stop } from './programs.ts';

export function* creating({ record: given, without }: Given): Program {
  const record = given as ContinuationRecord;
  if (without.has('recordFirst')) {
    yield* ask('start', { record });
    yield* ask('create', { record });
    return { done: true };
  }
  const created = yield* ask('create', { record });
  yield* ask('start', { record: created.record });
  return { done: true };
}

const MAX_ROUNDS = 3;

/** src/answering.ts: an update, else a signal; whoever finds no workflow asks the row, and repairs. */
export function* answering(given: Given): Program {
  const message = given.message as SignedMessage;
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const reply = yield* ask('update', { message });
    const known = yield* asTheRowKnows(reply, given.without);
    if (!('unheard' in known)) return { told: known };
    if (known.unheard === 'unanswered' && (yield* ask('signal', { message })).found === 'stored')
      return { told: { stored: true } };
    const row = yield* ask('read', {});
    if (!row) return { told: { refused: 'not_found' } };
    const decided = decideOnRow(row.record, message, given.at);
    if (decided) return { told: decided };
    yield* repair(given, row.record);
  }
  return { told: { unheard: 'unanswered' } };
}

function decideOnRow(record: ContinuationRecord, message: SignedMessage, at: string): Reply | undefined {
  if (!isTerminal(record)) return undefined;
  const result = step(record, answeredEvent(message, at));
  if (result.ok) return undefined;
  if (result.refusal) return { refused: result.refusal.code, winner: result.refusal.winner };
  return { accepted: record, winner: result.repeated, repeated: true };
}

function* asTheRowKnows(reply: Reply, without: Without): Program<Reply> {
  const winner = 'unheard' in reply ? undefined : reply.winner;
  if (!winner) return reply;
  const row = yield* 'accepted' in reply ? ask('write', { record: reply.accepted }) : ask('read', {});
  const known = row?.record.answers.find((answer) => answer.suspensionId === winner.suspensionId);
  if (!row || known?.contentDigest === winner.contentDigest || without.has('rowKnows')) return reply;
  if (known) return { refused: 'already_resumed', winner: known };
  return 'accepted' in reply || isTerminal(row.record) ? { unheard: 'gone' } : reply;
}

export function* stopping({ stop }: Given): Program {
  yield* ask('stopSignal', { stop: stop as Stop });
  return { done: true };
}

/** A newer turn of the session: the row is marked first, then the workflow is told. */
export function* superseding(_: Given): Program {
  yield* ask('supersede', { by: NEWER });
  yield* ask('stopSignal', { stop: { reason: 'superseded_by_newer_turn', supersededBy: NEWER } });
  return { done: true };
}
const NEWER = 'cont_newer';

export function* maintenance(given: Given): Program {
  const row = yield* ask('read', {});
  if (!row || isTerminal(row.record)) return { done: true };
  const found = yield* repair(given, row.record);
  const { supersededBy } = row.record;
  if (found === 'open' && supersededBy)
    yield* ask('stopSignal', { stop: { reason: 'superseded_by_newer_turn', supersededBy } });
  return { done: true };
}

/** src/repair.ts */
function* repair(given: Given, record: ContinuationRecord): Program<'open' | 'ended'> {
  const { status } = yield* ask('describe', {});
  if (status === 'running') return 'open';
  if (status === 'none' && (yield* ask('start', { record })).found === 'running') return 'open';
  const { at } = given;
  const error = { code: 'workflow_closed', message: 'closed from outside' };
  const stop: Stop = { reason: 'resume_runtime_error', error };
  let now = record;
  if (record.status === 'resuming') {
    now = (yield* close({ ...given, onlyIfNotStarted: false }, record, stop)).committed;
    if (isTerminal(now)) return 'ended';
  }
  if (now.status === 'resuming') {
    const deliveryId = now.resume.turnId;
    const failed = step(now, { type: 'delivered', at, deliveryId, status: 'delivery_failed', error: error.message });
    if (failed.ok) yield* endFollowUp(now, at, failed.record, given.without);
    return 'ended';
  }
  const ended = step(now, { type: 'stopped', at, ...stop });
  if (ended.ok) yield* ask('write', { record: ended.record });
  return 'ended';
}
