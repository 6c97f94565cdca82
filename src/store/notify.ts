/**
 * Tells listeners of changed rows, once the change is committed. A NOTIFY inside its transaction would take a lock of the whole
 * server that is held until the commit is on disk: all commits would wait in line. What a crash leaves untold is found by the
 * slow polls of the listeners.
 */
import { type ShownStatus, shownStatus } from '../record.ts';
import type { ContinuationRecord } from '../schema.ts';
import type { Connection } from './retry.ts';

const CLOSE_MS = 1_000;

export interface Notifier {
  /** The row shows `record`. */
  changed(record: ContinuationRecord): void;
  /** The row was changed; what it shows now is to be looked at. */
  marked(id: string): void;
  /** What was changed is told, or cannot be told soon. */
  close(): Promise<void>;
}

/** One statement at a time; what changes meanwhile goes with the next one. */
export function createNotifier({ call }: Connection): Notifier {
  const changed = new Map<string, ShownStatus | ''>();
  let telling: Promise<void> | undefined;
  const tell = async (): Promise<void> => {
    while (changed.size > 0) {
      const notes = [...changed].map((each) => each.join(' '));
      changed.clear();
      await call('notify_changed', [notes]).catch(() => undefined);
    }
    telling = undefined;
  };
  const note = (id: string, status: ShownStatus | ''): void => {
    changed.set(id, status);
    telling ??= tell();
  };
  return {
    changed: (record) => note(record.id, shownStatus(record)),
    marked: (id) => note(id, ''),
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const tooLong = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSE_MS);
      });
      await Promise.race([telling, tooLong]);
      clearTimeout(timer);
    },
  };
}
