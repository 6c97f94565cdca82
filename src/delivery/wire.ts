/** What leaves us about a continuation: its follow-up, a question, an unknown outcome. */
import type { DeliveryInput } from '../ports.ts';
import type { ContinuationRecord, HarnessResult } from '../schema.ts';

export interface WireOptions {
  /** Where a person can answer, such as the inbox's page of it. */
  readonly linkTo?: (continuationId: string) => string;
}

export type OutgoingMessage = {
  /** The same for every attempt, and for nothing else. */
  readonly id: string;
  readonly continuation: ContinuationRecord;
  readonly link?: string;
} & (
  | { readonly type: 'continuation.follow_up'; readonly harnessResult: HarnessResult }
  /** Somebody has to answer. */
  | { readonly type: 'continuation.asked' }
  /** An operator has to decide an unknown outcome. */
  | { readonly type: 'continuation.uncertain' }
);

export interface Wire {
  followUp(input: DeliveryInput): OutgoingMessage;
  asked(record: ContinuationRecord): OutgoingMessage;
}

export function toWire({ linkTo }: WireOptions): Wire {
  const link = ({ id }: ContinuationRecord) => (linkTo ? { link: linkTo(id) } : {});
  return {
    followUp: ({ continuation, harnessResult, deliveryId: id }) => ({
      type: 'continuation.follow_up',
      id,
      continuation,
      harnessResult,
      ...link(continuation),
    }),
    asked(continuation) {
      const { resume, suspension } = continuation;
      // A new suspension is a new question; a lost execution is a question of its own.
      if (resume?.uncertain)
        return {
          type: 'continuation.uncertain',
          id: `${resume.turnId}:${resume.attempt}:uncertain`,
          continuation,
          ...link(continuation),
        };
      return { type: 'continuation.asked', id: suspension.id, continuation, ...link(continuation) };
    },
  };
}
