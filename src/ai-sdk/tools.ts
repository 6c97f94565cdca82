/** Tools of the SDK as the engine's tools. */
import type { TextStreamPart, ToolExecutionOptions, ToolSet } from 'ai';
import type { ConversationPort, Gate, ModelToolRequest, ModelToolResult, ToolPort } from '../engine/index.ts';
import type { Json } from '../json.ts';
import { toEngine, toModel } from './messages.ts';
import { editedOutput, errorOutput, type Output, successOutput } from './outputs.ts';
import type { PartListener, StepSettings } from './settings.ts';
import { needsApproval, type ParsedCall, parseCall, runCall } from './tool-call.ts';

type Settings = StepSettings<ToolSet>;

/**
 * What cannot be run (no such tool, arguments that its schema refuses) asks nobody and runs nothing: the model is told. A tool that
 * needs approval pauses the turn, and one without `execute` waits for a result from outside.
 */
export function toolPort(settings: Settings, onPart?: PartListener): ToolPort {
  const tools = activeTools(settings);
  const contextOf = (messages: Parameters<ToolPort['execute']>[1]['messages']) => ({
    messages: messages.filter(({ role }) => role !== 'system').map(toModel),
    experimental_context: settings.experimental_context,
  });
  return {
    async describe(request, { messages }) {
      const call = await parseCall(tools, request).catch(() => undefined);
      if (!call) return { effect: 'idempotent' };
      const effect = settings.idempotentTools?.includes(call.toolName) ? 'idempotent' : 'once';
      const wait = await waitOf(call, contextOf(messages));
      return { effect, ...(wait && { gate: gateOf(wait, question(settings, call)) }) };
    },
    async execute(request, { signal, key, messages }) {
      const call = await parseCall(tools, request);
      return heard(call, onPart, (onPreliminary) =>
        runCall(call, {
          ...contextOf(messages),
          abortSignal: signal,
          key,
          ...(onPreliminary && { onPreliminary }),
        }),
      );
    },
  };
}

function activeTools({ tools = {}, activeTools: names }: Pick<Settings, 'tools' | 'activeTools'>): ToolSet {
  return names ? Object.fromEntries(Object.entries(tools).filter(([name]) => names.includes(name))) : tools;
}

async function waitOf(
  call: ParsedCall,
  options: Pick<ToolExecutionOptions, 'messages' | 'experimental_context'>,
): Promise<'external_result' | 'approval_resolution' | undefined> {
  if (!call.tool.execute) return 'external_result';
  return (await needsApproval(call, options)) ? 'approval_resolution' : undefined;
}

function question(settings: Settings, { toolCallId, toolName, input }: ParsedCall): string | undefined {
  return settings.question?.({ toolCallId, toolName, input });
}

function gateOf(wait: 'external_result' | 'approval_resolution', question: string | undefined): Gate {
  return { wait, ...(question !== undefined && { question }) };
}

/** Runs a call and tells the listener what came of it, as `streamText` does. */
async function heard(
  { toolCallId, toolName, input, tool }: ParsedCall,
  onPart: PartListener | undefined,
  run: (onPreliminary?: (output: unknown) => Promise<void>) => Promise<Json | undefined>,
): Promise<Json | undefined> {
  if (!onPart) return run();
  const tell = (part: object) =>
    onPart({
      toolCallId,
      toolName,
      input,
      ...(tool.type === 'dynamic' && { dynamic: true }),
      ...part,
    } as TextStreamPart<ToolSet>);
  try {
    const output = await run((yielded) => tell({ type: 'tool-result', output: yielded, preliminary: true }));
    await tell({ type: 'tool-result', output });
    return output;
  } catch (error) {
    await tell({ type: 'tool-error', error });
    throw error;
  }
}

/** Results as the tool messages that the SDK's providers expect, one for each call in the model's order. */
export function conversationPort(settings: Pick<Settings, 'tools' | 'activeTools'>): ConversationPort {
  const tools = activeTools(settings);
  return {
    async format({ assistantMessages = [], toolRequests = [] }, results) {
      const told = results.map(async (result) => {
        const request = toolRequests.find(({ id }) => id === result.requestId);
        const output = await outputOf(tools, request, result);
        const { requestId: toolCallId, name: toolName } = result;
        const message = toEngine({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] });
        return { ...message, metadata: { tool_call_id: toolCallId } };
      });
      return [...assistantMessages, ...(await Promise.all(told))];
    },
  };
}

async function outputOf(
  tools: ToolSet,
  request: ModelToolRequest | undefined,
  result: ModelToolResult,
): Promise<Output> {
  const { requestId: id, name, errorKind, metadata } = result;
  const edited = metadata?.editedArguments;
  const plain = await plainOutput(tools, { id, name, arguments: edited ?? request?.arguments }, result);
  const keepsForm = edited === undefined || errorKind === 'permission_denied';
  return keepsForm ? plain : editedOutput(plain, typeof edited === 'string' ? edited : JSON.stringify(edited));
}

type Called = Parameters<typeof parseCall>[1];
async function plainOutput(
  tools: ToolSet,
  called: Called,
  { outcome, output, errorKind }: ModelToolResult,
): Promise<Output> {
  if (outcome === 'success')
    return successOutput(await parseCall(tools, called).catch(() => undefined), called.id, output);
  if (errorKind === 'permission_denied')
    return { type: 'execution-denied', ...(typeof output === 'string' && { reason: output }) };
  return errorOutput(output);
}
