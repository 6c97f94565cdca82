/** The composition of the HTTP server: from configuration to what listens. */
import { Connection } from '@temporalio/client';
import { createClient } from './client.ts';
import type { Config } from './config.ts';
import { ContinuationError } from './errors.ts';
import { createAccess, createHttpApp, createInbox, type HttpServer, isLoopback, serve } from './http/index.ts';
import { createStore } from './store/store.ts';

/** How long a request waits for a server that does not answer, milliseconds. */
const PATIENCE_MS = 5_000;

/** Where a person can answer a continuation. */
export function linkTo({ publicUrl }: Config['http']): ((id: string) => string) | undefined {
  return publicUrl === undefined ? undefined : (id) => `${publicUrl}/inbox/${id}`;
}

/** Listens; refuses to leave loopback while nobody has a key. */
export async function startServer(config: Config & { readonly databaseUrl: string }): Promise<HttpServer> {
  const { connection: options, namespace } = config.temporal;
  const { host, port, issuer, requestsPerMinute, publicUrl } = config.http;
  const store = createStore({ url: config.databaseUrl, waitMs: PATIENCE_MS, applicationName: 'continuations-http' });
  const connection = Connection.lazy({ ...options, connectTimeout: PATIENCE_MS });
  const link = linkTo(config.http);
  const { taskQueue } = config;
  const client = createClient({
    connection,
    namespace,
    store,
    taskQueue,
    announce: true,
    ...(link && { linkTo: link }),
  });
  const closing = new AbortController();
  const close = async () => {
    await client.close();
    await connection.close();
    await store.close();
  };
  try {
    if (!isLoopback(host) && !issuer && !(await store.hasKeysAcrossScopes())) throw unprotected(host);
    const access = createAccess(store, issuer ? [issuer] : []);
    const ready = () => Promise.all([store.hasKeysAcrossScopes(), reach(connection)]);
    const own = { client, access, closing: closing.signal };
    const inbox = createInbox({ ...own, ...(publicUrl && { publicUrl }) });
    const app = createHttpApp({ ...own, store, ready, requestsPerMinute, mounts: { '/inbox': inbox } });
    const server = await serve({ fetch: app.fetch, host, port });
    return {
      url: server.url,
      async close() {
        closing.abort();
        await server.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function reach(connection: Connection): Promise<void> {
  await connection.ensureConnected();
  await connection.workflowService.getSystemInfo({});
}

function unprotected(host: string): ContinuationError {
  const message = `nobody has a key, so the server would not be of use on ${host}: make one with \`continuations keys create\`, or listen on 127.0.0.1`;
  return new ContinuationError('invalid_configuration', message);
}
