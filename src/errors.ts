/** Errors are for what went wrong around us. What a caller may expect (a late answer, a wrong id) is a refusal, a value. */

export type ErrorCode =
  | 'temporal_unavailable'
  | 'database_unavailable'
  | 'database_not_migrated'
  | 'record_malformed'
  | 'decision_mismatch'
  | 'invalid_transcript'
  | 'invalid_run_state'
  | 'no_step_budget'
  | 'steps_used_up'
  | 'invalid_configuration'
  | 'wait_timed_out'
  | 'transient'
  | 'outcome_unknown';

/** Every error that this package throws; `code` is stable, `message` says what to do. */
export class ContinuationError extends Error {
  override readonly name: string = 'ContinuationError';
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** By name, because errors cross realms and package copies. */
export function isContinuationError(value: unknown, code?: ErrorCode): value is ContinuationError {
  return (
    value instanceof Error &&
    'code' in value &&
    /^(ContinuationError|TransientError|OutcomeUnknown)$/.test(value.name) &&
    (code === undefined || value.code === code)
  );
}

/** A harness throws this when the attempt surely had no effect and may be made again (network, 429, 5xx). */
export class TransientError extends ContinuationError {
  override readonly name = 'TransientError';
  constructor(message: string, options?: ErrorOptions) {
    super('transient', message, options);
  }
}

/** A harness or delivery throws this when it cannot know whether the effect happened (C8). */
export class OutcomeUnknown extends ContinuationError {
  override readonly name = 'OutcomeUnknown';
  constructor(message: string, options?: ErrorOptions) {
    super('outcome_unknown', message, options);
  }
}

/** No server answers at `address`. */
export function noTemporalServer(address: string | undefined, cause: unknown): ContinuationError {
  const message = `No Temporal server answers at ${address}: check that it runs and can be reached.`;
  return new ContinuationError('temporal_unavailable', message, { cause });
}

/** Temporal could not be reached for continuation `id`: every call may be repeated as it was. */
export function unavailable(id: string, cause: unknown): ContinuationError {
  const unanswered = cause instanceof Error && cause.name === 'WorkflowUpdateRPCTimeoutOrCancelledError';
  const what = unanswered
    ? `No worker answered for ${id} in time; it may still be applied.`
    : `The Temporal server could not be reached for ${id}.`;
  return new ContinuationError('temporal_unavailable', `${what} Try the same again.`, { cause });
}
