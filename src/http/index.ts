/**
 * The HTTP API.
 *
 *     const app = createHttpApp({ client, access: createAccess(store), store });
 *     const server = await serve({ fetch: app.fetch, host: '127.0.0.1', port: 8080 });
 */

export { type Access, createAccess } from './access.ts';
export { createHttpApp, type HttpOptions } from './app.ts';
export { createInbox, type InboxOptions } from './inbox/index.ts';
export type { JwtIssuer } from './jwt.ts';
export { type HttpServer, isLoopback, type ServeOptions, serve } from './serve.ts';
