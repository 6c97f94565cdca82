/** Heartbeats by a timer while work is under way, so that a lost worker is noticed and a stop is heard. */
import { Context } from '@temporalio/activity';

/** The activity, with heartbeats from its start: one that waits for the database must not be taken for a lost worker. */
export function heartbeating<Input, Output>(
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return async (input) => {
    const context = Context.current();
    const timeoutMs = context.info.heartbeatTimeoutMs ?? 10_000;
    // The server counts from the start, so what is over before the first beat costs no round trip.
    const timer = setInterval(() => context.heartbeat(new Date().toISOString()), Math.max(50, timeoutMs / 4));
    try {
      return await activity(input);
    } finally {
      clearInterval(timer);
    }
  };
}

/** When the execution before this one was last heard of, ISO; undefined when it never said so. */
export function lastHeartbeat(): string | undefined {
  const { heartbeatDetails } = Context.current().info;
  return typeof heartbeatDetails === 'string' ? heartbeatDetails : undefined;
}
