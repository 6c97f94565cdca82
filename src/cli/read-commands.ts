/** `list`, `get`, `watch`, `receipts`: they need the database only. */
import type { ArgsDef } from 'citty';
import { notFound } from '../caller.ts';
import type { ListQuery, Page } from '../ports.ts';
import type { ContinuationStatus } from '../schema.ts';
import { type CliCommand, defineCliCommand, type Session, UsageError } from './command.ts';
import { EXIT, printJson, reportRefusal } from './outcome.ts';
import { changeLine, listView, receiptsView, recordView } from './view.ts';

const ID = { type: 'positional', required: true, description: 'Continuation, cont_…' } as const;
const STATUSES: Array<ContinuationStatus | 'open' | 'all'> = [
  ...(['open', 'pending', 'resuming'] as const),
  ...(['completed', 'failed', 'cancelled', 'expired', 'superseded', 'all'] as const),
];
const listArgs = {
  status: {
    type: 'enum',
    options: STATUSES,
    default: 'open',
    description: 'Which ones; open: pending or resuming.',
  },
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
    const { records, next } = page;
    if (records.length === 0) io.out(args.status === 'open' ? 'Nothing waits.' : 'There are none.');
    else io.out(listView(records, report));
    if (next) io.out(`There are more: add --after ${next}`);
    return EXIT.done;
  },
});

interface ListArgs {
  readonly status: ContinuationStatus | 'open' | 'all';
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
    ...(args.session !== undefined && { sessionId: args.session }),
    ...(args.assistant !== undefined && { assistantId: args.assistant }),
    ...(args.after !== undefined && { after: args.after }),
  };
  if (args.status === 'all') return client.list(query);
  if (args.status !== 'open') return client.list({ ...query, status: args.status });
  return openPage(client, query, limit);
}

/** Two statuses are two queries; ids are in the order of creation, so the merged page keeps a cursor. */
async function openPage(client: Session['client'], query: Partial<ListQuery>, limit: number): Promise<Page> {
  const [pending, resuming] = await Promise.all([
    client.list({ ...query, status: 'pending' }),
    client.list({ ...query, status: 'resuming' }),
  ]);
  const all = [...pending.records, ...resuming.records].sort((a, b) => (a.id < b.id ? -1 : 1));
  const records = all.slice(0, limit);
  const more = all.length > limit || pending.next !== undefined || resuming.next !== undefined;
  const last = records.at(-1)?.id;
  return { records, ...(more && last && { next: last }) };
}

const get = defineCliCommand('get', {
  description: 'One continuation: what it asks, who answered, what came of it.',
  args: { id: ID, state: { type: 'boolean', description: 'With the state that the agent resumes from.' } },
  examples: ['get cont_01J…', 'get cont_01J… --json --state'],
  async run(args, { client, io, report }) {
    const include = args.state ? (['state', 'result'] as const) : (['result'] as const);
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
  examples: ['receipts cont_01J…', 'receipts cont_01J… --json > receipts.json'],
  async run(args, { client, io, report }) {
    const found = await client.receipts(args.id);
    if (!found) return report.json ? printJson(notFound(), io, false) : reportRefusal(notFound().refusal, io);
    if (report.json) return printJson(found, io);
    io.out(receiptsView(found, report.width));
    return EXIT.done;
  },
});

export const readCommands: readonly CliCommand[] = [list, get, watch, receipts];
