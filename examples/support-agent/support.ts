/** The agent at work: its tools, and the one call that turns a stopped turn into a continuation. */
import type { ContinuationClient, ContinuationRecord } from '../../src/index.ts';
import { type Agent, createAgent } from './agent.ts';
import type { Ledger } from './ledger.ts';
import { scriptedModel } from './model.ts';
import { createTools, type Shop } from './tools.ts';

export const ASSISTANT_ID = 'support-agent';

export function createSupportAgent(shop: Shop, ledger: Ledger): Agent {
  return createAgent(scriptedModel, createTools(shop, ledger));
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
  agent: Agent,
  client: ContinuationClient,
  { conversation, customer, text }: Incoming,
): Promise<{ waiting: ContinuationRecord } | { said: string }> {
  const harnessResult = await agent.takeTurn(conversation, text);
  if (!('continuation' in harnessResult)) return { said: harnessResult.assistantMessage?.text ?? '' };
  const created = await client.create({
    assistantId: ASSISTANT_ID,
    sessionId: conversation,
    userId: customer,
    originTurnId: `${conversation}/turn-1`,
    harnessResult,
  });
  if (!created.ok) throw new Error(`${created.refusal.code}: ${created.refusal.message}`);
  return { waiting: created.record };
}
