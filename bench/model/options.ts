/** What the command line asks for. */
import { parseArgs } from 'node:util';
import { GUARDS, type Guard, isGuard } from './guards.ts';
import { isScenario, SCENARIOS, type Scenario } from './scenarios.ts';

export interface ModelOptions {
  readonly scenarios: readonly Scenario[];
  readonly depth: number;
  readonly without: readonly Guard[];
  readonly json: boolean;
  readonly help: boolean;
}

/** Steps to which the scenario that is too large to be looked at wholly is looked at; the others end before. */
export const DEFAULT_DEPTH = 9;

const lines = (of: Record<string, string>) =>
  Object.entries(of)
    .map(([name, about]) => `  ${name.padEnd(15)} ${about}`)
    .join('\n');

export const HELP = `Looks at every order in which clients, workflow, activities, timers, maintenance and faults can come, over the real rules and a
model of the store, and checks C1, C4 to C8, C10, C11, C13 and C14 in every state.

  npm run model [-- --scenario turn,reset] [-- --depth 12] [-- --without fence] [-- --json]

Scenarios
${lines(Object.fromEntries(Object.entries(SCENARIOS).map(([name, { about }]) => [name, about])))}

  --depth N    steps to which \`everything\` is looked at (default ${DEFAULT_DEPTH}); the others are looked at to their end
  --without G  leaves a guard out, to see what it is for
  --json       one JSON object for each scenario and nothing else

Guards
${lines(GUARDS)}
`;

/** Reads the arguments after the script; throws on an unknown one. */
export function readOptions(args: string[]): ModelOptions {
  const { values } = parseArgs({
    args,
    options: {
      scenario: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
      depth: { type: 'string', default: String(DEFAULT_DEPTH) },
      without: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { json, help } = values;
  const depth = Number(values.depth);
  if (!Number.isInteger(depth) || depth < 1)
    throw new Error(`--depth must be a whole number from 1 on, not ${values.depth}`);
  const scenarios = named(values.scenario, isScenario, '--scenario: there is none');
  return { scenarios, depth, without: named(values.without, isGuard, '--without: there is no guard'), json, help };
}

function named<T extends string>(list: string, is: (name: string) => name is T, otherwise: string): T[] {
  return list
    .split(',')
    .filter(Boolean)
    .map((name) => {
      if (!is(name)) throw new Error(`${otherwise} named ${name}`);
      return name;
    });
}
