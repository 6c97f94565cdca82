/** The options of `npm start`. */
import { parseArgs } from 'node:util';
import { ContinuationError } from '../errors.ts';
import { DEFAULT_DATA_DIR } from './stack-file.ts';

export interface StartOptions {
  readonly help: boolean;
  readonly dataDir: string;
  /** The folder was chosen, so other commands have to be told of it. */
  readonly dataDirGiven: boolean;
  readonly ports: Readonly<Record<'temporal' | 'ui' | 'database' | 'http', number>>;
}

const DEFAULT_PORTS = { temporal: 7233, ui: 8233, database: 54329, http: 8081 } as const;

export const HELP = `Starts a development stack: a Temporal server with its UI, PostgreSQL, the HTTP API with the inbox, and a worker with
the example agent, which takes a turn that has to wait. Everything is kept in one folder; Ctrl-C ends it, and the next start finds what waits.

Usage: npm start -- [options]

  --data <dir>            Where data stays (CONTINUATIONS_DATA). Default: ${DEFAULT_DATA_DIR}
  --temporal-port <port>  Default: ${DEFAULT_PORTS.temporal}
  --ui-port <port>        Temporal's web UI. Default: ${DEFAULT_PORTS.ui}
  --database-port <port>  PostgreSQL. Default: ${DEFAULT_PORTS.database}
  --http-port <port>      HTTP API and inbox. Default: ${DEFAULT_PORTS.http}
  --help

Environment:
  TEMPORAL_ADDRESS  Use this Temporal server (also TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_PROFILE, …) and start none
  DATABASE_URL      Use this PostgreSQL database and start none
  TEMPORAL_CLI      Path of the \`temporal\` command; otherwise PATH, else it is downloaded once
`;

/** Throws `invalid_configuration` with one sentence. */
export function parseStartOptions(words: readonly string[], dataDir?: string): StartOptions {
  return startOptionsOf(parse(words), dataDir);
}

/** The same from options that are read already, as `continuations dev` has them. */
export function startOptionsOf(values: StartValues, dataDir?: string): StartOptions {
  const given = values.data ?? (dataDir || undefined);
  return {
    help: values.help === true,
    dataDir: given ?? DEFAULT_DATA_DIR,
    dataDirGiven: given !== undefined,
    ports: {
      temporal: port('temporal-port', values['temporal-port'], DEFAULT_PORTS.temporal),
      ui: port('ui-port', values['ui-port'], DEFAULT_PORTS.ui),
      database: port('database-port', values['database-port'], DEFAULT_PORTS.database),
      http: port('http-port', values['http-port'], DEFAULT_PORTS.http),
    },
  };
}

type Port = 'temporal-port' | 'ui-port' | 'database-port' | 'http-port';
export type StartValues = { readonly [name in Port | 'data']?: string | undefined } & {
  readonly help?: boolean | undefined;
};

function parse(words: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    const options = {
      data: text,
      'temporal-port': text,
      'ui-port': text,
      'database-port': text,
      'http-port': text,
      help: { type: 'boolean', short: 'h' },
    } as const;
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    const [sentence] = (error instanceof Error ? error.message : String(error)).split(/\.\s|\n/);
    throw new ContinuationError('invalid_configuration', `${sentence}. See npm start -- --help.`);
  }
}

function port(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isInteger(value) && value > 0 && value < 65_536) return value;
  throw new ContinuationError('invalid_configuration', `--${name} must be a port from 1 to 65535, not ${text}.`);
}
