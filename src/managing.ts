/** `stop`, `extend`, `delete`: what people decide about a whole continuation. */
import {
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { extendUpdate, stopSignal, stopUpdate } from '../workflows/messages.ts';
import { type AnsweringDeps, leave } from './answering.ts';
import { type Caller, notFound } from './caller.ts';
import { step } from './continuation.ts';
import { isContinuationError, unavailable } from './errors.ts';
import { parseInput } from './parse.ts';
import { type Action, whyNotAllowed } from './policy.ts';
import type { NewReceipt, Store, Stored } from './ports.ts';
import { decisionReceipts } from './receipts.ts';
import { isTerminal } from './record.ts';
import { repair } from './repair.ts';
import {
  ContinuationId,
  type ContinuationRecord,
  type ExtendContinuationInput,
  ExtendInput,
  type Refusal,
  RefusalCode,
  type Refused,
  type StopContinuationInput,
  StopInput,
} from './schema.ts';

export type ManageResult =
  | { readonly ok: true; readonly outcome: 'done'; readonly record: ContinuationRecord }
  /** No worker took it yet; it is durable and will be applied. */
  | { readonly ok: true; readonly outcome: 'stored' }
  | Refused;

export interface ManagingDeps extends AnsweringDeps {
  readonly caller: Caller;
}

export interface Managing {
  stop(input: StopContinuationInput): Promise<ManageResult>;
  extend(input: ExtendContinuationInput): Promise<ManageResult>;
  delete(continuationId: string): Promise<{ ok: true } | Refused>;
}

export function createManaging(deps: ManagingDeps): Managing {
  const { store, caller } = deps;
  const find = (id: string, action: Action) => findFor(deps, id, action);
  const handleOf = (id: string) => deps.temporal.workflow.getHandle(id);
  return {
    async stop(input) {
      const parsed = parseInput(StopInput, input);
      if (!parsed.ok) return parsed;
      const { continuationId: id, ...stop } = parsed.value;
      const row = await find(id, 'stop');
      if (!row.ok) return row;
      const result = await manage(deps, row.stored, {
        onRow: ({ record }) => ({ ok: true, outcome: 'done', record }),
        update: () => handleOf(id).executeUpdate(stopUpdate, { args: [stop] }),
        signal: () => handleOf(id).signal(stopSignal, stop),
      });
      if (isDone(result) && isTerminal(result.record))
        await show(store, result.record, decisionReceipts(result.record));
      return result;
    },
    async extend(input) {
      const parsed = parseInput(ExtendInput, input);
      if (!parsed.ok) return parsed;
      const { continuationId: id, expiresAt } = parsed.value;
      const row = await find(id, 'extend');
      if (!row.ok) return row;
      const result = await manage(deps, row.stored, {
        onRow: ({ record }) => {
          const refused = step(record, { type: 'extended', at: new Date().toISOString(), expiresAt });
          return refused.ok || !refused.refusal ? notFound() : { ok: false, refusal: refused.refusal };
        },
        update: () => handleOf(id).executeUpdate(extendUpdate, { args: [{ expiresAt }] }),
      });
      if (isDone(result)) await show(store, result.record, []);
      return result;
    },
    async delete(id) {
      const row = await find(id, 'delete');
      if (!row.ok) return row;
      if (await store.delete(caller.scope, id)) return { ok: true };
      const message = 'only an ended continuation can be deleted: stop it first';
      return { ok: false, refusal: { code: 'invalid_input', message, status: row.stored.record.status } };
    },
  };
}

/** The row, when the caller reaches it and may do this to it. */
export async function findFor(
  { store, caller, policy }: ManagingDeps,
  id: string,
  action: Action,
): Promise<{ ok: true; stored: Stored } | Refused> {
  const stored = ContinuationId.safeParse(id).success ? await store.get(caller.scope, id) : null;
  if (!stored) return notFound();
  return (await whyNotAllowed(policy, action, caller, stored.record)) ?? { ok: true, stored };
}

export interface Ways {
  /** The workflow has ended: what the row says. */
  readonly onRow: (row: Stored) => ManageResult;
  readonly update: () => Promise<{ record: ContinuationRecord }>;
  /** How the request is left when nobody answers in time; without it the caller has to try again. */
  readonly signal?: () => Promise<void>;
}

const MAX_ROUNDS = 3;

export async function manage(deps: ManagingDeps, found: Stored, ways: Ways): Promise<ManageResult> {
  const { id } = found.record;
  let row: Stored | null = found;
  for (let round = 1; row; round++) {
    if (isTerminal(row.record)) return ways.onRow(row);
    try {
      const { record } = await deps.temporal.withDeadline(Date.now() + deps.answerTimeoutMs, ways.update);
      return { ok: true, outcome: 'done', record };
    } catch (error) {
      const refused = refusalOf(error);
      if (refused) return refused;
      if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError && ways.signal)
        return leaveStop(deps, id, ways.signal);
      if (!(error instanceof WorkflowNotFoundError) || round === MAX_ROUNDS) throw unavailable(id, error);
    }
    row = await deps.store.getAcrossScopes(id);
    if (row && !isTerminal(row.record)) await repair(deps, row);
  }
  return notFound();
}

async function leaveStop(deps: ManagingDeps, id: string, signal: () => Promise<void>): Promise<ManageResult> {
  try {
    await leave(deps, signal);
    return { ok: true, outcome: 'stored' };
  } catch (error) {
    throw unavailable(id, error);
  }
}

type Done = Extract<ManageResult, { outcome: 'done' }>;
const isDone = (result: ManageResult): result is Done => result.ok && result.outcome === 'done';

/** Whoever reads next sees what was decided. It stands without the database as well: the workflow has it. */
async function show(store: Store, record: ContinuationRecord, receipts: readonly NewReceipt[]): Promise<void> {
  try {
    await store.write(record, receipts);
  } catch (error) {
    if (!isContinuationError(error, 'database_unavailable')) throw error;
  }
}

function refusalOf(error: unknown): Refused | undefined {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) {
    if (
      error instanceof ServiceError ||
      error instanceof WorkflowNotFoundError ||
      error instanceof WorkflowUpdateRPCTimeoutOrCancelledError
    )
      return undefined;
    throw error;
  }
  const { type, details } = error.cause;
  if (RefusalCode.safeParse(type).success) return { ok: false, refusal: details?.[0] as Refusal };
  throw error;
}
