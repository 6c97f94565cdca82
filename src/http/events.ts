/** The feed of receipts as server-sent events: whoever comes back with `Last-Event-ID` has lost nothing. */
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import { z } from 'zod';
import type { ContinuationEvent } from '../access-ports.ts';
import { bearerOf } from './access.ts';
import type { HttpOptions } from './app.ts';
import { type Operation, operation } from './operation.ts';
import { refused } from './problem.ts';

const HEARTBEAT_MS = 15_000;
const POSITION = /^\d{1,19}-\d{1,18}$/;

export function eventsOperation({ access, closing }: Pick<HttpOptions, 'access' | 'closing'>): Operation {
  return operation({
    name: 'followEvents',
    method: 'get',
    path: '/v1/events',
    summary: 'Every receipt of your scope, as server-sent events',
    description:
      'Each event carries a receipt and its position as `id`. A client that comes back with `Last-Event-ID` gets everything committed since, in the order of commits.',
    permissions: ['read'],
    headers: z.object({
      'Last-Event-ID': z
        .string()
        .regex(POSITION)
        .optional()
        .meta({ description: 'Go on after this; default: from now.' }),
    }),
    answers: { 200: { description: 'A stream that does not end.', mediaType: 'text/event-stream' } },
    async handle(request) {
      const after = request.c.req.header('last-event-id');
      if (after !== undefined && !POSITION.test(after))
        throw refused({
          code: 'invalid_input',
          message: 'Last-Event-ID is no position of this feed',
          path: 'Last-Event-ID',
        });
      return streamSSE(request.c, async (stream) => {
        const ended = new AbortController();
        stream.onAbort(() => ended.abort());
        const signal = closing ? AbortSignal.any([ended.signal, closing]) : ended.signal;
        const token = bearerOf(request.c.req.header('authorization')) ?? '';
        const holds = async () => (await access.callerOf(token, 'http')) !== undefined;
        const beat = heartbeat(stream, holds, () => ended.abort());
        try {
          await stream.write(': connected\n\n');
          const events = request.client.events({ signal, ...(after !== undefined && { after }) });
          for await (const event of events) await stream.writeSSE(messageOf(event));
        } finally {
          clearInterval(beat);
        }
      });
    },
  });
}

function messageOf({ position, ...receipt }: ContinuationEvent) {
  return { id: position, event: receipt.kind, data: JSON.stringify({ ...receipt, position }) };
}

/** Keeps proxies from closing a quiet stream, and ends that of a key that holds no more. */
export function heartbeat(stream: SSEStreamingApi, holds: () => Promise<boolean>, end: () => void): NodeJS.Timeout {
  return setInterval(async () => {
    try {
      if (!(await holds())) return end();
      await stream.write(': still here\n\n');
    } catch {
      // The database is away: the next beat asks again.
    }
  }, HEARTBEAT_MS).unref();
}
