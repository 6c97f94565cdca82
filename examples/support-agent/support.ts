/** The agent at work: its tools, and the one call that turns a stopped turn into a continuation. */
import { createEngineHarness, type EngineHarness } from '../../src/engine/index.ts';
import type { ContinuationClient, ContinuationRecord } from '../../src/index.ts';
import type { Ledger } from './ledger.ts';
import { scriptedModel } from './model.ts';
import { createTools, type Shop } from './tools.ts';

export const ASSISTANT_ID = 'support-agent';

/** A loop of model and tools whose every step is in a journal; as a harness it runs the turns that an answer resumes. */
export function createSupportAgent(shop: Shop, ledger: Ledger): EngineHarness {
  return createEngineHarness({ model: scriptedModel, tools: createTools(shop, ledger) });
}

/** A customer's message: what it is called, whose it is, what it says. */
export interface Incoming {
  /** One conversation; a repeated message of it creates nothing new. */
  readonly conversation: string;
  readonly customer: string;
  readonly text: string;
}

/** Takes the first turn. What it has to wait for is kept as a continuation; else there is only something to say. */
export async function receive(
  agent: EngineHarness,
  client: ContinuationClient,
  { conversation, customer, text }: Incoming,
): Promise<{ waiting: ContinuationRecord } | { said: string }> {
  const turnId = `${conversation}/turn-1`;
  const messages = [{ role: 'user' as const, parts: [{ kind: 'text', value: text }] }];
  const harnessResult = await agent.runFirstTurn({ sessionId: conversation, turnId, messages });
  if (!('continuation' in harnessResult)) return { said: harnessResult.assistantMessage?.text ?? '' };
  const created = await client.create({
    assistantId: ASSISTANT_ID,
    sessionId: conversation,
    userId: customer,
    originTurnId: turnId,
    harnessResult,
  });
  if (!created.ok) throw new Error(`${created.refusal.code}: ${created.refusal.message}`);
  return { waiting: created.record };
}
