import { createEngineHarness, type EngineHarness, type ModelPort, type SubAgent } from 'temporal-continuations/engine';

export interface Bank {
  /** Pays once for each key. */
  refund(wish: string, key: string): Promise<{ refundId: string }>;
}

/** A support agent that hands refunds to a second agent, whose tool waits for an approval. */
export function supportHarness(model: ModelPort, bank: Bank): EngineHarness {
  const refundDesk: SubAgent = {
    model,
    tools: {
      describe: ({ name, arguments: wish }) =>
        name === 'refund'
          ? { effect: 'idempotent', gate: { wait: 'approval_resolution', question: `Refund ${wish}?` } }
          : undefined,
      execute: ({ arguments: wish }, { key }) => bank.refund(String(wish), key),
    },
    begin: ({ arguments: wish }) => [{ role: 'user', parts: [{ kind: 'text', value: String(wish) }] }],
  };
  return createEngineHarness({
    model,
    tools: {
      describe: ({ name }) => (name === 'refund_desk' ? { agent: refundDesk } : undefined),
      execute: async () => undefined,
    },
  });
}
