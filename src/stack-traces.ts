/**
 * The SDK takes a stack trace for every promise that a workflow makes, and that is most of what a continuation costs its
 * worker. Two of these frames are the SDK's own; two more are enough to find a fault. Preloaded into the sandbox, because
 * its globals are frozen afterwards.
 */
(Error as unknown as { stackTraceLimit: number }).stackTraceLimit = 4;

export {};
