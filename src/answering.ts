/**
 * Brings an answer to its workflow: as an update, so that it is refused without a trace or accepted before this returns; when
 * nobody answers in time, as a signal with the same identity, so that it is applied once when somebody does.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { type Accepted, answerSignals, REPEATED, resumeUpdate, takeUpdate } from '../workflows/messages.ts';
import { next, step } from './continuation.ts';
import { ContinuationError, unavailable } from './errors.ts';
import { newToken } from './ids.ts';
import { answeredEvent, type SignedMessage } from './message.ts';
import type { Policy } from './policy.ts';
import type { Stored } from './ports.ts';
import { decisionReceipts } from './receipts.ts';
import { isTerminal, winnerOf } from './record.ts';
import { type RepairDeps, repair } from './repair.ts';
import { type ContinuationRecord, type Refusal, RefusalCode, type Refused, type Winner } from './schema.ts';

interface Taken {
  readonly ok: true;
  readonly outcome: 'accepted';
  readonly answer: Winner;
  readonly record: ContinuationRecord;
  /** This very message had been accepted before. */
  readonly repeated?: true;
}
export type Answered =
  | Taken
  /** Nobody took it yet, but the message is durable and will be applied once. */
  | { readonly ok: true; readonly outcome: 'stored' }
  | Refused;

export interface AnsweringDeps extends RepairDeps {
  readonly policy: Policy;
  /** How long to wait for a worker before the answer is left as a signal, milliseconds. */
  readonly answerTimeoutMs: number;
}

/** `take`: the caller runs the turn, so that accepting its answer ends the continuation (000, interactive). */
export type Way = 'resume' | 'take';

const MAX_ROUNDS = 4;
const SIGNAL_TIMEOUT_MS = 5_000;
const GRPC_FAILED_PRECONDITION = 9;
const BEGIN_GRACE_MS = 10;

/** `stored` is the row as the caller may see it. Infrastructure errors are thrown as `temporal_unavailable`. */
export async function answer(deps: AnsweringDeps, stored: Stored, message: SignedMessage, way: Way): Promise<Answered> {
  const { id } = stored.record;
  const decided = decideOnRow(stored.record, message);
  if (decided) return decided;
  for (let round = 1; ; round++) {
    const sent = await sendUpdate(deps, id, message, way);
    if (typeof sent === 'object') return sent;
    if (sent === 'unanswered' && way === 'take') throw untaken(id);
    if (sent !== 'gone' && way === 'resume' && (await sendSignal(deps, id, message)) === 'stored')
      return { ok: true, outcome: 'stored' };
    const row = await deps.store.getAcrossScopes(id);
    if (!row) return { ok: false, refusal: { code: 'not_found', message: 'there is no such continuation' } };
    const late = decideOnRow(row.record, message);
    if (late) return late;
    if (round === MAX_ROUNDS)
      throw new ContinuationError(
        'temporal_unavailable',
        `The workflow of ${id} cannot be reached. Try the same message again.`,
      );
    await repair(deps, row);
  }
}

/** A signal would be taken later, when nobody is there to run it. */
function untaken(id: string): ContinuationError {
  const message = `No worker took the answer to ${id} in time. It may still be taken: look at it with get before asking again.`;
  return new ContinuationError('temporal_unavailable', message);
}

function repeat(winner: Winner, record: ContinuationRecord): Taken {
  return { ok: true, outcome: 'accepted', answer: winner, record, repeated: true };
}

/** An end is final (C10), and a superseded continuation is no longer asked: both are known without the workflow. */
function decideOnRow(record: ContinuationRecord, message: SignedMessage): Answered | undefined {
  if (!isTerminal(record) && !record.supersededBy) return undefined;
  const result = step(record, answeredEvent(message, new Date().toISOString()));
  if (!result.ok && !result.refusal) return repeat(result.repeated, record);
  if (record.status === 'pending') {
    const message = `superseded by ${record.supersededBy}`;
    return { ok: false, refusal: { code: 'already_terminal', message, status: record.status } };
  }
  return result.ok ? undefined : { ok: false, refusal: result.refusal };
}

