/**
 * An open row whose workflow is gone or has closed from outside (C13). A workflow that was never started, or that the server
 * lost, is started from the row; one that was terminated, failed or timed out ends the continuation with that cause.
 */
import { type Client, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { closeTurn, endFollowUp } from './close.ts';
import { step } from './continuation.ts';
import { unavailable } from './errors.ts';
import type { Store, Stored, Trace } from './ports.ts';
import { decisionReceipts } from './receipts.ts';
import type { Cause } from './schema.ts';
import type { Starter } from './start.ts';

export interface RepairDeps {
  readonly store: Store;
  readonly temporal: Client;
  readonly starter: Starter;
  readonly trace?: Trace | undefined;
}
export type Repaired = 'running' | 'started' | 'ended';

/** Looks at the workflow of an open row and puts right what is wrong with it. Throws `temporal_unavailable`. */
export async function repair(deps: RepairDeps, stored: Stored): Promise<Repaired> {
  try {
    return await lookAndRepair(deps, stored);
  } catch (error) {
    throw error instanceof ServiceError ? unavailable(stored.record.id, error) : error;
  }
}

async function lookAndRepair(deps: RepairDeps, stored: Stored): Promise<Repaired> {
  const status = await workflowStatus(deps.temporal, stored.record.id);
  if (status === 'RUNNING' || status === 'PAUSED') return 'running';
  if (status === 'NOT_FOUND' && (await deps.starter.start(stored)) === 'running') return 'started';
  await endFromOutside(deps, stored, {
    code: 'workflow_closed',
    message: `Its workflow was closed from outside: ${status}.`,
  });
  return 'ended';
}

async function workflowStatus(temporal: Client, id: string): Promise<string> {
  try {
    return (await temporal.workflow.getHandle(id).describe()).status.name;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'NOT_FOUND';
    throw error;
  }
}

async function endFromOutside(deps: RepairDeps, { record }: Stored, error: Cause): Promise<void> {
  const now = new Date().toISOString();
  const reason = 'resume_runtime_error';
  if (record.status === 'resuming') {
    const { record: after } = await closeTurn(deps, {
      record,
      turnId: record.resume.turnId,
      stop: { at: now, reason, error },
    });
    if (after.status !== 'pending' && after.status !== 'resuming') return;
    // The turn had ended and asked again, or left a follow-up that nobody will deliver.
    await endOpen(deps, after, now, error);
    return;
  }
  await endOpen(deps, record, now, error);
}

async function endOpen(deps: RepairDeps, record: Stored['record'], at: string, error: Cause): Promise<void> {
  if (record.status === 'resuming') {
    const deliveryId = record.resume.turnId;
    const { message } = error;
    const failed = step(record, { type: 'delivered', at, deliveryId, status: 'delivery_failed', error: message });
    await endFollowUp(deps, record, at, failed);
    return;
  }
  const ended = step(record, { type: 'stopped', at, reason: 'resume_runtime_error', error });
  if (ended.ok) await deps.store.write(ended.record, decisionReceipts(ended.record));
}
