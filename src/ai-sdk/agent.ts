/**
 * A whole agent of the AI SDK as a harness: it runs its own loop (`generateText`, `streamText`, a `ToolLoopAgent`), and its messages are
 * the state of the pause. The model and tools that it is given keep what they did in the journal of the turn.
 */
import type { LanguageModel, ModelMessage, ToolSet } from 'ai';
import { isContinuationError } from '../errors.ts';
import type { Harness, ResumedTurn } from '../ports.ts';
import type { HarnessResultInput } from '../schema.ts';
import { type AgentJournal, journalModel } from './agent-model.ts';
import { type AgentState, answered, openCalls, partsOf, pauseOf, readAgentState } from './agent-state.ts';
import { journalTools } from './agent-tools.ts';
import { modelFailure } from './failure.ts';
import { type AiSdkHarness, checkTools, type FirstTurnInput, given, type TurnPlace } from './harness.ts';
import { toJson } from './messages.ts';
import type { Question } from './settings.ts';

type Eventually<T> = T | PromiseLike<T>;
/** What `generateText`, `streamText`, and an agent's `generate` and `stream` return. */
export interface AgentResult {
  readonly response: Eventually<{ readonly messages: readonly ModelMessage[] }>;
  readonly text: Eventually<string>;
}

export interface AgentRun<TOOLS extends ToolSet> {
  /** Those of the options, to be used in their place: what they do is journalled. */
  readonly model: LanguageModel;
  readonly tools: TOOLS;
  readonly messages: ModelMessage[];
  readonly abortSignal: AbortSignal;
  readonly turn: TurnPlace;
}

export interface AiSdkAgentHarnessOptions<TOOLS extends ToolSet> {
  readonly model: LanguageModel;
  readonly tools: TOOLS;
  /** Runs the agent. After a crash it is called again, and gets to where it was by the journal: it must ask its model the same again. */
  readonly run: (run: AgentRun<TOOLS>) => Eventually<AgentResult>;
  /** Tools that may be run again with the same `idempotencyKey`. A run of any other that a crash cut off is asked about (C8). */
  readonly idempotentTools?: ReadonlyArray<keyof NoInfer<TOOLS>>;
  /** What the person who must approve a call, or answer it, is asked. Default: the tool's name. */
  readonly question?: Question;
}

/** Throws `invalid_configuration` for a tool that could run elsewhere before anybody approves it. */
export function createAiSdkAgentHarness<TOOLS extends ToolSet>(options: AiSdkAgentHarnessOptions<TOOLS>): AiSdkHarness {
  checkTools(options.tools);
  const agent = options as unknown as Agent;
  return {
    replayable: true,
    async runFirstTurn(first: FirstTurnInput, { signal = new AbortController().signal } = {}) {
      const { turnId, sessionId = turnId } = first;
      const effect: ResumedTurn['effect'] = async (key, run) => run(`${turnId}:${key}`);
      return runAgent(
        agent,
        { messages: [...given(first)] },
        { effect, signal, again: 0, place: { turnId, sessionId, attempt: 1 } },
      );
    },
    runResumedTurn: (turn) => resumeAgent(agent, turn),
  };
}

type Agent = AiSdkAgentHarnessOptions<ToolSet>;
interface Around extends Pick<ResumedTurn, 'effect' | 'signal'>, Pick<AgentJournal, 'again'> {
  readonly place: TurnPlace;
}

async function resumeAgent(agent: Agent, turn: Parameters<Harness['runResumedTurn']>[0]): Promise<HarnessResultInput> {
  const { effect, signal, attempt, resumedTurnId: turnId, continuation } = turn;
  const { id: continuationId, sessionId } = continuation;
  const state = await answered(readAgentState(continuation.continuation.state), turn, agent.tools);
  if (state.open.length > 0) return pauseOf(state, agent.question);
  const place = { turnId, continuationId, attempt, ...(sessionId && { sessionId }) };
  const messages: ModelMessage[] = [...state.messages, { role: 'tool', content: state.answers }];
  return runAgent(
    agent,
    { messages, edits: state.edits },
    { effect, signal, again: turn.journal.didNotHappenUpTo, place },
  );
}

async function runAgent(
  agent: Agent,
  { messages, edits = {} }: { messages: ModelMessage[]; edits?: AgentState['edits'] },
  { effect, signal, again, place }: Around,
): Promise<HarnessResultInput> {
  const stopped = new AbortController();
  const texts = new Map<string, string>();
  const journal: AgentJournal = { effect, again, texts, stopped, modelError: undefined };
  const approved = new Set(approvedIn(messages));
  const end = await ended(async () => {
    const result = await agent.run({
      model: journalModel(agent.model, journal),
      tools: journalTools(agent.tools, journal, { idempotentTools: agent.idempotentTools ?? [], approved, edits }),
      messages,
      abortSignal: AbortSignal.any([signal, stopped.signal]),
      turn: place,
    });
    return { said: (await result.response).messages, text: await result.text };
  });
  // Whatever the agent made of it: an effect that is unknown, a stop, a model that could not be asked.
  if (isContinuationError(stopped.signal.reason, 'outcome_unknown')) throw stopped.signal.reason;
  signal.throwIfAborted();
  stopped.signal.throwIfAborted();
  if (journal.modelError !== undefined) throw modelFailure(journal.modelError);
  if ('error' in end) throw modelFailure(end.error);
  const all = toJson([...messages, ...end.said]) as unknown as ModelMessage[];
  const open = openCalls(all, texts);
  const cutOff = open.find(({ toolName, approvalId }) => approvalId === undefined && agent.tools[toolName]?.execute);
  if (cutOff) throw new Error(`the agent stopped before it ran ${cutOff.toolName} (${cutOff.toolCallId})`);
  if (open.length > 0) return pauseOf({ messages: all, open, answers: [], edits: {} }, agent.question);
  return { outcome: 'completed', assistantMessage: { text: end.text } };
}

async function ended<T extends object>(run: () => Promise<T>): Promise<T | { readonly error: unknown }> {
  try {
    return await run();
  } catch (error) {
    return { error };
  }
}

function approvedIn(messages: readonly ModelMessage[]): string[] {
  const parts = partsOf(messages);
  const yes = new Set(
    parts.flatMap((part) => (part.type === 'tool-approval-response' && part.approved ? part.approvalId : [])),
  );
  return parts.flatMap((part) =>
    part.type === 'tool-approval-request' && yes.has(part.approvalId) ? part.toolCallId : [],
  );
}
