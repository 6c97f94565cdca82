/** The follow-up of a continuation as the answer to the one that asked (001's ask ledger): two continuations converse. */
import type { ContinuationClient } from './client.ts';
import type { Delivery, DeliveryInput } from './ports.ts';
import type { DeliveryResult } from './schema.ts';

/** Answers at most once: the delivery's id is the message's, and the one that asked tells a repeat its first outcome. */
export function createReplies(client: ContinuationClient): Delivery {
  return {
    idempotent: true,
    deliver: (input) => reply(client, input),
  };
}

async function reply(client: ContinuationClient, input: DeliveryInput): Promise<DeliveryResult> {
  const { continuation, harnessResult, deliveryId } = input;
  const replyTo = continuation.delivery.target?.replyTo;
  if (!replyTo) throw new Error(`${continuation.id} answers nobody`);
  const { continuationId, replyWith } = replyTo;
  const answerer = client.as({
    scope: continuation.scope,
    subject: continuation.id,
    verified: true,
    channel: 'bus',
    permissions: ['bus'],
  });
  const answered = await answerer.resume({
    continuationId,
    messageId: deliveryId,
    trigger: {
      type: 'agent_reply',
      replyWith,
      performative: harnessResult.outcome === 'completed' ? 'inform' : 'failure',
      content: harnessResult.assistantMessage?.text ?? null,
    },
  });
  if (answered.ok) return { status: 'delivered' };
  return { status: 'delivery_failed', error: `${continuationId} did not take it: ${answered.refusal.message}` };
}
