/** Looks after what nobody else would notice (C13): one small workflow per task queue, started by any worker. */
import { continueAsNew, isCancellation, log, proxyActivities, setCurrentDetails, sleep } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../activities/contract.ts';

export interface MaintenanceStart {
  /** Pause between two passes. */
  readonly intervalMs: number;
}

const PASSES_PER_RUN = 100;

const { maintain } = proxyActivities<MaintenanceActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '1 minute',
  retry: { maximumAttempts: 3 },
  summary: 'One pass over open continuations',
});

export async function continuationMaintenance(start: MaintenanceStart): Promise<void> {
  for (let pass = 0; pass < PASSES_PER_RUN; pass++) {
    try {
      const report = await maintain();
      setCurrentDetails(
        Object.entries(report)
          .map(([name, count]) => `* ${name} ${count}`)
          .join('\n'),
      );
    } catch (error) {
      if (isCancellation(error)) throw error;
      log.warn('A maintenance pass failed; the next one tries again', { error });
    }
    await sleep(start.intervalMs, { summary: 'Until the next pass' });
  }
  await continueAsNew<typeof continuationMaintenance>(start);
}
