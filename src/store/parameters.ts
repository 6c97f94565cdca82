/** What goes into SQL functions. */
import type { Content } from '../content.ts';

/** A JSON value for a parameter that is cast to jsonb. */
export function json(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

/** Contents as the two arrays that functions take. */
export function arrays(contents: readonly Content[] = []): { digests: string[]; bodies: Buffer[] } {
  return {
    digests: contents.map(({ ref }) => ref.digest),
    bodies: contents.map(({ bytes }) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
  };
}
