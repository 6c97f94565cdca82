/** What a maintenance pass costs, and the purge of what has ended. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { createMaintain } from '../../activities/maintain.ts';
import { createStarter } from '../../src/start.ts';
import { median } from '../numbers.ts';
import { type Bed, TASK_QUEUE } from './bed.ts';
import { times } from './times.ts';

export interface Upkeep {
  /** A pass that finds nothing to do. */
  readonly idlePassMs: number;
  /** A row that was not looked at for a day: all of them are, once a day. */
  readonly lookedAfterMs: number;
  /** What Temporal takes to describe a workflow that was not asked for lately; a look holds one of these. */
  readonly describedMs: number;
  /** An ended continuation past its retention, with all that belongs to it. */
  readonly purgedMs: number;
}

const DAY = 86_400_000;
const UNSEEN = 400;
const BATCH = 100;
const DESCRIBED = 100;

export async function measureUpkeep(bed: Bed): Promise<Upkeep> {
  const { database, temporal, store } = bed;
  const starter = createStarter(
    temporal,
    {
      taskQueue: TASK_QUEUE,
      searchAttributes: true,
      announce: false,
      directMessages: true,
      heartbeatTimeoutMs: 10_000,
    },
    console.warn,
  );
  const maintain = createMaintain({ store, temporal, starter }, { graceMs: 60_000, retentionMs: 90 * DAY });
  const pass = async () => {
    const started = performance.now();
    await new MockActivityEnvironment().run(maintain);
    return performance.now() - started;
  };
  await pass();
  const idlePassMs = await pass();
  const { rowCount } = await database.query(
    `update continuations.continuations set seen_at = now() - interval '2 days' where id in
      (select id from continuations.continuations where status = 'pending' order by id limit ${UNSEEN})`,
  );
  const lookedAfterMs = ((await pass()) - idlePassMs) / (rowCount ?? 0);
  return { idlePassMs, lookedAfterMs, describedMs: await describe(bed), purgedMs: await purge(bed) };
}

/** Median milliseconds, one at a time; not of those that were just looked after. */
async function describe({ database, temporal }: Bed): Promise<number> {
  const { rows } = await database.query(
    `select id from continuations.continuations where status = 'pending' order by id offset ${UNSEEN} limit ${DESCRIBED}`,
  );
  return median(await times(rows, ({ id }) => temporal.workflow.getHandle(id).describe()));
}

/** Milliseconds a record. */
async function purge({ store }: Bed): Promise<number> {
  const started = performance.now();
  for (let purged = 0; ; ) {
    const { records } = await store.purgeAcrossScopes({ retentionMs: 0, graceMs: 0, limit: BATCH });
    if (records === 0) return (performance.now() - started) / purged;
    purged += records;
  }
}
