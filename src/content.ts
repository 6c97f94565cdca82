/** Bytes that are stored once, and the reference by which they are found again. */
import { digestBytes } from './digest.ts';
import type { ContentRef } from './schema.ts';

export interface Content {
  readonly ref: ContentRef;
  readonly bytes: Uint8Array;
}

export const JSON_TYPE = 'application/json';
/** Texts above this many UTF-8 bytes are kept by reference. */
export const MAX_INLINE_TEXT_BYTES = 4096;

/** Of UTF-8 bytes. */
export function textOf({ bytes }: Content): string {
  return Buffer.from(bytes).toString('utf8');
}

export function contentOf(bytes: Uint8Array, mediaType: string): Content {
  return { bytes, ref: { digest: digestBytes(bytes), bytes: bytes.byteLength, mediaType } };
}
