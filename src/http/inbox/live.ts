/** Tells an open page that it should look again. What changed it reads from the page itself, with the same rules as ever. */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { ContinuationClient } from '../../client.ts';
import { heartbeat } from '../events.ts';

interface Watched {
  readonly client: ContinuationClient;
  /** One continuation; without it, all in the viewer's scope. */
  readonly continuationId?: string;
  /** Whether the login still holds. */
  readonly holds: () => Promise<boolean>;
  readonly closing: AbortSignal | undefined;
}

export function streamChanges(c: Context, { client, continuationId, holds, closing }: Watched): Response {
  return streamSSE(c, async (stream) => {
    const ended = new AbortController();
    stream.onAbort(() => ended.abort());
    const signal = closing ? AbortSignal.any([ended.signal, closing]) : ended.signal;
    const beat = heartbeat(stream, holds, () => ended.abort());
    try {
      await stream.write(': connected\n\n');
      for await (const { id, revision } of client.watch({ signal, ...(continuationId && { continuationId }) }))
        await stream.writeSSE({ event: 'changed', data: `${id} ${revision}` });
      // Nothing more happens to it; a browser would come back for ever.
      if (!signal.aborted) await stream.writeSSE({ event: 'end', data: '' });
    } finally {
      clearInterval(beat);
    }
  });
}
