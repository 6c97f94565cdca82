/** The HTTP API with the inbox on a development stack, and a key for whoever started it. */
import { userInfo } from 'node:os';
import { startServer } from '../app-server.ts';
import type { Config } from '../config.ts';
import { ContinuationError, createStore } from '../index.ts';
import { createKey } from '../keys.ts';
import { Permission } from '../schema.ts';
import type { Cleanup } from './cleanup.ts';
import type { Progress } from './progress.ts';

export interface DevApi {
  /** Where the inbox is. */
  readonly inboxUrl: string;
  /** What one logs in with; it holds while this runs, at most a month. */
  readonly key: string;
}

const KEY_HOLDS_MS = 30 * 24 * 3_600_000;

/** Where the inbox of a stack is, before it runs. */
export function inboxUrlOf({ host, port, publicUrl }: Config['http']): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `${publicUrl ?? `http://${name}:${port}`}/inbox`;
}

/** `config` names the servers of the stack. The key ends with the process; that of a killed one ends by itself. */
export async function startApi(
  config: Config & { readonly databaseUrl: string },
  progress: Progress,
  cleanup: Cleanup,
): Promise<DevApi> {
  const { databaseUrl, scope, subject = userInfo().username, http } = config;
  const store = createStore({ url: databaseUrl, poolSize: 1 });
  cleanup.add(store.close);
  const expiresAt = new Date(Date.now() + KEY_HOLDS_MS).toISOString();
  const made = await createKey(store, { subject, scope, permissions: [...Permission.options], expiresAt });
  if (!made.ok) throw new ContinuationError('invalid_configuration', `no key for ${subject}: ${made.refusal.message}`);
  cleanup.add(() => store.revokeKey(scope, made.key.id, new Date().toISOString()));
  const server = await progress.step('Starting the HTTP API with the inbox', () => startServer(config));
  cleanup.add(() => server.close());
  return { inboxUrl: inboxUrlOf(http), key: made.token };
}
