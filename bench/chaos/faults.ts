/** What goes wrong while a pass runs, at moments that the seed decides. */
import { setTimeout as sleep } from 'node:timers/promises';
import { load, type Program } from './children.ts';
import { between, type Random, randomOf } from './random.ts';
import type { Servers } from './servers.ts';
import type { WorkerSettings } from './worker.ts';

export const FAULTS = ['kill', 'cut', 'database', 'temporal'] as const;
export type Fault = (typeof FAULTS)[number];

/** Between two of a kind, milliseconds. */
const EVERY: Readonly<Record<Fault, readonly [number, number]>> = {
  kill: [300, 2_500],
  cut: [500, 4_000],
  database: [1_000, 8_000],
  temporal: [1_000, 10_000],
};
const MOST_STARTS = 10;
const POLLS_WITHIN_MS = 60_000;
const CUT_MS = [200, 4_000] as const;

/** The workers of a run; one that is killed is replaced at once. */
export interface Crew {
  /** The process ids of those that were killed. */
  readonly killed: ReadonlySet<string>;
  killOne(random: Random): Promise<void>;
  stop(): Promise<void>;
}

type Worker = Program<WorkerSettings, string>;

export async function startCrew(size: number, settings: Omit<WorkerSettings, 'seed'>, seed: string): Promise<Crew> {
  let started = 0;
  const loadSpare = () => {
    const loading = load<WorkerSettings, string>('./worker.ts');
    loading.catch(() => undefined);
    return loading;
  };
  let spare = loadSpare();
  /** As a supervisor does: one that cannot start because a server is away is started again. */
  const hire = async (): Promise<Worker> => {
    started += 1;
    const own = { ...settings, seed: `${seed}/${started}` };
    for (let tries = 1; ; tries++) {
      const loading = spare;
      spare = loadSpare();
      const worker = await loading;
      try {
        await worker.ask(own, POLLS_WITHIN_MS);
        return worker;
      } catch (error) {
        await worker.kill();
        if (tries === MOST_STARTS) throw error;
      }
    }
  };
  const workers: Worker[] = await Promise.all(Array.from({ length: size }, hire));
  const killed = new Set<string>();
  return {
    killed,
    async killOne(random) {
      const [worker] = workers.splice(between(random, 0, workers.length), 1);
      if (!worker) return;
      await worker.kill();
      killed.add(worker.pid);
      workers.push(await hire());
    },
    async stop() {
      // One that could not be loaded has ended already.
      const loaded = spare.then((worker) => worker.kill()).catch(() => undefined);
      await Promise.all([loaded, ...workers.map((worker) => worker.kill())]);
    },
  };
}

/** Causes each kind of fault again and again until `stop`; everything is up again when that resolves, with how often each struck. */
export function startFaults(kinds: readonly Fault[], servers: Servers, crew: Crew, seed: string) {
  const struck: Partial<Record<Fault, number>> = {};
  const ending = new AbortController();
  const strike: Readonly<Record<Fault, (random: Random) => Promise<void>>> = {
    kill: (random) => crew.killOne(random),
    async cut(random) {
      servers.proxy.cut();
      await sleep(between(random, ...CUT_MS));
      servers.proxy.restore();
    },
    database: () => servers.restartDatabase(),
    temporal: () => servers.restartTemporal(),
  };
  const loops = kinds.map(async (kind) => {
    const random = randomOf(seed, kind);
    let first = true;
    while (!ending.signal.aborted) {
      // Short passes meet it, too.
      const wait = first ? between(random, 100, 600) : between(random, ...EVERY[kind]);
      first = false;
      await sleep(wait, undefined, { signal: ending.signal }).catch(() => undefined);
      if (ending.signal.aborted) break;
      await strike[kind](random);
      struck[kind] = (struck[kind] ?? 0) + 1;
    }
  });
  return {
    async stop() {
      ending.abort();
      await Promise.all(loops);
      return struck;
    },
  };
}
