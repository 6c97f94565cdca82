/** How a command is described and run: arguments as data, a client for the length of one command. */
import { parseArgs as readWords } from 'node:util';
import { type ArgsDef, defineCommand, type ParsedArgs, renderUsage, runCommand } from 'citty';
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
    description: 'Data folder of a running `dev`; default: .data, here or above.',
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

/** citty takes anything: a mistyped `--suspension` must not become an answer without one. */
function rejectUnknown(rawArgs: readonly string[], args: ArgsDef): void {
  const named = Object.entries(args).filter(([, { type }]) => type !== 'positional');
  const types = named.flatMap(([name, { type }]) =>
    [name, camelCase(name)].map((one) => [one, { type: type === 'boolean' ? type : 'string' }] as const),
  );
  const known = new Map<string, { type: 'boolean' | 'string' }>(types);
  const options = Object.fromEntries(known);
  const { tokens } = readWords({ args: [...rawArgs], options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const isNegated = known.get(token.name.replace(/^no-/, ''))?.type === 'boolean';
    const option = known.get(token.name);
    if (!option && !isNegated) throw new UsageError(`There is no option ${token.rawName}.`);
    if (option?.type === 'string' && token.value === undefined)
      throw new UsageError(`Option ${token.rawName} needs a value.`);
  }
  const places = Object.keys(args).length - named.length;
  const extra = tokens.filter(({ kind }) => kind === 'positional')[places];
  if (extra?.kind === 'positional')
    throw new UsageError(`Unexpected argument ${JSON.stringify(extra.value)}: quote text with spaces.`);
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
