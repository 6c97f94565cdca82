/** How a command is described and run: arguments as data, a client for the length of one command. */
import { type ArgsDef, defineCommand, type ParsedArgs, parseArgs, renderUsage, runCommand } from 'citty';
import type { Keys } from '../access-ports.ts';
import { openApp } from '../app.ts';
import type { ContinuationClient } from '../client.ts';
import type { CliIo } from './io.ts';
import type { Report } from './outcome.ts';
import { findTarget, type Target } from './target.ts';

export const PROGRAM_NAME = 'continuations';

/** A mistake of whoever typed the command. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const commonArgs = {
  json: { type: 'boolean', description: 'Print JSON, for scripts.' },
  scope: { type: 'string', valueHint: 'key=value', description: 'Scope to work in (CONTINUATIONS_SCOPE).' },
  as: {
    type: 'string',
    valueHint: 'name',
    description: 'Who answers (CONTINUATIONS_SUBJECT); default: your user name.',
  },
  data: {
    type: 'string',
    valueHint: 'dir',
    description: 'Data folder of a running `npm start`; default: .data, here or above.',
  },
} as const satisfies ArgsDef;
type Common = typeof commonArgs;

/** What a command works with. */
export interface Session {
  readonly client: ContinuationClient;
  readonly keys: Keys;
  /** What the command reaches. */
  readonly scope: string;
  readonly target: Target;
  readonly io: CliIo;
  readonly report: Report;
}

export interface CommandSpec<T extends ArgsDef> {
  readonly description: string;
  readonly args: T;
  /** Whole command lines for `--help`, without the program's name. */
  readonly examples: readonly string[];
  /** The command sends something to a workflow. */
  readonly sends?: boolean;
  /** Resolves with the exit code. */
  run(args: ParsedArgs<T & Common>, session: Session): Promise<number>;
}

/** A command whose arguments only it knows. */
export interface CliCommand {
  readonly name: string;
  readonly description: string;
  readonly args: ArgsDef;
  /** Resolves with the exit code. */
  run(rawArgs: readonly string[], io: CliIo): Promise<number>;
  help(): Promise<string>;
}

export function defineCliCommand<const T extends ArgsDef>(name: string, spec: CommandSpec<T>): CliCommand {
  const args = { ...spec.args, ...commonArgs };
  return describeCommand(name, { ...spec, args }, (parsed, io) =>
    withSession(parsed as ParsedArgs<T & Common>, io, spec),
  );
}

const offlineArgs = { json: commonArgs.json } as const satisfies ArgsDef;

export interface OfflineSpec<T extends ArgsDef> extends Omit<CommandSpec<T>, 'sends' | 'run'> {
  run(args: ParsedArgs<T & typeof offlineArgs>, io: CliIo): Promise<number>;
}

/** A command that needs no server. */
export function defineOfflineCommand<const T extends ArgsDef>(name: string, spec: OfflineSpec<T>): CliCommand {
  const args = { ...spec.args, ...offlineArgs };
  return describeCommand(name, { ...spec, args }, (parsed, io) =>
    spec.run(parsed as ParsedArgs<T & typeof offlineArgs>, io),
  );
}

function describeCommand(
  name: string,
  { description, examples, args }: Pick<CommandSpec<ArgsDef>, 'description' | 'examples' | 'args'>,
  run: (args: unknown, io: CliIo) => Promise<number>,
): CliCommand {
  const command = defineCommand({
    meta: { name, description },
    args,
    run: ({ args: parsed, data }) => run(parsed, data),
  });
  return {
    name,
    description,
    args,
    async run(rawArgs, io) {
      rejectUnknown(rawArgs, args);
      const { result } = await runCommand(command, { rawArgs: [...rawArgs], data: io });
      return result as number;
    },
    async help() {
      const usage = await renderUsage(command, defineCommand({ meta: { name: PROGRAM_NAME } }));
      return `${usage}\nEXAMPLES\n\n${examples.map((line) => `  ${PROGRAM_NAME} ${line}`).join('\n')}\n`;
    },
  };
}

/** The parser takes anything: a mistyped `--suspension` must not become an answer without one. */
function rejectUnknown(rawArgs: readonly string[], args: ArgsDef): void {
  const parsed = parseArgs([...rawArgs], optional(args));
  const known = new Set(Object.keys(args).flatMap((name) => [name, camelCase(name)]));
  for (const [name, value] of Object.entries<unknown>(parsed)) {
    if (name === '_') continue;
    if (!known.has(name)) throw new UsageError(`There is no option ${name.length === 1 ? '-' : '--'}${name}.`);
    if (value === '' && rawArgs.includes(`--${name}`) && args[name]?.type !== 'positional' && !hasEmpty(rawArgs, name))
      throw new UsageError(`Option --${name} needs a value.`);
  }
  const places = Object.values(args).filter(({ type }) => type === 'positional').length;
  const extra = parsed._[places];
  if (extra !== undefined)
    throw new UsageError(`Unexpected argument ${JSON.stringify(extra)}: quote text with spaces.`);
}

/** The value of an option is really the empty text. */
function hasEmpty(rawArgs: readonly string[], name: string): boolean {
  return rawArgs[rawArgs.indexOf(`--${name}`) + 1] === '';
}

function optional(args: ArgsDef): ArgsDef {
  return Object.fromEntries(Object.entries(args).map(([name, def]) => [name, { ...def, required: false }]));
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

async function withSession<T extends ArgsDef>(
  args: ParsedArgs<T & Common>,
  io: CliIo,
  spec: CommandSpec<T>,
): Promise<number> {
  const common: ParsedArgs<Common> = args;
  const target = findTarget(io, common.data);
  const scope = common.scope ?? target.scope;
  const subject = common.as ?? target.subject ?? io.userName;
  const app = openApp(target, { scope, subject, verified: false, channel: 'cli' });
  const flags = [...(common.data ? ['--data', common.data] : []), ...(common.scope ? ['--scope', common.scope] : [])];
  const report: Report = { json: common.json === true, now: io.now(), width: io.isTerminal ? io.width : 1_000, flags };
  try {
    if (spec.sends) await app.reachTemporal();
    return await spec.run(args, { client: app.client, keys: app.keys, scope, target, io, report });
  } finally {
    await app.close();
  }
}
