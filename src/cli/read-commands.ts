/** `list`, `get`, `watch`, `receipts`: they need the database only. */
import type { ArgsDef } from 'citty';
import { notFound } from '../caller.ts';
import type { ListQuery, Page } from '../ports.ts';
import { WaitType } from '../schema.ts';
import { exportReceipts, verifyReceipts } from '../verify.ts';
import { type CliCommand, defineCliCommand, defineOfflineCommand, type Session, UsageError } from './command.ts';
import { readNamedFile } from './file.ts';
import { EXIT, printJson, reportRefusal } from './outcome.ts';
import { changeLine, listView, receiptsView, recordView } from './view.ts';

type Status = NonNullable<ListQuery['status']> | 'all';
const ID = { type: 'positional', required: true, description: 'Continuation, cont_…' } as const;
const STATUSES: Array<Status> = [
  ...(['open', 'pending', 'resuming', 'uncertain'] as const),
  ...(['completed', 'failed', 'cancelled', 'expired', 'superseded', 'all'] as const),
];
const listArgs = {
  status: {
    type: 'enum',
    options: STATUSES,
    default: 'open',
    description: 'Which ones; open: pending or resuming; uncertain: an operator is asked.',
  },
  wait: { type: 'enum', options: WaitType.options, description: 'Only those that wait, or waited last, for this.' },
  session: { type: 'string', valueHint: 'id', description: 'Only those of this session.' },
  assistant: { type: 'string', valueHint: 'id', description: 'Only those of this assistant.' },
  limit: { type: 'string', valueHint: 'n', default: '50', description: 'At most so many, 1 to 256.' },
  after: { type: 'string', valueHint: 'cursor', description: 'Go on after this cursor, which a full page prints.' },
} as const satisfies ArgsDef;

const list = defineCliCommand('list', {
  description: 'What waits, oldest first.',
  args: listArgs,
  examples: ['list', 'list --status all --session chat-7', 'list --json | jq .records[].id'],
  async run(args, { client, io, report }) {
    const page = await pageOf(args, client);
    if (report.json) return printJson(page, io);
    const { records, malformed = [], next } = page;
    for (const { message } of malformed) io.error(message);
    if (records.length > 0) io.out(listView(records, report));
    else if (malformed.length === 0) io.out(args.status === 'open' ? 'Nothing waits.' : 'There are none.');
    if (next) io.out(`There are more: add --after ${next}`);
    return EXIT.done;
  },
});

interface ListArgs {
  readonly status: Status;
  readonly wait: WaitType | undefined;
  readonly session: string | undefined;
  readonly assistant: string | undefined;
  readonly limit: string;
  readonly after: string | undefined;
}

async function pageOf(args: ListArgs, client: Session['client']): Promise<Page> {
  const limit = Number(args.limit);
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 256)) throw new UsageError('--limit must be 1 to 256.');
  const query: Partial<ListQuery> = {
    limit,
    ...(args.wait !== undefined && { waitFor: args.wait }),
    ...(args.session !== undefined && { sessionId: args.session }),
    ...(args.assistant !== undefined && { assistantId: args.assistant }),
    ...(args.after !== undefined && { after: args.after }),
  };
  return client.list(args.status === 'all' ? query : { ...query, status: args.status });
}

const get = defineCliCommand('get', {
  description: 'One continuation: what it asks, who answered, what came of it.',
  args: { id: ID, state: { type: 'boolean', description: 'With the state that the agent resumes from.' } },
  examples: ['get cont_01J…', 'get cont_01J… --json --state'],
  async run(args, { client, io, report }) {
    const include = [...(args.state ? (['state'] as const) : []), 'result', 'executions'] as const;
    const record = await client.get({ continuationId: args.id, include });
    if (!record) return report.json ? printJson(notFound(), io, false) : reportRefusal(notFound().refusal, io);
    if (report.json) return printJson(record, io);
    io.out(recordView(record, report));
    if (record.state !== undefined) io.out(`\nState:\n${JSON.stringify(record.state, null, 2)}`);
    return EXIT.done;
  },
});

const watch = defineCliCommand('watch', {
  description: 'Every change as it happens; with an id until it ends.',
  args: { id: { ...ID, required: false } },
  examples: ['watch', 'watch cont_01J… --json'],
  async run(args, { client, io, report }) {
    for await (const record of client.watch(args.id ? { continuationId: args.id } : {})) {
      io.out(report.json ? JSON.stringify(record) : changeLine(record));
    }
    return EXIT.done;
  },
});

const receipts = defineCliCommand('receipts', {
  description: 'The facts about a continuation, each linked to the one before.',
  args: { id: ID },
  examples: ['receipts cont_01J…', 'receipts cont_01J… --json > receipts.jsonl'],
  async run(args, { client, io, report }) {
    const found = await client.receipts(args.id);
    if (!found) return report.json ? printJson(notFound(), io, false) : reportRefusal(notFound().refusal, io);
    if (report.json) io.out(exportReceipts(found).trimEnd());
    else io.out(receiptsView(found, report.width));
    return EXIT.done;
  },
});

const verify = defineOfflineCommand('verify', {
  description: 'Checks exported receipts: none edited, missing, moved or foreign. Needs no server.',
  args: {
    file: {
      type: 'positional',
      required: false,
      description: 'What `receipts --json` printed; default: standard input.',
    },
    head: { type: 'string', valueHint: 'digest', description: "The last one's digest, from the workflow's result." },
  },
  examples: ['verify receipts.jsonl', 'receipts cont_01J… --json | continuations verify --head 9f2c…'],
  async run({ file, head, json }, io) {
    const result = verifyReceipts(
      file ? (await readNamedFile(file)).toString('utf8') : await io.input(),
      head ? { head } : {},
    );
    if (json) return printJson(result, io, result.ok);
    if (result.ok) io.out(`${result.receipts} receipts of ${result.continuationId} are whole. Head: ${result.head}`);
    else io.error(`${result.fault}: ${result.message}.`);
    return result.ok ? EXIT.done : EXIT.refused;
  },
});

export const readCommands: readonly CliCommand[] = [list, get, watch, receipts, verify];
