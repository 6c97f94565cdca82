/** `keys`: who may use the HTTP API and the inbox. It needs the database only. */
import type { ApiKey } from '../access-ports.ts';
import { createKey } from '../keys.ts';
import { Permission } from '../schema.ts';
import { type CliCommand, defineCliCommand, type Session, UsageError } from './command.ts';
import { instantOf } from './manage-commands.ts';
import { EXIT, printJson, reportRefusal } from './outcome.ts';
import { plain, relative, table } from './text.ts';

const ALL = Permission.options.join(',');

const keys = defineCliCommand('keys', {
  description: 'Keys of the HTTP API: keys create, keys list, keys revoke.',
  args: {
    action: { type: 'positional', required: true, description: 'create, list or revoke.' },
    id: { type: 'positional', required: false, description: 'The key to revoke, key_…' },
    subject: { type: 'string', valueHint: 'name', description: 'Who uses the key; receipts name them.' },
    permissions: { type: 'string', valueHint: 'list', default: ALL, description: `Any of ${ALL}.` },
    expires: {
      type: 'string',
      valueHint: 'time',
      description: 'When it ends: a time, or from now: 30d. Default: never.',
    },
  },
  examples: [
    'keys create --subject alice@example.com --permissions answer,approve,read',
    'keys create --subject billing-service --scope tenant=acme --permissions create --expires 90d',
    'keys list',
    'keys revoke key_01J…',
  ],
  async run(args, session) {
    if (args.id !== undefined && args.action !== 'revoke') throw new UsageError(`keys ${args.action} takes no id.`);
    if (args.action === 'create') return create(args, session);
    if (args.action === 'list') return list(session);
    if (args.action === 'revoke') return revoke(args.id, session);
    throw new UsageError('Say keys create, keys list or keys revoke.');
  },
});

interface CreateArgs {
  readonly subject: string | undefined;
  readonly permissions: string;
  readonly expires: string | undefined;
}

async function create(args: CreateArgs, { keys: store, scope, io, report }: Session): Promise<number> {
  if (!args.subject) throw new UsageError('--subject is needed: receipts say who decided.');
  const permissions = args.permissions.split(',').map((one) => one.trim());
  const unknown = permissions.find((one) => !Permission.safeParse(one).success);
  if (unknown !== undefined) throw new UsageError(`There is no permission ${JSON.stringify(unknown)}: ${ALL}.`);
  const made = await createKey(store, {
    subject: args.subject,
    scope,
    permissions: permissions as Permission[],
    ...(args.expires && { expiresAt: instantOf(args.expires, io.now()) }),
  });
  if (!made.ok) return report.json ? printJson(made, io, false) : reportRefusal(made.refusal, io);
  if (report.json) return printJson({ ...made.key, token: made.token }, io);
  io.out(`${made.token}\n`);
  io.error('This is the only time it is shown: keep it where secrets are kept.');
  return EXIT.done;
}

async function list({ keys: store, scope, io, report }: Session): Promise<number> {
  const found = await store.keys(scope);
  if (report.json) return printJson({ keys: found }, io);
  if (found.length === 0) io.out('There are none: make one with keys create.');
  else
    io.out(
      table(
        ['KEY', 'SUBJECT', 'SCOPE', 'STATE', 'MAY'],
        found.map((key) => rowOf(key, io.now())),
        report.width,
      ),
    );
  return EXIT.done;
}

function rowOf(key: ApiKey, now: Date): string[] {
  return [key.id, plain(key.subject), key.scope, stateOf(key, now), key.permissions.join(',')];
}

function stateOf({ revokedAt, expiresAt }: ApiKey, now: Date): string {
  if (revokedAt) return `revoked ${relative(revokedAt, now)}`;
  if (!expiresAt) return 'holds';
  return `${Date.parse(expiresAt) <= now.getTime() ? 'ended' : 'ends'} ${relative(expiresAt, now)}`;
}

async function revoke(id: string | undefined, { keys: store, scope, io, report }: Session): Promise<number> {
  if (!id) throw new UsageError('Which one? keys revoke key_…');
  const key = await store.revokeKey(scope, id, io.now().toISOString());
  if (!key) {
    const refusal = { code: 'not_found', message: `there is no key ${plain(id)} in ${scope}` } as const;
    return report.json ? printJson({ ok: false, refusal }, io, false) : reportRefusal(refusal, io);
  }
  if (report.json) return printJson(key, io);
  io.out(`Revoked: ${key.id} of ${plain(key.subject)}. What it answered and has not started will not start.`);
  return EXIT.done;
}

export const keyCommands: readonly CliCommand[] = [keys];
