/** What the command line asks for. */
import { parseArgs } from 'node:util';

/** How much is measured. */
export interface Load {
  /** Rounds per figure; each measures both sides, and the next one the other way round. */
  readonly rounds: number;
  /** Creates, then answers, per side and round. */
  readonly perRound: number;
  readonly clients: number;
  /** Answers per side and round of the latencies, one at a time. */
  readonly samples: number;
  /** Between two of those: closer ones meet the server still busy with the one before. */
  readonly pauseMs: number;
  /** Paused continuations whose bytes are counted, and the bytes of state in each. */
  readonly rows: number;
  readonly stateBytes: number;
}

export interface BenchOptions {
  readonly load: Load;
  readonly json: boolean;
  readonly help: boolean;
}

const FULL: Load = { rounds: 7, perRound: 128, clients: 16, samples: 24, pauseMs: 120, rows: 1000, stateBytes: 1024 };
const QUICK: Load = { ...FULL, rounds: 3, perRound: 64, samples: 12, rows: 200 };

export const HELP = `Measures continuations against a bare workflow that does the same work without a store.

  npm run bench [-- --quick] [-- --json]

Both run on one Temporal development server and one PostgreSQL, started for this and thrown away. Rounds
of the two alternate; a figure is the median of the rounds, a ratio the median of the rounds' ratios.

  --quick   fewer and smaller rounds: about half a minute instead of three
  --json    print one JSON object and nothing else (npm prints its own lines: npm run --silent bench -- --json)
  --help    print this
`;

/** Reads the arguments after the script; throws on an unknown one. */
export function readOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args,
    options: { quick: { type: 'boolean' }, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  return { load: values.quick ? QUICK : FULL, json: values.json === true, help: values.help === true };
}
