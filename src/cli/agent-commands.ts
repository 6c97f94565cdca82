/** `create`, `take`: what an agent does that reaches the rest by the command line. */
import { readFile } from 'node:fs/promises';
import type { CreateContinuationInput } from '../schema.ts';
import { answerArgs, envelope, ID, parseJson, type Trigger } from './answer-commands.ts';
import { type CliCommand, defineCliCommand, UsageError } from './command.ts';
import type { CliIo } from './io.ts';
import { EXIT, printJson, reportRefusal } from './outcome.ts';
import { howToAnswer, winnerInWords } from './view.ts';

const create = defineCliCommand('create', {
  description: "Keep an agent's paused turn; the same idempotency key again changes nothing.",
  args: {
    file: {
      type: 'positional',
      required: true,
      description: 'JSON as for POST /v1/continuations; - for standard input.',
    },
  },
  examples: [
    'create pause.json',
    `create - <<< '{"assistantId":"support","originTurnId":"turn-1","harnessResult":{"outcome":"needs_clarification","continuation":{"state":{"question":"Which order?"}}}}'`,
  ],
  sends: true,
  async run({ file }, { client, io, report }) {
    const result = await client.create(parseJson(await readInput(file, io), file) as CreateContinuationInput);
    if (report.json) return printJson(result, io, result.ok);
    if (!result.ok) return reportRefusal(result.refusal, io);
    const { record, created, started } = result;
    io.out(`${created ? 'Created' : 'It was there before'}: ${record.id} is ${record.status}.`);
    if (!started) io.error('Temporal could not be reached: the next answer, or maintenance, starts it.');
    for (const line of howToAnswer(record, report)) io.out(line);
    return EXIT.done;
  },
});

const { until: _, timeout: __, ...messageArgs } = answerArgs;

const take = defineCliCommand('take', {
  description: 'Answer, and go on with the turn yourself: prints, once, what to resume from.',
  args: {
    id: ID,
    trigger: { type: 'positional', required: true, description: 'The answer as JSON; - for standard input.' },
    ...messageArgs,
  },
  examples: [
    `take cont_01J… '{"type":"user_reply","message":{"text":"Order 1042"}}' --suspension sus_01J… --json`,
    'take cont_01J… - < answer.json',
  ],
  sends: true,
  async run(args, { client, io, report }) {
    const text = args.trigger === '-' ? await io.input() : args.trigger;
    const trigger = parseJson(text, 'The answer') as Trigger;
    const result = await client.take({ continuationId: args.id, trigger, ...envelope(args) });
    if (report.json) return printJson(result, io, result.ok);
    if (!result.ok) return reportRefusal(result.refusal, io);
    io.out(`${SAID[result.outcome]}: ${winnerInWords(result.answer)}.`);
    if (result.outcome !== 'taken') return EXIT.done;
    io.out(`State:\n${JSON.stringify(result.state, null, 2)}`);
    if (result.calls.length > 0) io.out(`Calls:\n${JSON.stringify(result.calls, null, 2)}`);
    return EXIT.done;
  },
});

const SAID = {
  taken: 'Taken, and the turn is yours',
  repeated: 'Accepted before, there is nothing to run',
  denied: 'Denied, and ended',
} as const;

async function readInput(file: string, io: CliIo): Promise<string> {
  if (file === '-') return io.input();
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

export const agentCommands: readonly CliCommand[] = [create, take];
