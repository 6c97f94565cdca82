/** A user's service on loopback: it remembers what it was sent and answers as the test says. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Heard {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into what came
  readonly body: any;
}
export type Reply = (heard: Heard, response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

export interface AgentService {
  readonly url: string;
  readonly heard: readonly Heard[];
  replies(reply: Reply): void;
  close(): Promise<void>;
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export async function startAgentService(): Promise<AgentService> {
  const heard: Heard[] = [];
  let reply: Reply = (_, response) => json(response, 200, { outcome: 'completed' });
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const one = { headers: request.headers as Record<string, string>, text, body: JSON.parse(text) };
    heard.push(one);
    await reply(one, response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/turn`,
    heard,
    replies(next) {
      reply = next;
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
