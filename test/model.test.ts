/**
 * The model (`npm run model`): nothing is violated with all guards, and something is without any one of them. How large a scenario
 * is, and that it is looked at to its end, is said here, so that it does not shrink unnoticed.
 */
import { describe, expect, test } from 'vitest';
import { explore } from '../bench/model/explore.ts';
import { GUARDS, type Guard } from '../bench/model/guards.ts';
import type { Invariant } from '../bench/model/invariants.ts';
import { DEFAULT_DEPTH } from '../bench/model/options.ts';
import { initialState, SCENARIOS, type Scenario } from '../bench/model/scenarios.ts';

describe('with all guards', () => {
  const scenarios = Object.keys(SCENARIOS) as Scenario[];
  test.each(scenarios)(
    'nothing is violated: %s',
    (name) => {
      const whole = name !== 'everything';
      const { violations, exhausted, states } = explore(initialState(name), whole ? {} : { depth: DEFAULT_DEPTH });
      expect(violations).toEqual([]);
      expect(exhausted).toBe(whole);
      expect(states).toBeGreaterThan(1000);
    },
    300_000,
  );
});

/** Without a guard: where it is missed, and what breaks first. */
const MISSED: Record<Guard, [Scenario, Invariant]> = {
  token: ['window', 'C6'],
  acknowledged: ['answers', 'C8'],
  ended: ['window', 'C7'],
  fence: ['window', 'C6'],
  hidden: ['turn', 'C5'],
  settledFirst: ['turn', 'C6'],
  started: ['window', 'C8'],
  basedOn: ['zombies', 'C6'],
  attempting: ['delivery', 'C7'],
  deliveryToken: ['delivery', 'C7'],
  forward: ['superseded', 'C14'],
  goesOn: ['reset', 'C1'],
  final: ['resetEnd', 'C10'],
  recordFirst: ['outside', 'C5'],
  startOnce: ['outside', 'C13'],
  handler: ['answers', 'C1'],
  stamp: ['answers', 'C4'],
  rowKnows: ['outside', 'C1'],
  locked: ['turn', 'C8'],
  heardFirst: ['suppressed', 'C8'],
  mayHaveArrived: ['suppressed', 'C11'],
  committed: ['answers', 'C13'],
  maintenance: ['outside', 'C13'],
};

describe('without one guard', () => {
  test.each(Object.entries(MISSED))(
    '%s: %o',
    (guard, [scenario, invariant]) => {
      const { violations } = explore(initialState(scenario), { without: new Set([guard as Guard]) });
      expect(violations[0]?.invariant, GUARDS[guard as Guard]).toBe(invariant);
      expect(violations[0]?.trace.length).toBeGreaterThan(0);
    },
    120_000,
  );
});
