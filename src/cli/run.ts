/** One call of the command line, from its words to its exit code; never ends the process. */
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { isContinuationError } from '../errors.ts';
import { agentCommands } from './agent-commands.ts';
import { answerCommands } from './answer-commands.ts';
import { type CliCommand, PROGRAM_NAME, UsageError } from './command.ts';
import { decideCommands } from './decide-commands.ts';
import { dev } from './dev-command.ts';
import { doctor } from './doctor-command.ts';
import type { CliIo } from './io.ts';
import { keyCommands } from './key-commands.ts';
import { manageCommands } from './manage-commands.ts';
import { EXIT } from './outcome.ts';
import { readCommands } from './read-commands.ts';
import { serverCommands } from './server-commands.ts';
import { plain } from './text.ts';

export const commands: readonly CliCommand[] = [
  ...agentCommands,
  ...readCommands,
  ...decideCommands,
  ...answerCommands,
  ...manageCommands,
  ...keyCommands,
  ...serverCommands,
  dev,
  doctor,
];

/** Resolves with the exit code; see `EXIT`. */
export async function runCli(words: readonly string[], io: CliIo): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined) {
    io.error(overview());
    return EXIT.failed;
  }
  if (name === '--help' || name === '-h' || (name === 'help' && rest.length === 0)) return print(overview(), io);
  if (name === '--version') return print(version(), io);
  const wanted = name === 'help' ? rest[0] : name;
  const command = commands.find((one) => one.name === wanted);
  if (!command) return fail(`There is no command ${JSON.stringify(wanted)}. See ${PROGRAM_NAME} --help.`, io);
  if (name === 'help' || asksForHelp(rest)) return print(await command.help(), io);
  try {
    return await command.run(rest, io);
  } catch (error) {
    return fail(sentence(error, command), io);
  }
}

function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? undefined : end).some((word) => word === '--help' || word === '-h');
}

function sentence(error: unknown, { name }: CliCommand): string {
  if (!(error instanceof Error)) return `internal: ${String(error)}`;
  // The parser's own errors have a name and colours.
  const usage = error instanceof UsageError || error.name === 'CLIError';
  if (usage)
    return `${stripVTControlCharacters(error.message).replace(/\.$/, '')}. See ${PROGRAM_NAME} ${name} --help.`;
  return isContinuationError(error) ? `${error.code}: ${plain(error.message)}` : `internal: ${plain(error.message)}`;
}

function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return `Durable continuations: see what waits, and answer it.

Usage: ${PROGRAM_NAME} <command> [options]

${commands.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`).join('\n')}

${PROGRAM_NAME} <command> --help shows options and examples.

Servers: DATABASE_URL and Temporal's own settings (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_PROFILE, …);
without them, those of a running \`continuations dev\` (in a clone \`npm start\`) of this folder.

Exit codes: ${EXIT.done} accepted, stored or done; ${EXIT.failed} wrong use, or a server that does not answer; ${EXIT.refused} refused, nothing was changed.`;
}

function version(): string {
  // From src/cli and from dist/src/cli.
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
      return `${name} ${version}`;
    } catch {
      // Not there: the other one.
    }
  }
  return PROGRAM_NAME;
}

function print(text: string, io: CliIo): number {
  io.out(io.isTerminal ? text : stripVTControlCharacters(text));
  return EXIT.done;
}

function fail(text: string, io: CliIo): number {
  io.error(text);
  return EXIT.failed;
}
