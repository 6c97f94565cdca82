import type { ContinuationError } from '../src/errors.ts';
import type { Policy } from '../src/policy.ts';
import type { Delivery, Harness, StateKind, Store, Trace } from '../src/ports.ts';
import type { ContinuationRecord } from '../src/schema.ts';

/** What the activities of one worker work with. */
export interface ActivityDeps {
  readonly store: Store;
  /** The harness of an assistant; a worker that has none answers with `invalid_configuration`. */
  readonly harnessFor: (assistantId: string) => Harness | ContinuationError;
  /** Asked again when a turn starts. */
  readonly policy: Policy;
  readonly delivery?: Delivery | undefined;
  /** Brings follow-ups to the continuations that asked for them. */
  readonly replies: Delivery;
  readonly stateKinds?: readonly StateKind[] | undefined;
  readonly trace?: Trace | undefined;
  /** Who runs the turns, as kept with the turn. */
  readonly identity: string;
}

/** Who brings the follow-up of a continuation; nobody, when this worker has no delivery. */
export function deliveryOf(
  deps: Pick<ActivityDeps, 'delivery' | 'replies'>,
  record: ContinuationRecord,
): Delivery | undefined {
  return record.delivery.target?.replyTo ? deps.replies : deps.delivery;
}
