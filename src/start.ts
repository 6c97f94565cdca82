/** Starts the workflow of a stored continuation: idempotent, and told apart from one that had already ended. */
import {
  type Client,
  type WorkflowClient,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { attributesOf } from '../workflows/attributes.ts';
import { CONTINUATION_TYPE, type ContinuationOptions, type ContinuationStart } from '../workflows/messages.ts';
import type { Stored } from './ports.ts';
import { isTerminal } from './record.ts';
import { staticDetails, staticSummary } from './summary.ts';

/** How continuations are started; the same for clients and maintenance of one deployment. */
export interface StartOptions {
  readonly taskQueue: string;
  /** Show status, wait, session and deadline as search attributes. */
  readonly searchAttributes: boolean;
  readonly announce: boolean;
  readonly directMessages: boolean;
  readonly turnTaskQueue?: string | undefined;
  readonly heartbeatTimeoutMs: number;
  /** Deep link to where a person can answer, shown in the Temporal UI. */
  readonly linkTo?: ((id: string) => string) | undefined;
}

export interface Starter {
  /** `running`: it runs now. `ended`: a workflow of this id had already closed. */
  start(stored: Stored): Promise<'running' | 'ended'>;
}

/** Somebody may register them meanwhile. */
const LOOK_AGAIN_MS = 60_000;

export function createStarter(client: Client, options: StartOptions, warn: (message: string) => void): Starter {
  /** Until then starts go without attributes, which were not registered. */
  let lookAgainAt = 0;
  const startWith = (stored: Stored, attributes: boolean) =>
    startWorkflow(client.workflow, stored, optionsOf(stored, options, attributes));
  return {
    async start(stored) {
      if (isTerminal(stored.record)) return 'ended';
      const attributes = options.searchAttributes && Date.now() >= lookAgainAt;
      try {
        await startWith(stored, attributes);
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return 'ended';
        if (!attributes || !isUnregisteredAttribute(error)) throw error;
        if (lookAgainAt === 0)
          warn(
            'Search attributes are not registered in this namespace: continuations start without them. Register them with ensureSearchAttributes.',
          );
        lookAgainAt = Date.now() + LOOK_AGAIN_MS;
        return this.start(stored);
      }
      return 'running';
    },
  };
}

function startWorkflow(workflow: WorkflowClient, stored: Stored, options: WorkflowStartOptions): Promise<unknown> {
  return workflow.start(CONTINUATION_TYPE, { ...options, workflowId: stored.record.id });
}

function optionsOf({ record, receiptsHead }: Stored, options: StartOptions, attributes: boolean): WorkflowStartOptions {
  const continuationOptions: ContinuationOptions = {
    attributes,
    announce: options.announce,
    directMessages: options.directMessages,
    heartbeatTimeoutMs: options.heartbeatTimeoutMs,
    ...(options.turnTaskQueue && { turnTaskQueue: options.turnTaskQueue }),
  };
  const start: ContinuationStart = {
    question: record.suspension.question,
    record,
    receiptsHead,
    options: continuationOptions,
  };
  return {
    workflowId: record.id,
    taskQueue: options.taskQueue,
    args: [start],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    staticSummary: staticSummary(record),
    staticDetails: staticDetails(record, options.linkTo?.(record.id)),
    ...(attributes && { typedSearchAttributes: attributesOf(record) }),
  };
}

function isUnregisteredAttribute(error: unknown): boolean {
  const text =
    error instanceof Error ? `${error.message} ${error.cause instanceof Error ? error.cause.message : ''}` : '';
  return /no mapping defined|search attribute/i.test(text);
}
