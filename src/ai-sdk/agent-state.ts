/** A whole agent that stopped: its messages, the calls that wait, and what was already decided about their siblings. */
import { isDeepStrictEqual } from 'node:util';
import { type ModelMessage, modelMessageSchema, type ToolModelMessage, type ToolSet } from 'ai';
import { z } from 'zod';
import { toldError } from '../decision.ts';
import { textKind, textOfState } from '../engine/text-kind.ts';
import { ContinuationError } from '../errors.ts';
import { formatPath, type Json } from '../json.ts';
import type { ResumedTurn } from '../ports.ts';
import type { HarnessResultInput } from '../schema.ts';
import { errorOutput, successOutput } from './outputs.ts';
import type { Question } from './settings.ts';
import { parseCall } from './tool-call.ts';

/** Media type of the state that an agent pauses with. */
export const MESSAGES_TYPE = 'application/vnd.temporal-continuations.ai-sdk-messages+json';

const OpenCall = z.object({
  toolCallId: z.string().min(1),
  toolName: z.string().min(1),
  /** As the model wrote them. */
  arguments: z.string(),
  /** As the SDK read them. */
  input: z.unknown(),
  /** Of a call that a person must approve; any other waits for its result. */
  approvalId: z.string().optional(),
  providerExecuted: z.boolean().optional(),
});
type OpenCall = z.infer<typeof OpenCall>;

type Part = ToolModelMessage['content'][number];
const AgentState = z.object({
  messages: z.array(modelMessageSchema).min(1),
  open: z.array(OpenCall).min(1),
  /** Parts of the tool message that answers `messages`, once it is complete. */
  answers: z.array(z.custom<Part>((value) => typeof value === 'object' && value !== null && 'type' in value)),
  /** Arguments that people put in the place of the model's, by call id. */
  edits: z.record(z.string(), z.string()),
});
export type AgentState = z.infer<typeof AgentState>;

/** The stored state of a pause. Throws `record_malformed` with the path of what is wrong. */
export function readAgentState(state: unknown): AgentState {
  const text = textOfState(state, MESSAGES_TYPE, 'an agent');
  const parsed = AgentState.safeParse(JSON.parse(text));
  // What the check leaves out (a provider's own fields) stays.
  if (parsed.success) return JSON.parse(text) as AgentState;
  const [issue] = parsed.error.issues;
  const path = formatPath(issue?.path ?? []);
  throw new ContinuationError('record_malformed', `the stored agent cannot be resumed: ${path} ${issue?.message}`);
}

export const messagesKind = textKind(MESSAGES_TYPE, readAgentState);

export type AnyPart = Exclude<ModelMessage['content'], string>[number];
export function partsOf(messages: readonly ModelMessage[]): AnyPart[] {
  return messages.flatMap(({ content }): readonly AnyPart[] => (typeof content === 'string' ? [] : content));
}

/** Calls of the last answer without a result; `texts` has their arguments as the model wrote them. */
export function openCalls(messages: readonly ModelMessage[], texts: ReadonlyMap<string, string>): OpenCall[] {
  const parts = partsOf(messages);
  const done = new Set(parts.flatMap((part) => (part.type === 'tool-result' ? part.toolCallId : [])));
  const answered = new Set(parts.flatMap((part) => (part.type === 'tool-approval-response' ? part.approvalId : [])));
  return parts.flatMap((part): OpenCall[] => {
    if (part.type !== 'tool-call' || done.has(part.toolCallId)) return [];
    const { toolCallId, toolName, input, providerExecuted } = part;
    const request = parts.find((one) => one.type === 'tool-approval-request' && one.toolCallId === toolCallId);
    const approval = request?.type === 'tool-approval-request' ? request : undefined;
    const approvalId = approval?.approvalId;
    if (providerExecuted && (approvalId === undefined || answered.has(approvalId))) return [];
    // What the schema took, where it made something else of it.
    const took = approval && 'inputSchemaInput' in approval ? approval.inputSchemaInput : input;
    return [
      {
        toolCallId,
        toolName,
        arguments: verbatim(texts.get(toolCallId), took),
        input,
        ...(approvalId && { approvalId }),
        ...(providerExecuted && { providerExecuted }),
      },
    ];
  });
}

/** The model's text, if it says what will run: a call may have been repaired since. */
function verbatim(text: string | undefined, input: unknown): string {
  try {
    if (text !== undefined && isDeepStrictEqual(JSON.parse(text), input)) return text;
  } catch {
    // Repaired from what is no JSON.
  }
  return JSON.stringify(input);
}

/** One pause has one reason: results from outside are waited for first, so that what is approved runs at once. */
export function pauseOf(state: AgentState, ask: Question = () => undefined): HarnessResultInput {
  const outside = state.open.filter(({ approvalId }) => approvalId === undefined);
  const waiting = outside.length > 0 ? outside : state.open;
  const reason = outside.length > 0 ? 'external_result' : 'approval_resolution';
  const questions = waiting.flatMap(
    (call) => ask({ toolCallId: call.toolCallId, toolName: call.toolName, input: call.input }) ?? [],
  );
  return {
    outcome: reason === 'external_result' ? 'deferred' : 'awaiting_approval',
    ...(questions.length > 0 && { assistantMessage: { text: questions.join('\n') } }),
    continuation: {
      state: { text: JSON.stringify(state), mediaType: MESSAGES_TYPE },
      pending: waiting.map(({ toolCallId: id, toolName: name, arguments: given }) => ({
        id,
        name,
        arguments: given,
        reason,
      })),
    },
  };
}

/** The state after an answer: `open` is what still waits. */
export async function answered(
  state: AgentState,
  { calls }: Pick<ResumedTurn, 'calls'>,
  tools: ToolSet,
): Promise<AgentState> {
  const now: AgentState = { ...state, open: [], answers: [...state.answers], edits: { ...state.edits } };
  for (const call of state.open) {
    const decided = calls.find(({ id }) => id === call.toolCallId);
    if (!decided) now.open.push(call);
    else now.answers.push(await partOf(call, decided, tools));
    if (decided?.edited) now.edits[call.toolCallId] = decided.arguments;
  }
  return now;
}

async function partOf(call: OpenCall, decided: ResumedTurn['calls'][number], tools: ToolSet): Promise<Part> {
  const { toolCallId, toolName, approvalId, providerExecuted } = call;
  const { decision, reason, result, edited } = decided;
  const resulting = (output: Extract<Part, { type: 'tool-result' }>['output']): Part => ({
    type: 'tool-result',
    toolCallId,
    toolName,
    output,
  });
  if (decision === 'result') {
    const parsed = await parseCall(tools, { id: toolCallId, name: toolName, arguments: call.arguments }).catch(
      () => undefined,
    );
    return resulting(await successOutput(parsed, toolCallId, result));
  }
  if (approvalId === undefined) return resulting(errorOutput(errorOf(decided, toolName)));
  const approved = (decision === 'approved' || decision === 'execute') && !(providerExecuted && edited);
  // Nobody answered: that is told as an error, never as a denial, where we and not the provider give the result.
  if (decision === 'error' && !providerExecuted) return resulting(errorOutput(errorOf(decided, toolName)));
  const why = edited && providerExecuted ? 'a person wants other arguments, which cannot be changed here' : reason;
  return {
    type: 'tool-approval-response',
    approvalId,
    approved,
    ...(why !== undefined && { reason: why }),
    ...(providerExecuted && { providerExecuted }),
  };
}

function errorOf(decided: ResumedTurn['calls'][number], toolName: string): Json {
  return decided.decision === 'error' ? toldError(decided) : `${toolName} cannot be run here: it has no execute.`;
}
