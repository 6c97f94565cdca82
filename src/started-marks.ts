/** Marks rows as started in batches: a mark that is lost only makes maintenance look once more. */
import type { Store } from './ports.ts';

const DELAY_MS = 50;

export interface StartedMarks {
  add(id: string): void;
  /** Writes what is left. */
  close(): Promise<void>;
}

export function createStartedMarks(store: Store): StartedMarks {
  let ids: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  const flush = () => {
    timer = undefined;
    const batch = ids;
    ids = [];
    if (batch.length > 0) writing = writing.then(() => store.markStarted(batch)).catch(() => undefined);
  };
  return {
    add(id) {
      ids.push(id);
      timer ??= setTimeout(flush, DELAY_MS);
    },
    async close() {
      clearTimeout(timer);
      flush();
      await writing;
    },
  };
}
