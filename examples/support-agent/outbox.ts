/** Where follow-ups go: a chat would send them to the customer; here they are kept, and told to whoever listens. */
import type { Delivery } from '../../src/index.ts';

export interface FollowUp {
  readonly deliveryId: string;
  readonly conversation: string;
  readonly text: string;
}
export interface Outbox {
  readonly delivery: Delivery;
  sent(): readonly FollowUp[];
}

export function createOutbox(onSent: (followUp: FollowUp) => void = () => undefined): Outbox {
  const sent = new Map<string, FollowUp>();
  return {
    delivery: {
      // A repeated id is the same follow-up: it is sent once.
      idempotent: true,
      async deliver({ continuation, harnessResult, deliveryId }) {
        if (!sent.has(deliveryId)) {
          const text = harnessResult.assistantMessage?.text ?? '(nothing to say)';
          const followUp = { deliveryId, conversation: continuation.sessionId ?? '', text };
          sent.set(deliveryId, followUp);
          onSent(followUp);
        }
        return { status: 'delivered', deliveredAt: new Date().toISOString() };
      },
    },
    sent: () => [...sent.values()],
  };
}
