/** The figures, as JSON and as a table. */
import { aligned } from './aligned.ts';
import { type EventCounts, PATHS } from './events.ts';
import type { Latencies } from './latencies.ts';
import { median, type Pair, ratio } from './numbers.ts';
import type { Rates } from './rates.ts';

export interface Figures {
  readonly rates: Rates;
  readonly latencies: Latencies;
  readonly events: EventCounts;
  readonly bytesPerPaused: number;
}

/** What `--json` prints. */
export interface Summary {
  readonly answersRatio: number;
  readonly createsRatio: number;
  readonly harnessLatencyRatio: number;
  readonly finishedLatencyRatio: number;
  readonly eventsWithDelivery: number;
  readonly eventsWithoutDelivery: number;
  readonly bytesPerPaused: number;
}

type Target = { readonly atLeast: number } | { readonly atMost: number };

const TARGETS: { readonly [key in keyof Summary]: Target } = {
  answersRatio: { atLeast: 0.95 },
  createsRatio: { atLeast: 0.85 },
  harnessLatencyRatio: { atMost: 1.2 },
  finishedLatencyRatio: { atMost: 1.1 },
  eventsWithDelivery: { atMost: 26 },
  eventsWithoutDelivery: { atMost: 20 },
  bytesPerPaused: { atMost: 8192 },
};

export function summarise({ rates, latencies, events, bytesPerPaused }: Figures): Summary {
  return {
    answersRatio: rounded(ratio(rates.answers), 3),
    createsRatio: rounded(ratio(rates.creates), 3),
    harnessLatencyRatio: rounded(ratio(latencies.harness), 3),
    finishedLatencyRatio: rounded(ratio(latencies.finished), 3),
    eventsWithDelivery: events.withDelivery,
    eventsWithoutDelivery: events.withoutDelivery,
    bytesPerPaused: Math.round(bytesPerPaused),
  };
}

/** One line for each figure: bare, ours, their ratio, and the target where there is one. */
export function table(figures: Figures, summary: Summary): string {
  const { rates, latencies, events } = figures;
  const times = (key: 'answersRatio' | 'createsRatio' | 'harnessLatencyRatio' | 'finishedLatencyRatio') => [
    `${summary[key].toFixed(2)}x`,
    ...verdict(key, summary, (value) => `${value.toFixed(2)}x`),
  ];
  const p99 = latencies.harnessP99;
  const rows = [
    ['', 'bare', 'ours', 'ratio', 'target', 'met'],
    ['creates/s', ...values(rates.creates, '', 0), ...times('createsRatio')],
    ['answers/s (workflow closed)', ...values(rates.answers), ...times('answersRatio')],
    ['answers/s (caller told)', ...values(rates.finishes), `${ratio(rates.finishes).toFixed(2)}x`],
    ['answer → harness started, p50', ...values(latencies.harness, ' ms'), ...times('harnessLatencyRatio')],
    ['answer → harness started, p99', ...[p99.bare, p99.ours].map((value) => `${value.toFixed(1)} ms`)],
    ['answer → finished, p50', ...values(latencies.finished, ' ms'), ...times('finishedLatencyRatio')],
    ['history events, with delivery', `${events.bare}`, ...count('eventsWithDelivery', summary)],
    ['history events, without', '', ...count('eventsWithoutDelivery', summary)],
    ...PATHS.slice(3).map((path) => [`history events, ${path}`, '', `${events[path]}`]),
    ['bytes per paused continuation', '', ...count('bytesPerPaused', summary)],
  ];
  return aligned(rows);
}

function values(pair: Pair, unit = '', digits = 1): string[] {
  return [pair.bare, pair.ours].map((each) => `${median(each).toFixed(digits)}${unit}`);
}

function count(key: keyof Summary, summary: Summary): string[] {
  return [`${summary[key]}`, '', ...verdict(key, summary, String)];
}

function verdict(key: keyof Summary, summary: Summary, show: (value: number) => string): string[] {
  const target = TARGETS[key];
  const value = summary[key];
  return 'atLeast' in target
    ? [`≥ ${show(target.atLeast)}`, value >= target.atLeast ? 'yes' : 'no']
    : [`≤ ${show(target.atMost)}`, value <= target.atMost ? 'yes' : 'no'];
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
