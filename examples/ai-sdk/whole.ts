import { ToolLoopAgent, tool } from 'ai';
import { createAiSdkAgentHarness } from 'temporal-continuations/ai-sdk';
import { z } from 'zod';

export const agent = createAiSdkAgentHarness({
  model: 'openai/gpt-5-mini',
  tools: {
    refund: tool({
      inputSchema: z.object({ order: z.string(), amount: z.number() }),
      needsApproval: true,
      execute: async ({ order, amount }) => `refunded ${amount} of ${order}`,
    }),
  },
  // With these, not with those above: what this model says and these tools do is journalled.
  run({ model, tools, messages, abortSignal }) {
    const agent = new ToolLoopAgent({ model, tools, instructions: 'You help customers of a shop.' });
    return agent.generate({ messages, abortSignal });
  },
});
