/** `stop`, `extend`, `delete`, `migrate`: what operators do. */
import { migrateDatabase } from '../app.ts';
import { type CliCommand, defineCliCommand, UsageError } from './command.ts';
import { EXIT, printJson, reportManaged, reportRefusal } from './outcome.ts';

const ID = { type: 'positional', required: true, description: 'Continuation, cont_…' } as const;
const REASONS = [
  'cancelled_by_user',
  'cancelled_by_product',
  'superseded_by_newer_turn',
  'session_no_longer_deliverable',
] as const;

const stop = defineCliCommand('stop', {
  description: 'End a continuation; the first reason is kept.',
  args: {
    id: ID,
    reason: { type: 'enum', options: [...REASONS], default: 'cancelled_by_user', description: 'Why it ends.' },
  },
  examples: ['stop cont_01J…', 'stop cont_01J… --reason cancelled_by_product'],
  sends: true,
  async run(args, { client, io, report }) {
    return reportManaged(await client.stop({ continuationId: args.id, reason: args.reason }), io, report);
  },
});

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

const extend = defineCliCommand('extend', {
  description: 'Move the deadline later, while it waits.',
  args: {
    id: ID,
    deadline: {
      type: 'positional',
      required: true,
      description: 'A time such as 2026-12-02T09:30:00Z, or from now: 30m, 2h, 7d.',
    },
  },
  examples: ['extend cont_01J… 2h', 'extend cont_01J… 2026-12-02T09:30:00Z'],
  sends: true,
  async run(args, { client, io, report }) {
    const expiresAt = instantOf(args.deadline, io.now());
    return reportManaged(await client.extend({ continuationId: args.id, expiresAt }), io, report);
  },
});

export function instantOf(text: string, now: Date): string {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const ms = count === undefined ? Date.parse(text) : now.getTime() + Number(count) * (UNITS[unit ?? ''] ?? Number.NaN);
  if (Number.isNaN(ms) || Math.abs(ms) > 8.64e15)
    throw new UsageError(`${JSON.stringify(text)} is no time: give one such as 2026-12-02T09:30:00Z, or 2h.`);
  return new Date(ms).toISOString();
}

const remove = defineCliCommand('delete', {
  description: 'Delete an ended continuation with all that belongs to it, for good.',
  args: { id: ID },
  examples: ['delete cont_01J…'],
  async run(args, { client, io, report }) {
    const result = await client.delete(args.id);
    if (report.json) return printJson(result, io, result.ok);
    if (!result.ok) return reportRefusal(result.refusal, io);
    io.out(`Deleted: ${args.id}.`);
    return EXIT.done;
  },
});

const migrate = defineCliCommand('migrate', {
  description: 'Bring the database to the present tables; repeating it does no harm.',
  args: {},
  examples: ['migrate'],
  async run(_, { target, io, report }) {
    const applied = await migrateDatabase(target.databaseUrl);
    if (report.json) return printJson({ applied }, io);
    io.out(applied.length === 0 ? 'Nothing to do: the tables are up to date.' : `Applied: ${applied.join(', ')}.`);
    return EXIT.done;
  },
});

export const manageCommands: readonly CliCommand[] = [stop, extend, remove, migrate];
