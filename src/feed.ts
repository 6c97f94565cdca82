/** The feed of receipts: told by the database, checked by a slow poll, and nothing lost between two readings. */
import type { ContinuationEvent } from './access-ports.ts';
import type { Store } from './ports.ts';
import { listen } from './progress.ts';

export interface EventsInput {
  /** The position of the last event seen. */
  readonly after?: string;
  readonly signal?: AbortSignal;
}

const PAGE = 100;
const FIRST_PAUSE_MS = 20;

export async function* follow(
  { store, pollMs }: { store: Store; pollMs: number },
  scope: string,
  { after, signal }: EventsInput,
): AsyncGenerator<ContinuationEvent> {
  const changes = listen(store, undefined);
  let pauseMs = FIRST_PAUSE_MS;
  let place = after;
  try {
    while (!signal?.aborted) {
      const change = changes.next();
      const page = await store.events(scope, place, PAGE);
      yield* page.events;
      place = page.next;
      if (page.events.length === PAGE) continue;
      // What was told may still be behind an older transaction: soon again, then less and less.
      pauseMs = (await change(pauseMs, signal)) ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, pollMs);
    }
  } finally {
    changes.close();
  }
}
