/** The figures, as JSON and as a table. */
import { availableParallelism, totalmem } from 'node:os';
import { aligned } from '../aligned.ts';
import type { Answers } from './answers.ts';
import type { Bed } from './bed.ts';
import type { Filled } from './fill.ts';
import { QUERY_NAMES, type Queries } from './queries.ts';
import type { Sizes } from './sizes.ts';
import type { Upkeep } from './upkeep.ts';

export interface Step extends Filled, Sizes, Answers, Upkeep {
  readonly waiting: number;
  readonly queryMs: Queries;
}

/** What `--json` prints. */
export interface Summary {
  readonly machine: { readonly cpus: number; readonly memoryBytes: number };
  readonly versions: { readonly node: string; readonly temporal: string; readonly postgres: string };
  readonly steps: readonly Step[];
  /** How often the cost of one with the fewest waiting the cost with the most is. */
  readonly growth: { readonly [figure in (typeof COSTS)[number]]: number };
}

/** Costs of one continuation, which should not depend on how many there are. */
const COSTS = [
  'createMsP50',
  'tableBytes',
  'indexBytes',
  'temporalBytes',
  'acceptedMsP50',
  'finishedMsP50',
  'lookedAfterMs',
  'purgedMs',
] as const;

export async function summarise(bed: Bed, steps: readonly Step[]): Promise<Summary> {
  const { rows } = await bed.database.query('show server_version');
  const { serverVersion = '' } = await bed.connection.workflowService.getSystemInfo({});
  const [first, last] = [steps[0], steps.at(-1)];
  const growth = (figure: (typeof COSTS)[number]) => (last?.[figure] ?? Number.NaN) / (first?.[figure] ?? Number.NaN);
  return {
    machine: { cpus: availableParallelism(), memoryBytes: totalmem() },
    versions: { node: process.versions.node, temporal: serverVersion, postgres: rows[0].server_version },
    steps,
    growth: Object.fromEntries(COSTS.map((figure) => [figure, growth(figure)])) as Summary['growth'],
  };
}

/** A column for each step. */
export function table({ machine, versions, steps, growth }: Summary): string {
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  const bytes = (value: number) => `${Math.round(value)} B`;
  const row = (title: string, show: (value: number) => string, of: (step: Step) => number) => [
    title,
    ...steps.map((step) => show(of(step))),
  ];
  const cost = (title: string, show: (value: number) => string, figure: (typeof COSTS)[number]) => [
    ...row(title, show, (step) => step[figure]),
    `${growth[figure].toFixed(2)}x`,
  ];
  const perSecond = (value: number) => value.toFixed(0);
  const rows = [
    row('waiting at once', String, ({ waiting }) => waiting),
    row('creates/s, 16 clients', perSecond, ({ createsPerSecond }) => createsPerSecond),
    cost('create, p50', ms, 'createMsP50'),
    row('create, p99', ms, ({ createMsP99 }) => createMsP99),
    cost('PostgreSQL tables, each', bytes, 'tableBytes'),
    cost('PostgreSQL indexes, each', bytes, 'indexBytes'),
    cost('Temporal (SQLite), each', bytes, 'temporalBytes'),
    row('history of one that waits', bytes, ({ historyBytes }) => historyBytes),
    row('events of one that waits', String, ({ historyEvents }) => historyEvents),
    row(
      'worker, cache of 300',
      (value) => `${(value / 2 ** 20).toFixed(0)} MiB`,
      ({ workerBytes }) => workerBytes,
    ),
    cost('answer → accepted, p50', ms, 'acceptedMsP50'),
    row('answer → accepted, p99', ms, ({ acceptedMsP99 }) => acceptedMsP99),
    cost('answer → finished, p50', ms, 'finishedMsP50'),
    row('answer → finished, p99', ms, ({ finishedMsP99 }) => finishedMsP99),
    row('finished/s, 16 clients', perSecond, ({ finishedPerSecond }) => finishedPerSecond),
    ...QUERY_NAMES.map((name) => row(name, ms, ({ queryMs }) => queryMs[name])),
    row('maintenance pass, nothing to do', ms, ({ idlePassMs }) => idlePassMs),
    cost('maintenance, a row looked after', ms, 'lookedAfterMs'),
    row('Temporal describes one', ms, ({ describedMs }) => describedMs),
    cost('purge, a record', (value) => `${value.toFixed(2)} ms`, 'purgedMs'),
  ];
  const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(0)} GiB`;
  const head = `${machine.cpus} cores, ${memory}; Node ${versions.node}, Temporal ${versions.temporal}, PostgreSQL ${versions.postgres}`;
  return `${head}\n\n${aligned(rows)}`;
}
