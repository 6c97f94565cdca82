/** Whatever was started is stopped again, last first, also when the run is interrupted. */

export type OnClose = (closer: () => unknown) => void;

export interface Closing {
  readonly onClose: OnClose;
  close(): Promise<void>;
}

export function createClosing(): Closing {
  const closers: Array<() => unknown> = [];
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closeAll(closers);
    return closing;
  };
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => {
      // What is under way loses its servers.
      process.on('uncaughtException', () => undefined);
      void close().finally(() => process.exit(code));
    });
  }
  return { onClose: (closer) => closers.push(closer), close };
}

async function closeAll(closers: Array<() => unknown>): Promise<void> {
  for (let closer = closers.pop(); closer; closer = closers.pop()) {
    try {
      await closer();
    } catch (error) {
      console.error(error);
    }
  }
}
