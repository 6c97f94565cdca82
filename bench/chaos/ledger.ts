/** What happened in the world: effects, and deliveries begun and done, counted by somebody who knows nothing of continuations. */
import { createServer, type IncomingMessage } from 'node:http';
import { LOOPBACK } from '../../src/dev/tcp-port.ts';
import { nowMs } from './clock.ts';

export interface Entry {
  readonly kind: 'effect' | 'delivering' | 'delivery';
  readonly turnId: string;
  /** The process that did it. */
  readonly worker: string;
  /** The answer that the effect was about. */
  readonly text: string;
}
export type Noted = Entry & { readonly at: number };

export interface Ledger {
  readonly url: string;
  of(kind: Entry['kind'], turnId: string): readonly Noted[];
  close(): Promise<void>;
}

export async function startLedger(): Promise<Ledger> {
  const noted = new Map<string, Noted[]>();
  const server = createServer(async (request, response) => {
    const entry: Entry = JSON.parse(await bodyOf(request));
    const key = `${entry.kind} ${entry.turnId}`;
    noted.set(key, [...(noted.get(key) ?? []), { ...entry, at: nowMs() }]);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  const address = server.address();
  return {
    url: `http://${LOOPBACK}:${typeof address === 'object' && address ? address.port : 0}`,
    of: (kind, turnId) => noted.get(`${kind} ${turnId}`) ?? [],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}

/** Resolves when it is noted; what kills the caller before that leaves it open whether it was. */
export async function note(url: string, entry: Entry): Promise<void> {
  await (await fetch(url, { method: 'POST', body: JSON.stringify(entry) })).text();
}
