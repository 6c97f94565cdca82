/** A short `npm run chaos`: few turns, every kind of fault alone and then all at once. The long runs are in `docs/proof.md`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PASSES, type PassName } from '../../bench/chaos/pass.ts';
import { type Chaos, startChaos } from '../../bench/chaos/run.ts';

const TURNS = 12;
const OPTIONS = { turns: TURNS, clients: 16, seed: '1' };
let chaos: Chaos;
beforeAll(async () => {
  chaos = await startChaos(OPTIONS.seed, () => undefined);
}, 180_000);
afterAll(() => chaos?.close());

describe('nothing is lost, doubled, wrongly told, or unknown without a reason', () => {
  test.each(Object.keys(PASSES) as PassName[])(
    '%s',
    async (pass) => {
      const report = await chaos.run(pass, OPTIONS);
      expect(report).toMatchObject({
        turns: TURNS,
        lost: 0,
        doubled: 0,
        wronglyTold: 0,
        unjustifiedUnknown: 0,
        problems: [],
      });
      // Each fault that the pass is about struck.
      const { faults = [] } = PASSES[pass] as { faults?: readonly string[] };
      expect(Object.keys(report.faults).sort()).toEqual([...faults].sort());
    },
    180_000,
  );
});
