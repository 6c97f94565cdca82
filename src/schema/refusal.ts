/** Why something was not done. */
import { z } from 'zod';
import type { ContinuationStatus, Winner } from './record.ts';

export const RefusalCode = z.enum([
  'not_found',
  'not_authorized',
  'invalid_input',
  'too_large',
  'message_conflict',
  'already_terminal',
  'already_resumed',
  'expired',
  'suspension_required',
  'stale_suspension',
  'digest_mismatch',
  'wrong_trigger',
  'wrong_correlation',
  'calls_mismatch',
  'attempts_exhausted',
  'ambiguous_session',
  'create_conflict',
]);
export type RefusalCode = z.infer<typeof RefusalCode>;

/** Why something was not done; nothing was changed by it (C2). */
export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  readonly path?: string;
  /** Who won the suspension that this answer was for (C1). */
  readonly winner?: Winner;
  /** The status that stands in the way. */
  readonly status?: ContinuationStatus;
}
export type Refused = { readonly ok: false; readonly refusal: Refusal };
