/** What is kept of continuations that show a problem, for whoever looks for its cause. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { ContinuationClient } from '../../src/index.ts';
import type { PassReport } from './pass.ts';

const FOLDER = join('.data', 'chaos');
const MOST = 20;

/** Writes record, receipts and history of each; returns the folder. */
export async function keepEvidence(
  { pass, problems }: PassReport,
  client: ContinuationClient,
  connection: Connection,
): Promise<string | undefined> {
  const ids = [...new Set(problems.map(({ id }) => id))].slice(0, MOST);
  if (ids.length === 0) return undefined;
  mkdirSync(FOLDER, { recursive: true });
  const temporal = new Client({ connection });
  for (const id of ids) {
    const record = await client.get({ continuationId: id, include: ['result', 'executions'] });
    const receipts = await client.receipts(id);
    const history = historyToJSON(await temporal.workflow.getHandle(id).fetchHistory());
    const told = problems.filter((problem) => problem.id === id).map(({ what }) => what);
    const text = JSON.stringify({ told, record, receipts, history }, null, 2);
    writeFileSync(join(FOLDER, `${pass}-${id}.json`), text);
  }
  return FOLDER;
}
