/** `npm run bench`: what continuations cost, against a bare workflow that does the same work. See `--help`. */
import { openBed } from './bed.ts';
import { measureBytes } from './bytes.ts';
import { countEvents } from './events.ts';
import { measureLatencies } from './latencies.ts';
import { type BenchOptions, HELP, readOptions } from './options.ts';
import { measureRates } from './rates.ts';
import { type Figures, summarise, table } from './report.ts';

const progress = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

async function measure({ load }: BenchOptions): Promise<Figures> {
  const bed = await openBed({ progress });
  try {
    const rates = await measureRates(bed, load, progress);
    const latencies = await measureLatencies(bed, load, progress);
    progress('Counting events');
    const events = await countEvents(bed);
    progress(`Counting bytes of ${load.rows} paused continuations`);
    const bytesPerPaused = await measureBytes(bed, load);
    return { rates, latencies, events, bytesPerPaused };
  } finally {
    progress('Stopping');
    await bed.close();
  }
}

async function main(args: string[]): Promise<void> {
  const options = readOptions(args);
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const figures = await measure(options);
  const summary = summarise(figures);
  process.stdout.write(options.json ? `${JSON.stringify(summary)}\n` : `\n${table(figures, summary)}\n`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error && 'code' in error ? error.message : error);
  process.exitCode = 1;
}
