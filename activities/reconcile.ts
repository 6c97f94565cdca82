/** Carries out an operator's decision about an unknown outcome, under the lock of the turn (C6, C8; 001 `ResumeClosure`). */
import { Context } from '@temporalio/activity';
import { textOf } from '../src/content.ts';
import { step } from '../src/continuation.ts';
import { receipt, reconcileDigest, reconciledReceipt } from '../src/receipts.ts';
import { HarnessResult, type Reconciliation, type ResumingRecord } from '../src/schema.ts';
import { settlementOf, withoutState } from '../src/settlement.ts';
import { traceEnd } from '../src/trace.ts';
import type { Activities, Committed, ReconcileTurnInput } from './contract.ts';
import { type ActivityDeps, deliveryOf } from './deps.ts';

type Deps = Pick<ActivityDeps, 'store' | 'delivery' | 'replies' | 'stateKinds' | 'trace'>;

export function createReconcile(deps: Deps): Activities['reconcile'] {
  return async (input) => {
    const { record, turnId, attempt, now: at } = input;
    const came = await cameTo(deps, input);
    if (came === undefined && input.action === 'happened')
      return notDecided(deps, record, 'what it came to is not there');
    const { result } = came ?? {};
    const settlement = result && settlementOf(result, { turnId, at, stateKinds: deps.stateKinds });
    const settled = settlement && { ...settlement.settled, deliverable: deliveryOf(deps, record) !== undefined };
    const reconciliation = reconciliationOf(input);
    const after = step(record, {
      type: 'reconciled',
      at,
      turnId,
      attempt,
      reconciliation,
      ...(settled && { settled }),
    });
    const tooLarge = after.ok && settlement?.tooLarge(after.record);
    if (!after.ok || tooLarge) return notDecided(deps, record, tooLarge ? tooLarge.message : 'it is not in question');
    const ended = after.record.resume?.outcome !== undefined || after.record.status === 'pending';
    const runsAgain = input.effect !== undefined || input.action === 'did_not_happen';
    const fact = reconciledReceipt(after.record, { turnId, attempt, reconciliation });
    const committed = await deps.store.reconcileTurn({
      turnId,
      attempt,
      state: runsAgain ? 'ended' : ended ? 'settled' : 'failed',
      record: after.record,
      receipts: result ? [fact, receipt('settled', after.record)] : [fact],
      ...(result && { result: withoutState(result) }),
      ...(input.effect !== undefined && {
        effect: { key: input.effect, ...(came?.value !== undefined && { value: came.value }) },
      }),
      ...(ended && settlement && { contents: settlement.contents }),
    });
    if (committed.accepted) traceEnd(deps.trace, committed.record, at);
    return committed;
  };
}

/** Nothing is taken from `stamp` but who is spoken for; without it that is whoever can write to the namespace. */
function reconciliationOf({ record, now, stamp, turnId, attempt, ...request }: ReconcileTurnInput): Reconciliation {
  const { action, effect, issuer, proof, observedAt, expiresAt } = request;
  return {
    action,
    ...(effect !== undefined && { effect }),
    requestDigest: reconcileDigest({ turnId, attempt, ...request }),
    actor: stamp?.subject ?? 'temporal',
    verified: stamp?.verified ?? false,
    channel: stamp?.channel ?? 'temporal',
    ...(issuer && { issuer }),
    proof: proof as Reconciliation['proof'],
    observedAt,
    ...(expiresAt && { expiresAt }),
    at: now,
  };
}

/** What the turn came to, or its effect, as JSON. Undefined where it is none: whoever writes to the namespace may name any content. */
async function cameTo(
  { store }: Deps,
  { record, resultRef, effect }: ReconcileTurnInput,
): Promise<{ result?: HarnessResult; value?: string } | undefined> {
  const content = resultRef && (await store.content(record.scope, resultRef));
  if (!content) return undefined;
  const text = textOf(content);
  try {
    const value: unknown = JSON.parse(text);
    if (effect !== undefined) return { value: text };
    const { data } = HarnessResult.safeParse(value);
    return data && { result: data };
  } catch {
    // A throw would be retried for ever (C15).
    return undefined;
  }
}

async function notDecided({ store }: Deps, record: ResumingRecord, why: string): Promise<Committed> {
  Context.current().log.warn('An unknown outcome was not decided', { continuationId: record.id, why });
  return (await store.getAcrossScopes(record.id)) ?? { record, receiptsHead: '' };
}
