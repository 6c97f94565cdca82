/** The activities as the workflow calls them: with readable ids and summaries, and with the patience each deserves. */
import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { Activities, CloseTurnInput, Committed, ReconcileTurnInput } from '../activities/contract.ts';
import type { ContinuationRecord, ResumingRecord } from '../src/schema.ts';
import { line, waitInWords } from '../src/summary.ts';
import { now } from './life.ts';
import type { ContinuationOptions } from './messages.ts';

const HOUR = 3_600_000;
const retry = { initialInterval: 1000, backoffCoefficient: 2, maximumInterval: 60_000 };

export interface Effects {
  runTurn(record: ResumingRecord): Promise<Committed>;
  closeTurn(input: Omit<CloseTurnInput, 'now'>): ReturnType<Activities['closeTurn']>;
  reconcile(input: Omit<ReconcileTurnInput, 'now'>): Promise<Committed>;
  deliver(record: ResumingRecord): Promise<Committed>;
  open(record: ContinuationRecord, announce: boolean): Promise<Committed>;
  project(record: ContinuationRecord): Promise<Committed>;
}

export function createEffects(options: ContinuationOptions): Effects {
  let calls = 0;
  /** A write to the database: retried until it is done. */
  const writing = (name: string, summary: string) => {
    calls += 1;
    return proxyActivities<Activities>({
      activityId: `${name}-${calls}`,
      summary: line(summary),
      // A worker that was lost with it must not cost the minute.
      heartbeatTimeout: options.heartbeatTimeoutMs,
      startToCloseTimeout: 60_000,
      retry,
    });
  };
  return {
    runTurn(record) {
      const turn = proxyActivities<Activities>({
        activityId: `turn-${record.bounds.resumeAttempts}`,
        summary: line(
          `Turn ${record.bounds.resumeAttempts}: ${record.answers.at(-1)?.type} by ${record.answers.at(-1)?.subject}`,
        ),
        ...(options.turnTaskQueue && { taskQueue: options.turnTaskQueue }),
        heartbeatTimeout: options.heartbeatTimeoutMs,
        // Not a limit on the turn, which has its own: leaves a day for its delivery, and for a database that is down when it ends.
        startToCloseTimeout: record.bounds.turnTimeoutMs + 24 * HOUR,
        cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        retry,
      });
      return turn.runTurn({ record, now: now() });
    },
    closeTurn: (input) =>
      writing('close', `Close ${input.turnId}: ${input.reason}`).closeTurn({ ...input, now: now() }),
    reconcile: (input) =>
      writing('reconcile', `Decide ${input.turnId}: ${input.action}`).reconcile({ ...input, now: now() }),
    deliver(record) {
      const delivery = proxyActivities<Activities>({
        activityId: `deliver-${record.bounds.resumeAttempts}`,
        summary: line(`Follow-up of turn ${record.bounds.resumeAttempts}`),
        heartbeatTimeout: options.heartbeatTimeoutMs,
        startToCloseTimeout: record.bounds.deliveryBudgetMs + 24 * HOUR,
        cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        retry,
      });
      return delivery.deliver({ record, now: now() });
    },
    open: (record, announce) =>
      writing('open', record.status === 'pending' ? `Ask for ${waitInWords(record.waitFor)}` : 'Ask an operator').open({
        record,
        announce,
      }),
    project: (record) => writing('project', `Record: ${record.terminalReason ?? record.status}`).project({ record }),
  };
}
