/** One maintenance pass over what nobody else would notice (C13). Terminal rows are never touched but by the purge. */
import { Context } from '@temporalio/activity';
import { type Client, ServiceError } from '@temporalio/client';
import { isContinuationError } from '../src/errors.ts';
import type { Watched } from '../src/ports.ts';
import { isTerminal } from '../src/record.ts';
import { type RepairDeps, repair } from '../src/repair.ts';
import { stopSignal } from '../workflows/messages.ts';
import type { MaintenanceActivities, MaintenanceReport } from './contract.ts';

const DAY = 86_400_000;
/** Rows that one statement finds or deletes. */
const BATCH = 500;
/** Rows that are looked after at the same time. */
const AT_ONCE = 8;
/** What a pass has not come to by then waits for the next one, milliseconds. */
const LONGEST_PASS = 5 * 60_000;

export interface MaintenanceOptions {
  /** A row is looked at this long after its deadline, or after its creation when it was never marked started. */
  readonly graceMs: number;
  /** Terminal records and unused contents are kept this long. */
  readonly retentionMs: number;
}
type Counts = Record<'started' | 'repaired' | 'superseded', number>;

export function createMaintain(deps: RepairDeps, options: MaintenanceOptions): MaintenanceActivities['maintain'] {
  return async () => {
    const { cancellationSignal } = Context.current();
    const end = performance.now() + LONGEST_PASS;
    const goesOn = () => performance.now() < end && !cancellationSignal.aborted;
    const counts = await lookAfterAll(deps, options.graceMs, goesOn);
    const purged = await purge(deps, options.retentionMs, goesOn);
    const census = await deps.store.censusAcrossScopes();
    const report: MaintenanceReport = { ...counts, ...purged, ...census };
    if (report.overdue + report.uncertain + report.repaired > 0)
      Context.current().log.warn('Continuations need attention', { ...report });
    return report;
  };
}

/** Batch after batch while there are full ones, so that a pass keeps up however much came together. */
async function lookAfterAll(deps: RepairDeps, graceMs: number, goesOn: () => boolean): Promise<Counts> {
  const counts = { started: 0, repaired: 0, superseded: 0 };
  for (let full = true; full && goesOn(); ) {
    const due = await deps.store.dueAcrossScopes({ graceMs, unseenMs: DAY, limit: BATCH });
    const all = await lookAfterBatch(deps, due, counts);
    full = all && due.length === BATCH;
  }
  return counts;
}

/** False when a server is away: the rows that were not come to are due again in the next pass. */
async function lookAfterBatch(deps: RepairDeps, due: readonly Watched[], counts: Counts): Promise<boolean> {
  const queue = due.values();
  const [seen, owned]: [string[], string[]] = [[], []];
  let reachable = true;
  const look = async (): Promise<void> => {
    for (const watched of queue) {
      if (!reachable) return;
      Context.current().heartbeat();
      try {
        const { done, live } = await lookAfter(deps, watched);
        if (done) counts[done] += 1;
        if (live) owned.push(watched.id);
        seen.push(watched.id);
      } catch (error) {
        reachable &&= !isAway(error);
        // A row with a fault of its own does not keep the others from being looked at.
        if (reachable) seen.push(watched.id);
        const message = 'A continuation could not be looked after; a later pass tries again';
        Context.current().log.warn(message, { id: watched.id, error });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, look));
  await deps.store.markStarted(owned);
  await deps.store.markSeen(seen);
  return reachable;
}

function isAway(error: unknown): boolean {
  return (
    error instanceof ServiceError ||
    isContinuationError(error, 'temporal_unavailable') ||
    isContinuationError(error, 'database_unavailable')
  );
}

/** `live`: its workflow runs. */
async function lookAfter(deps: RepairDeps, { id, reason }: Watched): Promise<{ done?: keyof Counts; live: boolean }> {
  const stored = await deps.store.getAcrossScopes(id);
  if (!stored || isTerminal(stored.record)) return { live: false };
  const found = await repair(deps, stored);
  if (found === 'ended') return { done: 'repaired', live: false };
  const { supersededBy } = stored.record;
  if (reason === 'superseded' && supersededBy) {
    await supersede(deps.temporal, id, supersededBy);
    return { done: 'superseded', live: true };
  }
  return { live: true, ...(found === 'started' && { done: 'started' }) };
}

async function purge(
  { store }: RepairDeps,
  retentionMs: number,
  goesOn: () => boolean,
): Promise<Pick<MaintenanceReport, 'purgedRecords' | 'purgedContents'>> {
  const purged = { purgedRecords: 0, purgedContents: 0 };
  for (let full = true; full; ) {
    Context.current().heartbeat();
    const { records, contents } = await store.purgeAcrossScopes({ retentionMs, graceMs: DAY, limit: BATCH });
    purged.purgedRecords += records;
    purged.purgedContents += contents;
    full = Math.max(records, contents) === BATCH && goesOn();
  }
  return purged;
}

/** Tells a waiting continuation that a newer turn of its session took its place. */
async function supersede(temporal: Client, id: string, supersededBy: string): Promise<void> {
  await temporal.workflow.getHandle(id).signal(stopSignal, { reason: 'superseded_by_newer_turn', supersededBy });
}
