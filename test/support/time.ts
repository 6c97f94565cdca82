/** Time in tests: workflow time can be skipped, everything else keeps real time. */
import { vi } from 'vitest';
import type { Stack } from './stack.ts';

/** Lets a waiting workflow's clock run ahead to its next timers. Activities, rows and clients keep real time. */
export async function skipTime(stack: Stack, id: string): Promise<void> {
  await stack.temporal.workflowService.updateWorkflowExecutionOptions({
    namespace: 'default',
    workflowExecution: { workflowId: id },
    workflowExecutionOptions: { timeSkippingConfig: { enabled: true } },
    updateMask: { paths: ['time_skipping_config'] },
  });
}

export function inMs(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves when the wall clock has reached `instant`. */
export async function reached(instant: string): Promise<void> {
  for (let left = 1; left > 0; left = Date.parse(instant) - Date.now()) await sleep(Math.max(1, left));
}

/** Repeats `check` until it does not throw. (`expect.poll` does not work in tests that run concurrently.) */
export async function eventually(check: () => void | Promise<void>, withinMs = 20_000): Promise<void> {
  await vi.waitFor(check, { timeout: withinMs, interval: 20 });
}
