/** What those that wait take: on disk in both servers, in a workflow's history, and in the worker's memory. */
import { statSync } from 'node:fs';
import { median } from '../numbers.ts';
import type { Bed } from './bed.ts';

export interface Bytes {
  readonly tables: number;
  readonly indexes: number;
  readonly temporal: number;
}
export interface Sizes {
  /** Bytes a continuation: tables with what is beside them, indexes, Temporal's database. */
  readonly tableBytes: number;
  readonly indexBytes: number;
  readonly temporalBytes: number;
  readonly historyBytes: number;
  readonly historyEvents: number;
  readonly workerBytes: number;
}

const SAMPLES = 20;

export async function bytesNow({ database, temporalFile }: Bed): Promise<Bytes> {
  const { rows } = await database.query(
    `select sum(pg_table_size(oid)) as tables, sum(pg_indexes_size(oid)) as indexes from pg_class
      where relnamespace = 'continuations'::regnamespace and relkind = 'r'`,
  );
  const files = [temporalFile, `${temporalFile}-wal`].map(
    (file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0,
  );
  return {
    tables: Number(rows[0].tables),
    indexes: Number(rows[0].indexes),
    temporal: files.reduce((sum, size) => sum + size),
  };
}

/** What was added since `before` for each of `added`; `ids`: some that wait. */
export async function measureSizes(bed: Bed, before: Bytes, added: number, ids: readonly string[]): Promise<Sizes> {
  const after = await bytesNow(bed);
  const histories = await Promise.all(ids.slice(-SAMPLES).map((id) => bed.temporal.workflow.getHandle(id).describe()));
  return {
    tableBytes: (after.tables - before.tables) / added,
    indexBytes: (after.indexes - before.indexes) / added,
    temporalBytes: (after.temporal - before.temporal) / added,
    historyBytes: median(histories.map(({ historySize }) => historySize ?? Number.NaN)),
    historyEvents: median(histories.map(({ historyLength }) => historyLength)),
    workerBytes: await bed.worker.residentBytes(),
  };
}
