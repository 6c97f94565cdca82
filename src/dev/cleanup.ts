/** What has been started and must be ended, last first. */

export interface Cleanup {
  add(end: () => Promise<unknown>): void;
  /** Ends everything once; one failure does not keep the others from ending. */
  run(): Promise<void>;
}

export function createCleanup(): Cleanup {
  const ends: Array<() => Promise<unknown>> = [];
  let running: Promise<void> | undefined;
  const endAll = async (): Promise<void> => {
    // More may be added while this runs: what was starting when the end came.
    for (let end = ends.pop(); end; end = ends.pop()) await end().catch(() => undefined);
  };
  return {
    add(end) {
      ends.push(end);
    },
    run() {
      running = running ? running.then(endAll) : endAll();
      return running;
    },
  };
}
