/**
 * Follow-ups and questions by webhook, signed as Standard Webhooks say. The id is the same for every attempt, so the receiver
 * can tell a repeat; a delivery may therefore be made again after a crash (C7).
 */

import type { Delivery } from '../ports.ts';
import { createPost, type Posted, type PostOptions } from '../post.ts';
import type { DeliveryResult } from '../schema.ts';
import { toWire, type WireOptions } from './wire.ts';

export interface WebhookOptions extends PostOptions, WireOptions {
  /** How long one attempt may take, milliseconds. Default 30 s. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** Statuses below 500 that may pass. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

export function webhookDelivery({ timeoutMs = DEFAULT_TIMEOUT_MS, ...options }: WebhookOptions): Delivery {
  const post = createPost(options);
  const wire = toWire(options);
  return {
    idempotent: true,
    async deliver(input) {
      const signal = AbortSignal.any([input.signal, AbortSignal.timeout(timeoutMs)]);
      const message = wire.followUp(input);
      return resultOf(await post({ id: message.id, body: message, signal }));
    },
    async announce(record) {
      const message = wire.asked(record);
      const posted = await post({ id: message.id, body: message, signal: AbortSignal.timeout(timeoutMs) });
      const { status, error } = resultOf(posted);
      if (status !== 'delivered') throw new Error(error);
    },
  };
}

/** A throw is tried again within the delivery's budget. */
function resultOf(posted: Posted): DeliveryResult {
  if ('error' in posted) {
    if (posted.kind === 'forbidden') return { status: 'delivery_failed', error: posted.error.message };
    throw new Error(`The webhook did not answer: ${posted.error.message}`, { cause: posted.error });
  }
  const { status } = posted;
  // What it answers beyond the status is not read.
  if (status >= 200 && status < 300) return { status: 'delivered' };
  const error = `The webhook answered ${status}.`;
  if (status >= 500 || PASSING.has(status)) throw new Error(error);
  return { status: 'delivery_failed', error };
}
