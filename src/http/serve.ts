/** Listening: on loopback unless keys protect it, with limits against slow senders, and an end that cuts nobody off. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';

export interface ServeOptions {
  readonly fetch: Hono['fetch'];
  readonly host: string;
  readonly port: number;
  /** How long open requests may go on after the end was asked for, milliseconds. */
  readonly graceMs?: number;
}
export interface HttpServer {
  readonly url: string;
  /** Takes no more requests, waits for those that run, then cuts what is left. */
  close(): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
const DEFAULT_GRACE_MS = 10_000;
const IDLE_CHECK_MS = 50;
const MAX_HEADERS_BYTES = 16 * 1024;

/** Only this machine can reach it. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

export async function serve({ fetch, host, port, graceMs = DEFAULT_GRACE_MS }: ServeOptions): Promise<HttpServer> {
  const server = createServer({ maxHeaderSize: MAX_HEADERS_BYTES }, getRequestListener(fetch));
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  // Bodies have their own limit, with an answer; a stream of events has none.
  server.requestTimeout = 0;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: actual } = server.address() as AddressInfo;
  const name = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${name}:${actual}`, close: () => end(server, graceMs) };
}

function end(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    // One that is kept alive becomes idle when its answer is out.
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(idle);
      resolve();
    });
  });
}
