/** What the command line asks for. */
import { parseArgs } from 'node:util';

export interface ScaleOptions {
  /** How many wait at once when a step is measured. */
  readonly steps: readonly number[];
  readonly json: boolean;
  readonly help: boolean;
}

const DEFAULT_COUNT = 20_000;
/** A step answers some hundreds of those whose workflow is not cached. */
const SMALLEST = 1_000;

export const HELP = `Measures what paused continuations cost while many of them wait, on real servers that keep everything on disk.

  npm run bench:scale [-- --count 20000] [-- --json]

Measured at a twentieth, a quarter and all of them, so that a cost which grows with their number shows.

  --count   how many wait at once in the end; default 20000, which takes about ten minutes
  --json    print one JSON object and nothing else (npm prints its own lines: npm run --silent bench:scale -- --json)
  --help    print this
`;

/** Reads the arguments after the script; throws on an unknown one. */
export function readOptions(args: string[]): ScaleOptions {
  const { values } = parseArgs({
    args,
    options: { count: { type: 'string' }, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  const count = Number(values.count ?? DEFAULT_COUNT);
  if (!Number.isSafeInteger(count) || count < SMALLEST) {
    throw new TypeError(`--count must be a whole number of at least ${SMALLEST}, not ${values.count}`);
  }
  const sizes = [Math.round(count / 20), Math.round(count / 4), count].filter((size) => size >= SMALLEST);
  return { steps: sizes, json: values.json === true, help: values.help === true };
}
