/** The HTTP API over a test stack: an app to send requests to, and keys for it. */

import { createAccess } from '../../src/http/access.ts';
import { createHttpApp, type HttpOptions } from '../../src/http/app.ts';
import { createKey } from '../../src/keys.ts';
import type { Permission } from '../../src/schema.ts';
import { Permission as PermissionSchema } from '../../src/schema.ts';
import type { Stack } from './stack.ts';

export interface Sent {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into what came
  readonly body: any;
}
export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Sent>;

export interface TestApi {
  readonly app: ReturnType<typeof createHttpApp>;
  /** A key, and what sends with it. */
  user(given?: { subject?: string; scope?: string; permissions?: Permission[]; expiresAt?: string }): Promise<{
    send: Send;
    token: string;
    keyId: string;
  }>;
  /** Sends without a key. */
  readonly send: Send;
}

export function createTestApi(stack: Stack, options: Partial<HttpOptions> = {}): TestApi {
  const { store, client } = stack;
  const app = createHttpApp({ client, access: createAccess(store), store, ...options });
  const sendAs =
    (token?: string): Send =>
    async (method, path, body, headers = {}) => {
      const response = await app.request(path, {
        method,
        headers: {
          ...(token && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = /json/.test(response.headers.get('content-type') ?? '');
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    };
  return {
    app,
    send: sendAs(),
    async user({ subject = 'alice', scope = 'app=default', permissions = PermissionSchema.options, expiresAt } = {}) {
      const made = await createKey(store, {
        subject,
        scope,
        permissions: [...permissions],
        ...(expiresAt && { expiresAt }),
      });
      if (!made.ok) throw new Error(made.refusal.message);
      return { send: sendAs(made.token), token: made.token, keyId: made.key.id };
    },
  };
}
