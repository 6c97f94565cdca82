/** The activities of a worker, each in its own file. */
import type { RepairDeps } from '../src/repair.ts';
import { createCloseTurn } from './close-turn.ts';
import type { Activities, MaintenanceActivities } from './contract.ts';
import { createDeliver } from './deliver.ts';
import type { ActivityDeps } from './deps.ts';
import { heartbeating } from './heartbeat.ts';
import { createMaintain, type MaintenanceOptions } from './maintain.ts';
import { createOpen } from './open.ts';
import { createProject } from './project.ts';
import { createReconcile } from './reconcile.ts';
import { createRunTurn } from './run-turn.ts';

export function createActivities(
  deps: ActivityDeps & RepairDeps,
  maintenance: MaintenanceOptions,
): Activities & MaintenanceActivities {
  return {
    runTurn: heartbeating(createRunTurn(deps)),
    closeTurn: heartbeating(createCloseTurn(deps)),
    reconcile: heartbeating(createReconcile(deps)),
    deliver: heartbeating(createDeliver(deps)),
    open: heartbeating(createOpen(deps)),
    project: heartbeating(createProject(deps)),
    maintain: createMaintain(deps, maintenance),
  };
}
