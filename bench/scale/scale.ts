/** `npm run bench:scale`: what paused continuations cost while many of them wait. See `--help`. */
import { measureAnswers } from './answers.ts';
import { type Bed, openBed } from './bed.ts';
import { fill, type Waiting } from './fill.ts';
import { HELP, readOptions } from './options.ts';
import { measureQueries } from './queries.ts';
import { type Step, type Summary, summarise, table } from './report.ts';
import { bytesNow, measureSizes } from './sizes.ts';
import { measureUpkeep } from './upkeep.ts';

const progress = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

async function measure(steps: readonly number[]): Promise<Summary> {
  const bed = await openBed(progress);
  try {
    const waiting: Waiting = { replies: [], others: [], created: 0 };
    const measured: Step[] = [];
    for (const count of steps) {
      const step = await measureStep(bed, waiting, count);
      measured.push(step);
      // A run that is interrupted has told what it had.
      progress(JSON.stringify(step));
    }
    return await summarise(bed, measured);
  } finally {
    progress('Stopping');
    await bed.close();
  }
}

/** Fills up to `count`, measures, and leaves fewer: some are answered and purged. */
async function measureStep(bed: Bed, waiting: Waiting, count: number): Promise<Step> {
  progress(`Creating until ${count} wait`);
  const [before, created] = [await bytesNow(bed), waiting.created];
  const filled = await fill(bed, waiting, count);
  const sizes = await measureSizes(bed, before, waiting.created - created, waiting.replies);
  progress('Asking what waits');
  const queryMs = await measureQueries(bed);
  progress('Answering');
  const answers = await measureAnswers(bed.client, waiting.replies);
  progress('Looking after what waits, purging what has ended');
  const upkeep = await measureUpkeep(bed);
  return { waiting: count, ...filled, ...sizes, queryMs, ...answers, ...upkeep };
}

async function main(args: string[]): Promise<void> {
  const options = readOptions(args);
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const summary = await measure(options.steps);
  process.stdout.write(options.json ? `${JSON.stringify(summary)}\n` : `\n${table(summary)}\n`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error && 'code' in error ? error.message : error);
  process.exitCode = 1;
}
