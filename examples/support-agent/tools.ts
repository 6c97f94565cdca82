/** What the agent can do. Some tools answer at once, some wait for somebody; `refund` moves money, and only after an approval. */
import type { Gate, Json, ModelToolRequest, ToolDescription, ToolPort } from '../../src/engine/index.ts';
import type { Ledger } from './ledger.ts';

export type Order = {
  readonly item: string;
  readonly price: string;
  readonly delivered: boolean;
};
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

type Arguments = Readonly<Record<string, string>>;
interface Tool extends Omit<ToolDescription, 'gate'> {
  /** Whom or what a call waits for. Where there is nothing to run, the answer is its result. */
  readonly gate?: (given: Arguments) => Gate;
  /** `key` is the same whenever this call is made again. */
  readonly run?: (given: Arguments, key: string) => Json | Promise<Json>;
}

function toolsOf(shop: Shop, ledger: Ledger): Readonly<Record<string, Tool>> {
  return {
    look_up_order: {
      effect: 'idempotent',
      run: ({ order = '' }) => shop.order(order) ?? { unknown: order },
    },
    ask_customer: {
      effect: 'idempotent',
      gate: ({ question = '' }) => ({ wait: 'user_reply', question }),
    },
    refund: {
      // The ledger knows the key, so a refund that a crash cut off may be asked for again. Where nobody knows it: 'once'.
      effect: 'idempotent',
      gate: ({ order, amount, reason }) => ({
        wait: 'approval_resolution',
        question: `Refund ${amount} for order ${order} (${reason})?`,
      }),
      run: ({ order = '', amount = '' }, key) => ledger.refund({ key, order, amount }),
    },
    trace_parcel: {
      effect: 'idempotent',
      gate: ({ order }) => ({
        wait: 'external_result',
        question: `The carrier looks for the parcel of order ${order}.`,
      }),
    },
    check_back: {
      effect: 'idempotent',
      gate: ({ order, after = '' }) => ({
        wait: 'scheduled_wake',
        wakeAt: after,
        question: `Look again whether order ${order} has arrived.`,
      }),
    },
    ask_colleague: {
      effect: 'idempotent',
      gate: ({ colleague = '', question = '' }) => ({ wait: 'agent_reply', responder: colleague, question }),
    },
  };
}

/** The tools as the engine uses them. */
export function createTools(shop: Shop, ledger: Ledger): ToolPort {
  const tools = new Map(Object.entries(toolsOf(shop, ledger)));
  return {
    describe(request) {
      const tool = tools.get(request.name);
      if (!tool) return undefined;
      const { effect, gate } = tool;
      return { effect, ...(gate && { gate: gate(argumentsOf(request)) }) };
    },
    async execute(request, { key }) {
      const run = tools.get(request.name)?.run;
      if (!run) throw new Error(`${request.name} cannot be run: somebody has to answer it`);
      return run(argumentsOf(request), key);
    },
  };
}

/** As the model wrote them, or as whoever approved the call has edited them. */
function argumentsOf({ arguments: given }: ModelToolRequest): Arguments {
  return JSON.parse(String(given));
}
