/** An agent on the turn engine for tests that kill it: its model is a function of the conversation, its effects are lines of a file. */
import { appendFileSync, readFileSync } from 'node:fs';
import {
  createEngineHarness,
  type EngineHarness,
  type Message,
  type ModelInvocationResponse,
  type SubAgent,
} from '../../src/engine/index.ts';

const call = (name: string) => ({ id: `call-${name}`, name, arguments: '{}' });
const ROUNDS: readonly ModelInvocationResponse[] = [
  { toolRequests: [call('ask')] },
  { toolRequests: [call('look'), call('pay'), call('ship')] },
  { output: 'done' },
];
const said = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'assistant').length;

/** Asks, then looks (idempotent), pays (once) and ships (outside), then is done. */
export function engineAgent(ledger: string): EngineHarness {
  const note = (line: string) => appendFileSync(ledger, `${line}\n`);
  return createEngineHarness({
    model: {
      async invoke({ context }) {
        note(`model ${said(context.messages)}`);
        return ROUNDS[said(context.messages)] ?? { output: 'too far' };
      },
    },
    tools: {
      describe({ name }) {
        if (name === 'ask') return { effect: 'once', gate: { wait: 'user_reply', question: 'Which?' } };
        if (name === 'ship') return { effect: 'once', gate: { wait: 'external_result' } };
        return { effect: name === 'look' ? 'idempotent' : 'once' };
      },
      async execute({ name }, { key }) {
        note(`${name} ${key}`);
        return `${name} done`;
      },
    },
  });
}

/**
 * Three agents below each other. Each notes something at its beginning (idempotent), then hands the work down; the last one pays
 * (once) when it is approved.
 */
export function delegatingAgent(ledger: string): EngineHarness {
  const note = (line: string) => appendFileSync(ledger, `${line}\n`);
  const level = (own: string, next: string, agents: Readonly<Record<string, SubAgent>> = {}) => ({
    model: {
      async invoke({ context }: { readonly context: { readonly messages: readonly Message[] } }) {
        note(`model ${own} ${said(context.messages)}`);
        return said(context.messages) === 0 ? { toolRequests: [call('note'), call(next)] } : { output: `${own} done` };
      },
    },
    tools: {
      describe({ name }: { readonly name: string }) {
        const agent = agents[name];
        if (agent) return { agent };
        if (name === 'pay') return { effect: 'once', gate: { wait: 'approval_resolution', question: 'Pay?' } } as const;
        return { effect: 'idempotent' } as const;
      },
      async execute({ name }: { readonly name: string }, { key }: { readonly key: string }) {
        note(`${name} ${key}`);
        return `${name} done`;
      },
    },
    begin: (): Message[] => [{ role: 'user', parts: [{ kind: 'text', value: own }] }],
  });
  return createEngineHarness(
    level('root', 'desk', { desk: level('desk', 'teller', { teller: level('teller', 'pay') }) }),
  );
}

export const linesOf = (ledger: string, start: string): string[] =>
  readFileSync(ledger, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(start));
