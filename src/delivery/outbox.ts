/** Follow-ups and questions into a table, for a relay of your own: `entries` to read, `acknowledge` to take away. */
import type { Outbox } from '../access-ports.ts';
import type { Delivery } from '../ports.ts';
import { toWire, type WireOptions } from './wire.ts';

/** A repeat of what is there is not written twice, so a delivery may be made again after a crash (C7). */
export function outboxDelivery(outbox: Outbox, options: WireOptions = {}): Delivery {
  const wire = toWire(options);
  return {
    idempotent: true,
    async deliver(input) {
      const { id, ...message } = wire.followUp(input);
      await outbox.addEntry({ id, scope: input.continuation.scope, message });
      return { status: 'delivered' };
    },
    async announce(record) {
      const { id, ...message } = wire.asked(record);
      await outbox.addEntry({ id, scope: record.scope, message });
    },
  };
}
