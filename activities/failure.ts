/** Errors of harness and delivery, told apart once: may it be tried again, did it fail, or is its outcome unknown? */
import { ApplicationFailure } from '@temporalio/common';
import { isContinuationError } from '../src/errors.ts';
import type { Cause } from '../src/schema.ts';

export type Thrown = { readonly kind: 'transient' | 'unknown' | 'permanent'; readonly error: Cause };

const MAX_MESSAGE = 1000;

export function classify(error: unknown): Thrown {
  const kind = isContinuationError(error, 'transient')
    ? 'transient'
    : isContinuationError(error, 'outcome_unknown')
      ? 'unknown'
      : 'permanent';
  return { kind, error: causeOf(error) };
}

/** Code and message of an error, fit to be stored; never its stack. */
export function causeOf(error: unknown): Cause {
  const { code, name, message } =
    error instanceof Error
      ? (error as Error & { code?: unknown })
      : { code: undefined, name: 'error', message: String(error) };
  const clean = message.slice(0, MAX_MESSAGE).replace(/\p{Surrogate}|\p{Cc}/gu, '\ufffd');
  return { code: (typeof code === 'string' && code ? code : name || 'error').slice(0, 128), message: clean };
}

/** Back-off between attempts of one turn or delivery, in milliseconds. */
export function retryDelayMs(attempt: number): number {
  return Math.min(1000 * 2 ** (attempt - 1), 60_000);
}

/** Makes Temporal run the activity again; the end of this attempt is recorded. */
export function tryAgain(error: Cause, delayMs: number): ApplicationFailure {
  return ApplicationFailure.create({ type: error.code, message: error.message, nextRetryDelay: delayMs });
}
