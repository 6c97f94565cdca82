/** `npm run chaos`: see `options.ts`. */
import { HELP, readOptions } from './options.ts';
import type { PassReport } from './pass.ts';
import { isClean, runChaos } from './run.ts';

function line({ pass, turns, problems, faults, seconds, ...counts }: PassReport): string {
  const struck = Object.entries(faults).map(([name, times]) => `${name} x ${times}`);
  const what = [...Object.entries(counts).map(([name, value]) => `${name} ${value}`), ...struck].join('  ');
  return [
    `${pass.padEnd(9)} ${turns} turns  ${what}  ${seconds} s`,
    ...problems.map(({ id, what }) => `    ${id} ${what}`),
  ].join('\n');
}

const options = readOptions(process.argv.slice(2));
if (options.help) {
  console.log(HELP);
  process.exit();
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const progress = (text: string) => console.error(text);
progress(`Seed ${options.seed}`);
const reports = await runChaos(options, {
  progress: options.json ? () => undefined : progress,
  passed: (report) => console.log(options.json ? JSON.stringify(report) : line(report)),
});
process.exit(reports.every(isClean) ? 0 : 1);
