/** What every schema is made of: texts that can be stored, ids, times, durations, JSON, references. */
import { z } from 'zod';
import { type Json, jsonFault, textFault, utf8Length } from '../json.ts';

/** Largest metadata of a record, encoded (C12). */
export const MAX_METADATA_BYTES = 16 * 1024;
const MAX_DURATION_MS = 100 * 365 * 24 * 3_600_000;

export const storable = (text: string, context: z.RefinementCtx): void => {
  const fault = textFault(text);
  if (fault) context.addIssue({ code: 'custom', message: fault });
};
/** Text that PostgreSQL can store. */
export const text = z.string().superRefine(storable);
/** An id: text of 1 to 128 characters. */
export const id = z
  .string()
  .min(1, 'must not be empty')
  .max(128, 'must be at most 128 characters')
  .superRefine(storable);
export const mediaType = z.string().min(1).max(255).superRefine(storable);
export const json = z
  .custom<Json>((value) => value !== undefined)
  .superRefine((value, context) => {
    const fault = jsonFault(value);
    if (fault) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message });
  });
export const jsonObject = z
  .record(z.string(), z.unknown())
  .superRefine((value, context) => {
    const fault = jsonFault(value);
    if (fault) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message });
  })
  .transform((value) => value as { [key: string]: Json });
/** Of callers, in records and messages. */
export const metadata = jsonObject.refine(
  (value) => utf8Length(JSON.stringify(value)) <= MAX_METADATA_BYTES,
  `must be at most ${MAX_METADATA_BYTES} bytes encoded`,
);
export const duration = z.int().min(1).max(MAX_DURATION_MS);

/** An instant: any ISO 8601 text with an offset, or a Date; comes out as UTC with milliseconds. */
export const Instant = z
  .union([
    z.iso.datetime({ offset: true, error: 'must be an ISO 8601 time with an offset, such as 2026-12-02T09:30:00Z' }),
    z.date(),
  ])
  .transform((value) => new Date(value).toISOString())
  .refine((value) => /^\d/.test(value), 'must lie in the years 0000 to 9999 of UTC');

export const Scope = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,31}=[A-Za-z0-9._~-]{1,64}(\/[a-z][a-z0-9_-]{0,31}=[A-Za-z0-9._~-]{1,64}){0,7}$/,
    'must be up to 8 levels key=value joined by "/", such as tenant=acme/workspace=w1',
  );
export const ContinuationId = z.string().regex(/^cont_[0-9A-HJKMNP-TV-Z]{26}$/, 'must be cont_ and a ULID');
export const Digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hex digits')
  .transform((value) => value as `sha256:${string}`);

/** Bytes stored once under scope and digest. */
export const ContentRef = z.strictObject({ digest: Digest, bytes: z.int().min(0), mediaType });
export type ContentRef = z.infer<typeof ContentRef>;
