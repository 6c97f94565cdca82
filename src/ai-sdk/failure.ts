/** What an error of the SDK means for a turn. */
import { RetryError } from 'ai';
import { TransientError } from '../errors.ts';

/** Codes of connections that were not made, or broke. */
const NETWORK = /^(E(CONN\w+|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)|UND_ERR_\w+)$/;

/**
 * Of an error that may pass (429, 5xx, network, a timeout) a `TransientError`: the same turn runs again with the same answer; a question to a
 * model has no effect that could happen twice. Any other error as it is, without the retries around it.
 */
export function modelFailure(error: unknown): unknown {
  const last = RetryError.isInstance(error) ? error.lastError : error;
  return mayPass(last) ? new TransientError((last as Error).message, { cause: last }) : last;
}

/** The SDK's own word where it has one; a stream that breaks off in the middle has none. */
function mayPass(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('isRetryable' in at) return at.isRetryable === true;
    if (at.name === 'TimeoutError') return true;
    if ('code' in at && NETWORK.test(String(at.code))) return true;
  }
  return false;
}
