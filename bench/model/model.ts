/** `npm run model`: see `options.ts`. */
import { type Explored, explore } from './explore.ts';
import { HELP, readOptions } from './options.ts';
import { initialState, type Scenario } from './scenarios.ts';

function lines(scenario: Scenario, { violations, ...explored }: Explored): string {
  const { states, transitions, depth, exhausted, seconds } = explored;
  const reached = `${depth} steps deep, ${exhausted ? 'every state' : 'not to the end'}`;
  const counts = `${states} states  ${transitions} transitions  ${reached}  ${violations.length} violations`;
  const found = violations.map(({ invariant, what, trace }) =>
    [`  ${invariant}: ${what}`, ...trace.map((label, index) => `    ${index + 1}. ${label}`)].join('\n'),
  );
  return [`${scenario.padEnd(11)} ${counts}  ${seconds.toFixed(1)} s`, ...found].join('\n');
}

const { scenarios, depth, without, json, help } = readOptions(process.argv.slice(2));
if (help) {
  console.log(HELP);
  process.exit();
}
let violated = false;
for (const scenario of scenarios) {
  const limits = scenario === 'everything' ? { depth } : {};
  const explored = explore(initialState(scenario), { ...limits, without: new Set(without) });
  violated ||= explored.violations.length > 0;
  console.log(json ? JSON.stringify({ scenario, ...explored }) : lines(scenario, explored));
}
process.exit(violated ? 1 : 0);
