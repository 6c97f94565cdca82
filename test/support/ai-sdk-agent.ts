/** Agents of the AI SDK for tests on the stack, in both ways: their model is a function of the prompt, their effects are lines of a file. */
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { generateText, stepCountIs, type ToolExecutionOptions, tool } from 'ai';
import { z } from 'zod';
import {
  type AiSdkHarness,
  createAiSdkAgentHarness,
  createAiSdkHarness,
  idempotencyKey,
} from '../../src/ai-sdk/index.ts';
import { call, type Prompt, saying, text } from './ai-sdk.ts';

export const REFUND = '{ "order": "1042", "amount": 49.90 }';

/** What the model was told of its calls, in their order. */
const told = (prompt: Prompt) =>
  prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part.output] : []))
      : [],
  );

/** Refunds, ships, refunds again, and then says what it was told. Ids of its calls are new whenever it is asked. */
function shopModel() {
  const newCall = (name: string, input: string) => call(name, input, `call-${randomUUID()}`);
  return saying((prompt) => {
    const rounds = [
      [newCall('refund', REFUND)],
      [text('Next '), newCall('ship', '{"order":"1042"}')],
      [newCall('refund', '{"order":"1043","amount":7}')],
    ];
    const results = told(prompt);
    return rounds[results.length] ?? [text(JSON.stringify(results))];
  });
}

function shopTools(ledger: string) {
  const note = (name: string, input: object, options: ToolExecutionOptions) =>
    appendFileSync(ledger, `${name} ${JSON.stringify(input)} ${idempotencyKey(options)}\n`);
  return {
    refund: tool({
      inputSchema: z.object({ order: z.string(), amount: z.number() }),
      needsApproval: true,
      async execute(input, options) {
        note('refund', input, options);
        return { refunded: input.amount };
      },
    }),
    ship: tool({ inputSchema: z.object({ order: z.string() }), outputSchema: z.string() }),
  };
}

export const AI_SDK_AGENTS: Record<'engine' | 'whole', (ledger: string) => AiSdkHarness> = {
  engine: (ledger) => createAiSdkHarness({ model: shopModel(), tools: shopTools(ledger), instructions: 'Be kind.' }),
  whole: (ledger) =>
    createAiSdkAgentHarness({
      model: shopModel(),
      tools: shopTools(ledger),
      run: ({ turn: _, ...run }) => generateText({ ...run, system: 'Be kind.', stopWhen: stepCountIs(5) }),
    }),
};
