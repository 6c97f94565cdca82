/** The steps from an empty database to the present tables and functions. Forward only: one that was released never changes. */
import { ACCESS, METRICS, OUTBOX } from './sql/access.ts';
import { DELIVERIES } from './sql/deliveries.ts';
import { JOURNAL } from './sql/journal.ts';
import { LISTS } from './sql/lists.ts';
import { RECORDS } from './sql/records.ts';
import { SCALE } from './sql/scale.ts';
import { TABLES } from './sql/tables.ts';
import { TURNS } from './sql/turns.ts';
import { UPKEEP } from './sql/upkeep.ts';

export interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** Everything of ours is in this PostgreSQL schema, apart from what else the database holds. */
export const SCHEMA = 'continuations';

export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-tables', sql: TABLES },
  { name: '0002-functions', sql: [RECORDS, TURNS, DELIVERIES, UPKEEP].join('\n') },
  { name: '0003-access', sql: ACCESS },
  { name: '0004-metrics', sql: METRICS },
  { name: '0005-outbox', sql: OUTBOX },
  { name: '0006-journal', sql: JOURNAL },
  { name: '0007-lists', sql: LISTS },
  { name: '0008-scale', sql: SCALE },
];
