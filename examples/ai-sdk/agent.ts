import { tool } from 'ai';
import { createAiSdkHarness, idempotencyKey } from 'temporal-continuations/ai-sdk';
import { z } from 'zod';

const { BANK_URL } = process.env;
const order = z.object({ order: z.string() });

// This was: new ToolLoopAgent({
export const agent = createAiSdkHarness({
  model: 'openai/gpt-5-mini',
  instructions: 'You help customers of a shop.',
  tools: {
    look: tool({
      description: 'Looks an order up.',
      inputSchema: order,
      execute: async ({ order }) => (await fetch(`${BANK_URL}/orders/${order}`)).json(),
    }),
    refund: tool({
      description: 'Refunds an order.',
      inputSchema: order.extend({ amount: z.number() }),
      needsApproval: ({ amount }) => amount > 10,
      async execute(refund, options) {
        const headers = { 'Idempotency-Key': idempotencyKey(options) };
        const answer = await fetch(`${BANK_URL}/refunds`, { method: 'POST', headers, body: JSON.stringify(refund) });
        return answer.json();
      },
    }),
    // No execute: the turn waits until the carrier's system brings the result.
    collect: tool({ description: 'Has a parcel collected.', inputSchema: order, outputSchema: z.string() }),
  },
  idempotentTools: ['look'],
  question: ({ toolName, input }) => `May I ${toolName} ${JSON.stringify(input)}?`,
});
