/** How long one answer takes, with nothing else going on. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bed } from './bed.ts';
import { type Pair, quantile } from './numbers.ts';
import type { Load } from './options.ts';
import { closed, ORDERS, type Side, type SideName } from './sides.ts';

export interface Latencies {
  /** Answer → the harness started, milliseconds: p50 of each round, and p99 of all. */
  readonly harness: Pair;
  readonly harnessP99: { readonly [name in SideName]: number };
  /** Answer → its caller knows that all was done: p50 of each round. */
  readonly finished: Pair;
}

interface Sample {
  readonly harness: number;
  readonly finished: number;
}
type Samples = { readonly [name in SideName]: Sample[] };

/** The same clock in all processes of a machine, milliseconds. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Answers of both sides in turn, one at a time; the first round only warms up. */
export async function measureLatencies(bed: Bed, load: Load, progress: (text: string) => void): Promise<Latencies> {
  const rounds: Samples[] = [];
  for (let round = 0; round <= load.rounds; round++) {
    if (round > 0) progress(`Latencies: round ${round} of ${load.rounds}`);
    const samples: Samples = { bare: [], ours: [] };
    for (let sample = 0; sample < load.samples; sample++) {
      for (const name of ORDERS[sample % 2 === 0 ? 0 : 1]) {
        samples[name].push(await measureOne(bed, bed.sides[name], load.pauseMs));
      }
    }
    if (round > 0) rounds.push(samples);
  }
  const p50 = (name: SideName, kind: keyof Sample): number[] =>
    rounds.map((samples) =>
      quantile(
        samples[name].map((sample) => sample[kind]),
        0.5,
      ),
    );
  const p99 = (name: SideName): number =>
    quantile(
      rounds.flatMap((samples) => samples[name].map(({ harness }) => harness)),
      0.99,
    );
  return {
    harness: { bare: p50('bare', 'harness'), ours: p50('ours', 'harness') },
    harnessP99: { bare: p99('bare'), ours: p99('ours') },
    finished: { bare: p50('bare', 'finished'), ours: p50('ours', 'finished') },
  };
}

async function measureOne({ temporal }: Bed, side: Side, pauseMs: number): Promise<Sample> {
  const id = await side.create();
  await sleep(pauseMs);
  const start = now();
  await side.answerAndFinish(id);
  const finished = now() - start;
  const harness = (await side.worker.startOf(id)) - start;
  await closed(temporal, id);
  return { harness, finished };
}
