/**
 * Time of an activity's events: not before the workflow's clock, which may run ahead, and not before the worker's, because
 * a retry may come long after the workflow asked.
 */
export function createClock(workflowNow: string): () => string {
  const start = performance.now();
  const base = Date.parse(workflowNow);
  return () => new Date(Math.max(base + (performance.now() - start), Date.now())).toISOString();
}
