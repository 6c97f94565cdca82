/** A kind of state that is text. Checked at the pause, because nobody can repair it once somebody has answered. */
import { ContinuationError } from '../errors.ts';
import type { StateKind } from '../ports.ts';

/** The text of a state as a harness gets it back; throws `record_malformed` when it is of another kind. */
export function textOfState(state: unknown, kind: string, owner: string): string {
  const { text, mediaType } = (state ?? {}) as { text?: string; mediaType?: string };
  if (mediaType === kind && text !== undefined) return text;
  throw new ContinuationError('record_malformed', `the state of ${owner} is ${kind}, not ${mediaType}`);
}

/** `read` throws what is wrong with a state, in the form in which the harness will get it back. */
export function textKind(
  mediaType: string,
  read: (state: { readonly text: string; readonly mediaType: string }) => unknown,
): StateKind {
  return {
    mediaType,
    fault(bytes) {
      try {
        // As strictly as it is read back: other bytes than UTF-8 would come back as bytes, and a byte order mark as text.
        read({ text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), mediaType });
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    },
  };
}
