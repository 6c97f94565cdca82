/** One maintenance pass over what nobody else would notice (C13). Terminal rows are never touched but by the purge. */
import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { Watched } from '../src/ports.ts';
import { isTerminal } from '../src/record.ts';
import { type RepairDeps, repair } from '../src/repair.ts';
import { stopSignal } from '../workflows/messages.ts';
import type { MaintenanceActivities, MaintenanceReport } from './contract.ts';

const DAY = 86_400_000;
/** Rows a pass looks at; what is left waits for the next one. */
const BATCH = 500;

export interface MaintenanceOptions {
  /** A row is looked at this long after its deadline, or after its creation when it was never marked started. */
  readonly graceMs: number;
  /** Terminal records and unused contents are kept this long. */
  readonly retentionMs: number;
}

export function createMaintain(deps: RepairDeps, options: MaintenanceOptions): MaintenanceActivities['maintain'] {
  return async () => {
    const { store } = deps;
    const counts = { started: 0, repaired: 0, superseded: 0 };
    const due = await store.dueAcrossScopes({ graceMs: options.graceMs, unseenMs: DAY, limit: BATCH });
    const seen: string[] = [];
    for (const watched of due) {
      Context.current().heartbeat();
      try {
        const done = await lookAfter(deps, watched);
        if (done) counts[done] += 1;
        seen.push(watched.id);
      } catch (error) {
        Context.current().log.warn('A continuation could not be looked after; the next pass tries again', {
          id: watched.id,
          error,
        });
      }
    }
    await store.markSeen(seen);
    const purged = await store.purgeAcrossScopes({ retentionMs: options.retentionMs, graceMs: DAY, limit: BATCH });
    const census = await store.censusAcrossScopes();
    const report: MaintenanceReport = {
      ...counts,
      purgedRecords: purged.records,
      purgedContents: purged.contents,
      ...census,
    };
    if (report.overdue + report.uncertain + report.repaired > 0)
      Context.current().log.warn('Continuations need attention', { ...report });
    return report;
  };
}

async function lookAfter(
  deps: RepairDeps,
  { id, reason }: Watched,
): Promise<'started' | 'repaired' | 'superseded' | undefined> {
  const stored = await deps.store.getAcrossScopes(id);
  if (!stored || isTerminal(stored.record)) return undefined;
  const found = await repair(deps, stored);
  if (found === 'ended') return 'repaired';
  await deps.store.markStarted([id]);
  const { supersededBy } = stored.record;
  if (reason === 'superseded' && supersededBy) {
    await supersede(deps.temporal, id, supersededBy);
    return 'superseded';
  }
  return found === 'started' ? 'started' : undefined;
}

/** Tells a waiting continuation that a newer turn of its session took its place. */
async function supersede(temporal: Client, id: string, supersededBy: string): Promise<void> {
  await temporal.workflow.getHandle(id).signal(stopSignal, { reason: 'superseded_by_newer_turn', supersededBy });
}
