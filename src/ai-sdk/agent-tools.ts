/** Tools of the SDK whose every run is an effect of the turn: one that ran is not run again, one that may have is asked about (C7, C8). */
import type { ToolExecutionOptions, ToolSet } from 'ai';
import { isContinuationError, OutcomeUnknown } from '../errors.ts';
import type { Json } from '../json.ts';
import type { AgentJournal } from './agent-model.ts';
import { editedOutput, editNote, successOutput } from './outputs.ts';
import { type AnyTool, needsApproval, type ParsedCall, parseCall, runCall } from './tool-call.ts';

export interface AgentCalls {
  readonly idempotentTools: readonly PropertyKey[];
  /** Calls that a person has approved. */
  readonly approved: ReadonlySet<string>;
  /** Arguments that a person put in the place of the model's, by call id. */
  readonly edits: Readonly<Record<string, string>>;
}

/** Tools that run once for a call, whatever becomes of the worker. */
export function journalTools(tools: ToolSet, journal: AgentJournal, calls: AgentCalls): ToolSet {
  return Object.fromEntries(Object.keys(tools).map((name) => [name, journalTool(name, tools, journal, calls)]));
}

function journalTool(name: string, tools: ToolSet, journal: AgentJournal, calls: AgentCalls): AnyTool {
  const tool = tools[name] as AnyTool;
  if (!tool.execute) return tool;
  const { edits } = calls;
  const callOf = async (toolCallId: string, input: unknown): Promise<ParsedCall> => {
    const edit = edits[toolCallId];
    if (edit === undefined) return { toolCallId, toolName: name, tool, input };
    return parseCall(tools, { id: toolCallId, name, arguments: edit });
  };
  const idempotent = calls.idempotentTools.includes(name);
  return {
    ...tool,
    async execute(input: unknown, { toolCallId, ...options }: ToolExecutionOptions) {
      const run = async (key: string) => runCall(await callOf(toolCallId, input), { ...options, key });
      const effect = (key: string) => outcomeOf(() => run(key), options, idempotent);
      const outcome = await journal.effect(`tool:${toolCallId}`, effect, { idempotent }).catch((error: unknown) => {
        // Not the model's to know: it would go on as if nothing had happened.
        journal.stopped.abort(error);
        throw error;
      });
      if (!('error' in outcome)) return outcome.output;
      const edit = edits[toolCallId];
      throw new Error(edit === undefined ? outcome.error : `${editNote(edit)}\n${outcome.error}`);
    },
    // The SDK asks again before it runs the call; what a person approved stays approved.
    async needsApproval(input: unknown, { toolCallId, ...options }: ToolExecutionOptions) {
      return calls.approved.has(toolCallId) || needsApproval({ toolCallId, toolName: name, tool, input }, options);
    },
    async toModelOutput({
      toolCallId,
      input,
      output,
    }: {
      toolCallId: string;
      input: unknown;
      output: Json | undefined;
    }) {
      const told = await successOutput(await callOf(toolCallId, input), toolCallId, output);
      const edit = edits[toolCallId];
      return edit === undefined ? told : editedOutput(told, edit);
    },
  } as AnyTool;
}

type Outcome = { readonly output?: Json } | { readonly error: string };

/** An error of the tool is an end that is known, unless the tool says otherwise, or was told to stop in the middle. */
async function outcomeOf(
  run: () => Promise<Json | undefined>,
  { abortSignal }: Pick<ToolExecutionOptions, 'abortSignal'>,
  idempotent: boolean,
): Promise<Outcome> {
  try {
    const output = await run();
    return output === undefined ? {} : { output };
  } catch (error) {
    if (isContinuationError(error, 'outcome_unknown')) throw error;
    if (!abortSignal?.aborted) return { error: error instanceof Error ? error.message : String(error) };
    throw idempotent ? error : new OutcomeUnknown('A tool was told to stop while it ran.', { cause: error });
  }
}
