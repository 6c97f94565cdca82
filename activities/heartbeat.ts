/** Heartbeats by a timer while work is under way, so that a lost worker is noticed and a stop is heard. */
import { Context } from '@temporalio/activity';

export async function whileHeartbeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timeoutMs = context.info.heartbeatTimeoutMs ?? 10_000;
  // The server counts from the start, so what is over before the first beat costs no round trip.
  const timer = setInterval(() => context.heartbeat(), Math.max(50, timeoutMs / 4));
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
