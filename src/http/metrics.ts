/** Numbers for Prometheus: those of the scope of the key that asks (C16), made anew for each scrape. */
import { Counter, Gauge, Registry } from 'prom-client';
import type { Metrics, ScopeMetrics } from '../access-ports.ts';
import { type Caller, reaches } from '../caller.ts';
import { type Operation, operation } from './operation.ts';
import type { HttpCode } from './problem.ts';

const QUANTILES = ['0.5', '0.95', '0.99'];

/** What this process refused, by scope and code. */
export interface Refusals {
  count(scope: string, code: HttpCode): void;
  within(caller: Caller): ReadonlyMap<string, number>;
}

export function createRefusals(): Refusals {
  const counts = new Map<string, Map<string, number>>();
  return {
    count(scope, code) {
      const own = counts.get(scope) ?? new Map<string, number>();
      counts.set(scope, own.set(code, (own.get(code) ?? 0) + 1));
    },
    within(caller) {
      const sum = new Map<string, number>();
      for (const [scope, own] of counts)
        if (reaches(caller, scope)) for (const [code, n] of own) sum.set(code, (sum.get(code) ?? 0) + n);
      return sum;
    },
  };
}

export function metricsOperation(metrics: Metrics, refusals: Refusals): Operation {
  return operation({
    name: 'metrics',
    method: 'get',
    path: '/metrics',
    summary: 'Numbers of your scope, for Prometheus',
    permissions: ['operate', 'read'],
    answers: { 200: { description: 'Prometheus text format.', mediaType: 'text/plain' } },
    async handle({ c, caller }) {
      const registry = registryOf(await metrics.metrics(caller.scope), refusals.within(caller));
      return c.body(await registry.metrics(), 200, { 'content-type': registry.contentType });
    },
  });
}

function registryOf(numbers: ScopeMetrics, refused: ReadonlyMap<string, number>): Registry {
  const registry = new Registry();
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `continuations_${name}`, help, labelNames, registers: [registry] });
  const open = gauge('open', 'Open continuations', ['wait_for', 'status']);
  for (const { waitFor, status, count } of numbers.open) open.set({ wait_for: waitFor, status }, count);
  gauge('oldest_open_seconds', 'Age of the oldest open continuation').set(numbers.oldestSeconds);
  gauge('never_expiring', 'Open continuations without a deadline').set(numbers.neverExpires);
  gauge('uncertain', 'Turns whose outcome is unknown').set(numbers.uncertain);
  gauge('overdue', 'Pending continuations past their deadline').set(numbers.overdue);
  const ended = gauge('ended', 'Ended continuations that are kept', ['status', 'reason']);
  for (const { status, reason, count } of numbers.ended) ended.set({ status, reason }, count);
  gauge('repaired', 'Kept continuations that maintenance ended because their workflow was gone').set(numbers.repaired);
  const start = gauge('answer_to_start_seconds', 'Acceptance of an answer to start of its turn, last 5 minutes', [
    'quantile',
  ]);
  QUANTILES.forEach((quantile, index) => {
    const value = numbers.startSeconds.quantiles[index];
    if (value !== undefined) start.set({ quantile }, value);
  });
  const refusals = new Counter({
    name: 'continuations_refusals_total',
    help: 'Problems that this process answered with',
    labelNames: ['code'],
    registers: [registry],
  });
  for (const [code, count] of refused) refusals.inc({ code }, count);
  return registry;
}
