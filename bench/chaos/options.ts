/** What the command line asks for. */
import { parseArgs } from 'node:util';
import { PASSES, type PassName } from './pass.ts';

export interface ChaosOptions {
  readonly turns: number;
  readonly clients: number;
  readonly seed: string;
  readonly passes: readonly PassName[];
  readonly json: boolean;
  readonly help: boolean;
}

export const HELP = `Attacks continuations on real servers and counts, outside of them, what happened.

  npm run chaos [-- --turns 300] [-- --seed 1] [-- --passes kill,all] [-- --json]

In every pass two people answer each question at once, with different words.

  double    nothing else goes wrong
  early     answers are sent before the pause is visible
  dropped   no response reaches its caller: every request is repeated
  kill      workers are killed with kill -9
  cut       the network between workers and database is cut for seconds
  database  PostgreSQL is killed and started again
  temporal  the Temporal server is restarted
  clock     the clocks of the clients are seven minutes off, one way and the other
  all       all of this at once

  --turns N    paused turns in each pass (default 300)
  --clients N  clients, an even number (default 16)
  --seed S     repeats the same decisions (default: a new one, which is printed)
  --json       one JSON object for each pass and nothing else
`;

/** Reads the arguments after the script; throws on an unknown one. */
export function readOptions(args: string[]): ChaosOptions {
  const { values } = parseArgs({
    args,
    options: {
      turns: { type: 'string', default: '300' },
      clients: { type: 'string', default: '16' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      passes: { type: 'string', default: Object.keys(PASSES).join(',') },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { seed, json, help } = values;
  const passes = values.passes.split(',').map((name) => {
    if (!Object.hasOwn(PASSES, name)) throw new Error(`--passes: there is no pass ${name}`);
    return name as PassName;
  });
  return { turns: count('turns', values.turns), clients: count('clients', values.clients), seed, passes, json, help };
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 2) return value;
  throw new Error(`--${name} must be a whole number from 2 on, not ${text}`);
}
