/** What the agent can do. Three tools answer at once or wait; `refund` moves money, and only after somebody approved it. */
import type { Tools } from './agent.ts';
import type { Ledger } from './ledger.ts';

export interface Order {
  readonly item: string;
  readonly price: string;
  readonly delivered: boolean;
}
/** The shop's own systems. */
export interface Shop {
  order(number: string): Order | undefined;
  /** The courier is at the door. */
  deliver(number: string): void;
}

export function createShop(): Shop {
  const orders = new Map<string, Order>([
    ['1042', { item: 'kettle', price: '€49.90', delivered: true }],
    ['2077', { item: 'desk lamp', price: '€35.00', delivered: false }],
  ]);
  return {
    order: (number) => orders.get(number),
    deliver(number) {
      const order = orders.get(number);
      if (order) orders.set(number, { ...order, delivered: true });
    },
  };
}

export function createTools(shop: Shop, ledger: Ledger): Tools {
  return {
    look_up_order: {
      run: async ({ arguments: { order = '' } }) => shop.order(order) ?? { unknown: order },
    },
    ask_customer: {
      run: async ({ arguments: { question = '' } }) => ({ waits: 'needs_clarification', question }),
    },
    refund: {
      run: async ({ arguments: { order, amount, reason } }) => ({
        waits: 'awaiting_approval',
        question: `Refund ${amount} for order ${order} (${reason})?`,
      }),
      approved: async ({ arguments: { order = '', amount = '' } }, key) => ledger.refund({ key, order, amount }),
    },
    trace_parcel: {
      run: async ({ arguments: { order = '' } }, key) => ({
        waits: 'deferred',
        question: `The carrier looks for the parcel of order ${order}.`,
        until: { operationId: `trace:${key}` },
      }),
    },
    check_back: {
      run: async ({ arguments: { order, after } }) => ({
        waits: 'deferred',
        question: `Look again whether order ${order} has arrived.`,
        until: { wakeAt: after },
      }),
    },
    ask_colleague: {
      run: async ({ arguments: { colleague, question = '' } }, key) => ({
        waits: 'deferred',
        question,
        until: { agent: { replyWith: `ask:${key}`, responder: colleague } },
      }),
    },
  };
}
