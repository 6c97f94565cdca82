/**
 * A small support agent: a loop of model and tools over a transcript, as most agents are.
 *
 * A tool may answer at once, or say that it has to wait: for the customer, for a manager, for the carrier, for a colleague,
 * or for a later moment. Then the turn stops with a resumable result whose state is the transcript; the process may end.
 * The resumed turn puts the answer where the tool's result belongs and goes on with the same loop.
 */
import type { Harness, HarnessResultInput, ResumeTrigger } from '../../src/index.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, string>>;
}
export type Message =
  | { readonly role: 'customer' | 'agent'; readonly text: string }
  | { readonly role: 'agent'; readonly call: ToolCall }
  | { readonly role: 'tool'; readonly callId: string; readonly result: unknown };
export type Transcript = readonly Message[];

/** The next thing to do, given everything so far. */
export type Model = (transcript: Transcript) => { readonly say: string } | { readonly call: Omit<ToolCall, 'id'> };

/** What ends the turn instead of a result: an outcome, and what the state says besides the transcript. */
export interface Wait {
  readonly waits: 'needs_clarification' | 'awaiting_approval' | 'deferred';
  /** Shown to whoever must answer. */
  readonly question: string;
  readonly until?: Readonly<Record<string, unknown>>;
}
export interface Tool {
  /** The result, or what to wait for. */
  run(call: ToolCall, key: string): Promise<unknown | Wait>;
  /** Runs when an approval came; the effect happens here. Without it the answer itself is the result. */
  approved?(call: ToolCall, key: string): Promise<unknown>;
}
export type Tools = Readonly<Record<string, Tool>>;

export interface Agent {
  /** The first turn of a conversation; `conversation` makes the effects of its calls unique. */
  takeTurn(conversation: string, customerText: string): Promise<HarnessResultInput>;
  readonly harness: Harness;
}

const MAX_STEPS = 20;

interface State {
  readonly conversation: string;
  readonly transcript: Transcript;
}

export function createAgent(model: Model, tools: Tools): Agent {
  return {
    takeTurn: (conversation, text) => loop(model, tools, { conversation, transcript: [{ role: 'customer', text }] }),
    harness: {
      async runResumedTurn({ continuation, trigger, signal }) {
        signal.throwIfAborted();
        // Only these two go on: what the last pause waited for is no part of the next one.
        const { conversation, transcript } = continuation.continuation.state as State;
        const state = { conversation, transcript };
        const result = await resultOf(tools, state, trigger);
        const answered: Message = { role: 'tool', callId: waitingCall(state).id, result };
        return loop(model, tools, { conversation, transcript: [...transcript, answered] });
      },
    },
  };
}

/** Model, tool, model, tool, until the model speaks or a tool has to wait. */
async function loop(model: Model, tools: Tools, state: State): Promise<HarnessResultInput> {
  const transcript = [...state.transcript];
  for (let step = 0; step < MAX_STEPS; step++) {
    const next = model(transcript);
    if ('say' in next) return { outcome: 'completed', assistantMessage: { text: next.say } };
    const call: ToolCall = { id: `call_${transcript.length}_${next.call.name}`, ...next.call };
    transcript.push({ role: 'agent', call });
    const result = await toolOf(tools, call).run(call, keyOf(state, call));
    if (isWait(result)) return paused(result, call, { ...state, transcript });
    transcript.push({ role: 'tool', callId: call.id, result });
  }
  return { outcome: 'failed', assistantMessage: { text: `No answer after ${MAX_STEPS} steps.` } };
}

function paused({ waits, question, until }: Wait, call: ToolCall, state: State): HarnessResultInput {
  const request = waits === 'awaiting_approval' ? { request: { ...call } } : {};
  return { outcome: waits, continuation: { state: { ...state, question, ...request, ...until } } };
}

/** What the waiting call came to, as its tool's result. */
async function resultOf(tools: Tools, state: State, trigger: ResumeTrigger): Promise<unknown> {
  const call = waitingCall(state);
  switch (trigger.type) {
    case 'user_reply':
      return { reply: trigger.message.text };
    case 'approval_resolution': {
      const { decision, reason } = trigger;
      if (decision === 'denied') return { denied: true, ...(reason && { reason }) };
      return toolOf(tools, call).approved?.(call, keyOf(state, call));
    }
    case 'external_result':
      return trigger.payload ?? {};
    case 'agent_reply':
      return { performative: trigger.performative, content: trigger.content ?? null };
    case 'scheduled_wake':
      return { woke: true };
    case 'no_answer':
      return { noAnswerInTime: true };
    default:
      return trigger satisfies never;
  }
}

/** The last call of the transcript has no result yet: that is why the turn stopped. */
function waitingCall({ transcript }: State): ToolCall {
  const last = transcript.at(-1);
  if (last?.role === 'agent' && 'call' in last) return last.call;
  throw new Error('the stored transcript does not end with a call that waits');
}

function toolOf(tools: Tools, call: ToolCall): Tool {
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
  if (!tool) throw new Error(`there is no tool ${call.name}`);
  return tool;
}

/** One call of one conversation: what a payment provider would be given as its idempotency key. */
function keyOf({ conversation }: State, { id }: ToolCall): string {
  return `${conversation}/${id}`;
}

function isWait(result: unknown): result is Wait {
  return typeof result === 'object' && result !== null && 'waits' in result;
}