/** Why nothing is known of an update: no such run, no worker in time, or the server did not let it in (the run is closing, or failing). */
type Unheard = 'gone' | 'unanswered' | 'not_admitted';

async function sendUpdate(
  deps: AnsweringDeps,
  id: string,
  message: SignedMessage,
  way: Way,
): Promise<Answered | Unheard> {
  const handle = deps.temporal.workflow.getHandle(id);
  const identity = message.stamp?.updateId ?? '';
  // The server answers a repeated id with the first outcome; what is taken is handed out once.
  const [update, updateId] = way === 'take' ? [takeUpdate, `${identity}:${newToken()}`] : [resumeUpdate, identity];
  try {
    const deadline = Date.now() + deps.answerTimeoutMs;
    const run = () => handle.executeUpdate(update, { args: [message], updateId });
    const { record, answer: winner }: Accepted = await deps.temporal.withDeadline(deadline, run);
    return await asTheRowKnows(deps, id, { ok: true, outcome: 'accepted', answer: winner, record });
  } catch (error) {
    const failure = readFailure(error, id);
    return typeof failure === 'object' ? asTheRowKnows(deps, id, failure) : failure;
  }
}

/**
 * The row shows the answer before the caller hears of it, so that whoever reads next sees the ask as decided. Who won is what the
 * row knows (C1): a workflow that was reset may have taken another answer, and one that was terminated an answer that the row,
 * which maintenance has ended, did not take; then the row is asked what to tell.
 */
async function asTheRowKnows(deps: AnsweringDeps, id: string, told: Taken | Refused): Promise<Answered | 'gone'> {
  const winner = told.ok ? told.answer : told.refusal.winner;
  if (!winner) return told;
  // The begin of its turn writes the same: with a moment's grace the two do not wait for each other's lock.
  if (told.ok && next(told.record).do === 'runTurn') await sleep(BEGIN_GRACE_MS);
  try {
    const { store } = deps;
    const row = await (told.ok ? store.write(told.record, decisionReceipts(told.record)) : store.getAcrossScopes(id));
    const known = row?.record.answers.find((one) => one.suspensionId === winner.suspensionId);
    if (!row || known?.contentDigest === winner.contentDigest) return told;
    if (!known) return told.ok || isTerminal(row.record) ? 'gone' : told;
    const message = 'this was already answered';
    return { ok: false, refusal: { code: 'already_resumed', message, winner: winnerOf(known) } };
  } catch (error) {
    // The workflow has it, and the turn writes the same row first: what it said stands.
    if (error instanceof ContinuationError && error.code === 'database_unavailable') return told;
    throw error;
  }
}

function readFailure(error: unknown, id: string): Taken | Refused | Unheard {
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
    const { type, details } = error.cause;
    if (type === REPEATED) {
      const [winner, record] = details as [Winner, ContinuationRecord];
      return repeat(winner, record);
    }
    if (RefusalCode.safeParse(type).success) return { ok: false, refusal: details?.[0] as Refusal };
    if (type === 'AcceptedUpdateCompletedWorkflow') return 'gone';
  }
  if (error instanceof WorkflowNotFoundError) return 'gone';
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return 'unanswered';
  if (error instanceof ServiceError && isFailedPrecondition(error)) return 'not_admitted';
  if (error instanceof ServiceError) throw unavailable(id, error);
  throw error;
}

async function sendSignal(deps: AnsweringDeps, id: string, message: SignedMessage): Promise<'stored' | 'gone'> {
  try {
    await leave(deps, () => deps.temporal.workflow.getHandle(id).signal(answerSignals[message.trigger.type], message));
    return 'stored';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'gone';
    throw unavailable(id, error);
  }
}

/** Leaves a signal: that takes the server alone, so it gets the time of a server even when workers get little. */
export function leave(deps: AnsweringDeps, signal: () => Promise<void>): Promise<void> {
  return deps.temporal.withDeadline(Date.now() + Math.max(deps.answerTimeoutMs, SIGNAL_TIMEOUT_MS), signal);
}

function isFailedPrecondition(error: ServiceError): boolean {
  return (error.cause as { code?: number } | undefined)?.code === GRPC_FAILED_PRECONDITION;
}
