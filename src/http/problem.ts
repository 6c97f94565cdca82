/** Whatever goes wrong at the HTTP edge, as RFC 9457 problem documents: one table of codes, statuses and titles. */
import type { ErrorCode } from '../errors.ts';
import { isContinuationError } from '../errors.ts';
import type { Refusal, RefusalCode } from '../schema.ts';

export const PROBLEM_TYPE = 'application/problem+json';

export type HttpCode =
  | RefusalCode
  | ErrorCode
  | 'unauthenticated'
  | 'method_not_allowed'
  | 'malformed_json'
  | 'unsupported_media_type'
  | 'request_timeout'
  | 'rate_limited'
  | 'idempotency_conflict'
  | 'idempotency_in_progress'
  | 'internal';

export const PROBLEMS: Readonly<Record<HttpCode, readonly [status: number, title: string]>> = {
  malformed_json: [400, 'The body is not JSON'],
  unauthenticated: [401, 'No valid key'],
  not_authorized: [403, 'Not allowed'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'Method not allowed'],
  request_timeout: [408, 'The body took too long'],
  message_conflict: [409, 'The message id was used for something else'],
  already_terminal: [409, 'The continuation has ended'],
  already_resumed: [409, 'Already answered'],
  suspension_required: [409, 'The suspension must be named'],
  stale_suspension: [409, 'The answer is for an earlier suspension'],
  digest_mismatch: [409, 'What was seen is not what waits'],
  wrong_trigger: [409, 'Another kind of answer is waited for'],
  wrong_correlation: [409, 'The answer is for something else'],
  attempts_exhausted: [409, 'No attempts are left'],
  ambiguous_session: [409, 'More than one waits in the session'],
  create_conflict: [409, 'The idempotency key was used with another input'],
  idempotency_conflict: [409, 'The idempotency key was used for another request'],
  idempotency_in_progress: [409, 'The request with this idempotency key is still at work'],
  expired: [410, 'Too late'],
  too_large: [413, 'Too large'],
  unsupported_media_type: [415, 'The body must be application/json'],
  invalid_input: [422, 'Invalid input'],
  calls_mismatch: [422, 'The calls are not those that wait'],
  rate_limited: [429, 'Too many requests'],
  internal: [500, 'Internal error'],
  record_malformed: [500, 'A stored record is malformed'],
  decision_mismatch: [500, 'A decision does not fit its call'],
  invalid_transcript: [500, 'A transcript cannot be used'],
  invalid_run_state: [500, 'A run state cannot be used'],
  no_step_budget: [500, 'A run has no step budget'],
  steps_used_up: [500, 'A run has no step left'],
  invalid_configuration: [500, 'The server is not configured right'],
  transient: [503, 'Temporarily unavailable'],
  outcome_unknown: [500, 'The outcome is unknown'],
  temporal_unavailable: [503, 'Temporal does not answer'],
  database_unavailable: [503, 'The database does not answer'],
  database_not_migrated: [503, 'The database lacks tables'],
  wait_timed_out: [504, 'Still at work'],
};

/** Thrown by what handles a request; anything a core refusal can carry. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly code: HttpCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly refusal: Partial<Refusal>;
  constructor(
    code: HttpCode,
    message: string,
    { headers = {}, refusal = {} }: { headers?: Record<string, string>; refusal?: Partial<Refusal> } = {},
  ) {
    super(message);
    this.code = code;
    this.headers = headers;
    this.refusal = refusal;
  }
}

export function refused(refusal: Refusal): HttpProblem {
  return new HttpProblem(refusal.code, refusal.message, { refusal });
}

/** What may be told about any error: of one that nobody expected, nothing. */
export function toProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (!isContinuationError(error)) return new HttpProblem('internal', 'something went wrong here; it was logged');
  const headers = PROBLEMS[error.code][0] === 503 ? { 'retry-after': '5' } : {};
  const ours = error.code === 'invalid_configuration' || error.code === 'record_malformed';
  return new HttpProblem(error.code, ours ? 'an operator has to look at this; it was logged' : error.message, {
    headers,
  });
}

/** The document of a problem; `status` of the continuation in the way goes by another name, since RFC 9457 has one. */
export function problemResponse({ code, message, headers, refusal }: HttpProblem): Response {
  const [status, title] = PROBLEMS[code];
  const document = {
    type: `urn:temporal-continuations:problem:${code}`,
    title,
    status,
    detail: message,
    code,
    ...(refusal.path !== undefined && { path: refusal.path }),
    ...(refusal.winner && { winner: refusal.winner }),
    ...(refusal.status && { continuationStatus: refusal.status }),
  };
  return Response.json(document, { status, headers: { ...headers, 'content-type': PROBLEM_TYPE } });
}
