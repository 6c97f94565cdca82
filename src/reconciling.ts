/** `reconcile`: an operator decides an unknown outcome, on proof (C8; 001 `ResumeClosure`). */
import { type ReconcileRequest, reconcileUpdate } from '../workflows/messages.ts';
import { contentOf, JSON_TYPE } from './content.ts';
import { canonicalJson } from './digest.ts';
import { findFor, type ManageResult, type ManagingDeps, manage } from './managing.ts';
import { invalidInput, parseInput } from './parse.ts';
import type { Receipt, Stored } from './ports.ts';
import { reconcileDigest } from './receipts.ts';
import {
  type ContinuationRecord,
  isExactState,
  type ReconcileContinuationInput,
  ReconcileInput,
  type Refused,
} from './schema.ts';

export type ReconcileResult =
  | {
      readonly ok: true;
      readonly outcome: 'reconciled';
      /** Who decided what, on what proof. The same request again gets the first one. */
      readonly receipt: Receipt;
      readonly record: ContinuationRecord;
    }
  | Refused;

/**
 * Refused: `not_authorized` without the permission `operate`; `already_resumed` when this execution is not in question;
 * `message_conflict` when it was decided otherwise before.
 */
export async function reconcile(deps: ManagingDeps, given: ReconcileContinuationInput): Promise<ReconcileResult> {
  const parsed = parseInput(ReconcileInput, given);
  if (!parsed.ok) return parsed;
  const { continuationId, result, value, ...decision } = parsed.value;
  if (result && 'continuation' in result && isBytes(result.continuation.state))
    return invalidInput('result.continuation.state', 'must be JSON or text here');
  const found = await findFor(deps, continuationId, 'reconcile');
  if (!found.ok) return found;
  const came = result ?? value;
  const content = came !== undefined && contentOf(Buffer.from(canonicalJson(came)), JSON_TYPE);
  const request: ReconcileRequest = { ...decision, ...(content && { resultRef: content.ref }) };
  const before = await decided(deps, found.stored, request);
  if (before) return before;
  const { resume } = found.stored.record;
  if (!resume?.uncertain || resume.turnId !== decision.turnId || resume.attempt !== decision.attempt)
    return notInQuestion(request);
  const wrong = decision.effect === undefined ? undefined : await whyNoEffect(deps, found.stored, request);
  if (wrong) return wrong;
  // A repeat is answered also when the proof has expired since; a first decision needs one that holds.
  if (decision.expiresAt && decision.expiresAt <= new Date().toISOString())
    return invalidInput('expiresAt', 'must be in the future: the proof no longer holds');
  if (content) await deps.store.putContents(found.stored.record.scope, continuationId, [content]);
  const sent = await send(deps, found.stored, request);
  return (await decided(deps, found.stored, request)) ?? (sent.ok ? notInQuestion(request) : sent);
}

/** Its key is easily mistaken, and those that are in question are few. */
async function whyNoEffect(
  { store }: ManagingDeps,
  { record }: Stored,
  { turnId, effect }: ReconcileRequest,
): Promise<Refused | undefined> {
  const executions = await store.executions(record.scope, record.id);
  const effects = executions.find((execution) => execution.turnId === turnId)?.effects ?? [];
  const unknown = effects.filter(({ state }) => state === 'started').map(({ key }) => key);
  if (unknown.some((key) => key === effect)) return undefined;
  return invalidInput('effect', `is not in question; of ${turnId} there ${listOf(unknown)}`);
}

function listOf(keys: readonly string[]): string {
  return keys.length === 0 ? 'is none' : `${keys.length === 1 ? 'is' : 'are'} ${keys.join(', ')}`;
}

function isBytes(state: unknown): boolean {
  return isExactState(state) && 'bytes' in state;
}

async function send(deps: ManagingDeps, stored: Stored, request: ReconcileRequest): Promise<ManageResult> {
  const { subject, verified, channel } = deps.caller;
  const message = { ...request, stamp: { subject, verified, channel } };
  const handle = deps.temporal.workflow.getHandle(stored.record.id);
  return manage(deps, stored, {
    onRow: () => notInQuestion(request),
    update: () => handle.executeUpdate(reconcileUpdate, { args: [message], updateId: reconcileDigest(request) }),
  });
}

function notInQuestion({ turnId, attempt }: ReconcileRequest): Refused {
  const message = `the outcome of ${turnId}, attempt ${attempt}, is not in question`;
  return { ok: false, refusal: { code: 'already_resumed', message } };
}

/** What the receipts know of a decision about this execution. */
async function decided(
  { store }: ManagingDeps,
  { record: { scope, id } }: Stored,
  request: ReconcileRequest,
): Promise<ReconcileResult | undefined> {
  const cause = `reconciled:${request.turnId}:${request.attempt}`;
  const receipt = (await store.receipts(scope, id))?.find((one) => one.cause === cause);
  if (!receipt) return undefined;
  const { requestDigest, action, actor } = JSON.parse(receipt.body);
  const now = await store.get(scope, id);
  if (requestDigest === reconcileDigest(request) && now)
    return { ok: true, outcome: 'reconciled', receipt, record: now.record };
  const message = `it was decided before, otherwise: ${action} by ${actor}`;
  return { ok: false, refusal: { code: 'message_conflict', message } };
}
