/** What people and scrapers ask while many wait. */
import { median } from '../numbers.ts';
import type { Bed } from './bed.ts';
import { sessionOf, tenantOf } from './fill.ts';
import { times } from './times.ts';

const ROUNDS = 15;
const ROOT = 'app=default';

const QUERIES = {
  'first page of all that waits': ({ client }: Bed) => client.list({ status: 'open' }),
  'first page of a tenant': ({ client }: Bed) => client.list({ scope: tenantOf(3), status: 'open' }),
  'first page of a rare wait': ({ client }: Bed) => client.list({ status: 'open', waitFor: 'external_result' }),
  'a session': ({ client }: Bed) => client.listBySession(sessionOf(6)),
  'turns that run': ({ client }: Bed) => client.list({ status: 'resuming' }),
  'unknown outcomes': ({ client }: Bed) => client.list({ status: 'uncertain' }),
  'numbers for /metrics': ({ store }: Bed) => store.metrics(ROOT),
  'numbers for maintenance': ({ store }: Bed) => store.censusAcrossScopes(),
} as const;

export type QueryName = keyof typeof QUERIES;
export const QUERY_NAMES = Object.keys(QUERIES) as QueryName[];
/** Milliseconds, medians. */
export type Queries = Record<QueryName, number>;

export async function measureQueries(bed: Bed): Promise<Queries> {
  const entries: [QueryName, number][] = [];
  for (const name of QUERY_NAMES) {
    const [, ...warm] = await times(Array.from({ length: ROUNDS + 1 }), () => QUERIES[name](bed));
    entries.push([name, median(warm)]);
  }
  return Object.fromEntries(entries) as Queries;
}
