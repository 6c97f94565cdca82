/** The two ways to do the same work, as their callers see them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowFailedError } from '@temporalio/client';
import type { ContinuationClient, CreateContinuationInput } from '../src/index.ts';
import { answerUpdate, type bare } from './bare.workflow.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface Side {
  readonly worker: WorkerProcess;
  /** Creates what then waits for an answer; returns its id, which is the workflow's. */
  create(): Promise<string>;
  /** Answers; resolves when the answer is accepted. */
  answer(id: string): Promise<void>;
  /** Answers; resolves when the caller knows that all was done. */
  answerAndFinish(id: string): Promise<void>;
}

/** Both sides: the work without and with continuations. */
export interface Sides {
  readonly bare: Side;
  readonly ours: Side;
}

export type SideName = keyof Sides;
/** Rounds go one way and the other in turn. */
export const ORDERS = [
  ['bare', 'ours'],
  ['ours', 'bare'],
] as const satisfies readonly (readonly SideName[])[];

let count = 0;
const QUESTION = 'Which order?';
const TEXT = 'Order 42';

export function createBareSide(temporal: Client, taskQueue: string, worker: WorkerProcess): Side {
  const answer = async (id: string) => {
    await temporal.workflow.getHandle(id).executeUpdate(answerUpdate, { args: [{ text: TEXT }] });
  };
  return {
    worker,
    async create() {
      count += 1;
      const workflowId = `bare-${count}`;
      await temporal.workflow.start<typeof bare>('bare', { workflowId, taskQueue, args: [QUESTION] });
      return workflowId;
    },
    answer,
    async answerAndFinish(id) {
      await answer(id);
      await temporal.workflow.getHandle(id).result();
    },
  };
}

export function createOurSide(client: ContinuationClient, worker: WorkerProcess): Side {
  return {
    worker,
    create: () => pause(client),
    answer: async (id) => succeeded(await client.resume(answerTo(id))),
    answerAndFinish: async (id) => succeeded(await client.resume(answerTo(id), { until: 'finished' })),
  };
}

/** A clarification that waits for a reply; `more` replaces parts of it. */
export async function pause(client: ContinuationClient, more: Partial<CreateContinuationInput> = {}): Promise<string> {
  count += 1;
  const created = await client.create({
    assistantId: 'bench',
    originTurnId: `turn-${count}`,
    harnessResult: { outcome: 'needs_clarification', continuation: { state: { question: QUESTION } } },
    ...more,
  });
  if (!created.ok) throw new Error(created.refusal.message);
  if (!created.started) throw new Error('the workflow was not started');
  return created.record.id;
}

export function answerTo(continuationId: string) {
  return { continuationId, trigger: { type: 'user_reply' as const, message: { text: TEXT } } };
}

/** Throws when an answer was refused, or only stored. */
export function succeeded(result: { ok: boolean; outcome?: string; refusal?: { message: string } }): void {
  if (!result.ok) throw new Error(result.refusal?.message);
  if (result.outcome === 'stored') throw new Error('no worker took the answer in time');
}

/** Resolves when the workflow has closed, whatever its end. */
export async function closed(temporal: Client, id: string): Promise<void> {
  try {
    await temporal.workflow.getHandle(id).result();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
  }
}

/** Events after the first workflow task: started, the task's three, the timer's. */
const EVENTS_WHEN_WAITING = 5;

/** Every workflow has run its first task, so that no work of this side is left for the other's turn. */
export async function untilWaiting(temporal: Client, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    while ((await temporal.workflow.getHandle(id).describe()).historyLength < EVENTS_WHEN_WAITING) await sleep(5);
  }
}
