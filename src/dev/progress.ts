/** Tells a person what is going on, and that it still is. */

export interface Progress {
  /** Says what begins, then every few seconds that it goes on. */
  step<T>(what: string, work: () => Promise<T>): Promise<T>;
  note(text: string): void;
}

const STILL_MS = 10_000;

export function createProgress(print: (line: string) => void): Progress {
  return {
    async step(what, work) {
      print(`${what} …`);
      const began = Date.now();
      const timer = setInterval(
        () => print(`  still at it (${Math.round((Date.now() - began) / 1000)} s) …`),
        STILL_MS,
      ).unref();
      try {
        return await work();
      } finally {
        clearInterval(timer);
      }
    },
    note: print,
  };
}
