/** How many creates and answers a second, by many clients at once. */

import type { Bed } from './bed.ts';
import type { Pair } from './numbers.ts';
import type { Load } from './options.ts';
import { closed, ORDERS, type SideName, untilWaiting } from './sides.ts';

export interface Rates {
  readonly creates: Pair;
  /** Answer → the workflow has closed: both activities are done. */
  readonly answers: Pair;
  /** Answer → its caller knows that all was done. */
  readonly finishes: Pair;
}

interface Measured {
  readonly figure: keyof Rates;
  readonly name: SideName;
  readonly perSecond: number;
}

/** Rounds of both sides; the order alternates, and the first round only warms up. */
export async function measureRates(bed: Bed, load: Load, progress: (text: string) => void): Promise<Rates> {
  const pair = (): Pair => ({ bare: [], ours: [] });
  const rates: Rates = { creates: pair(), answers: pair(), finishes: pair() };
  for (let round = 0; round <= load.rounds; round++) {
    progress(round === 0 ? 'Warming up' : `Creates and answers: round ${round} of ${load.rounds}`);
    const measured = await measureRound(bed, load, ORDERS[round % 2 === 0 ? 0 : 1]);
    if (round > 0) for (const { figure, name, perSecond } of measured) rates[figure][name].push(perSecond);
  }
  return rates;
}

/** Creates of one side, then of the other, then answers to what was created; no work is left when it returns. */
async function measureRound(bed: Bed, load: Load, order: readonly SideName[]): Promise<Measured[]> {
  const measured: Measured[] = [];
  const ids = { bare: [] as string[], ours: [] as string[] };
  const blanks = Array.from({ length: load.perRound }, () => '');
  for (const name of order) {
    const create = async () => void ids[name].push(await bed.sides[name].create());
    measured.push({ figure: 'creates', name, perSecond: await rate(blanks, load.clients, create) });
    await untilWaiting(bed.temporal, ids[name]);
  }
  const half = Math.ceil(load.perRound / 2);
  for (const [figure, from] of [
    ['answers', 0],
    ['finishes', half],
  ] as const) {
    for (const name of order) {
      const some = ids[name].slice(from, from + half);
      const perSecond = await rate(some, load.clients, (id) => answer(bed, name, figure, id));
      measured.push({ figure, name, perSecond });
      for (const id of some) await closed(bed.temporal, id);
    }
  }
  return measured;
}

async function answer({ sides, temporal }: Bed, name: SideName, figure: keyof Rates, id: string): Promise<void> {
  if (figure === 'finishes') return sides[name].answerAndFinish(id);
  await sides[name].answer(id);
  await closed(temporal, id);
}

/** Does the work for every item, by `clients` at once; items a second. */
async function rate(items: readonly string[], clients: number, work: (item: string) => Promise<void>): Promise<number> {
  const queue = items.values();
  const start = performance.now();
  const client = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: clients }, client));
  return items.length / ((performance.now() - start) / 1000);
}
