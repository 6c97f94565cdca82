/** A tool of the SDK and one call of it: arguments checked as the SDK checks them, and run with the options that it gives. */
import {
  asSchema,
  InvalidToolInputError,
  NoSuchToolError,
  parsePartialJson,
  type ToolExecutionOptions,
  type ToolSet,
} from 'ai';
import type { Json } from '../json.ts';
import { toJson } from './messages.ts';

export type AnyTool = ToolSet[string];
/** A call that may be run: there is such a tool, and it takes these arguments. */
export interface ParsedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly tool: AnyTool;
  readonly input: unknown;
}

/** `arguments` as the model or a person wrote them. Throws the SDK's own errors, whose messages are for the model. */
export async function parseCall(
  tools: ToolSet,
  call: { readonly id: string; readonly name: string; readonly arguments?: Json | undefined },
): Promise<ParsedCall> {
  const { id: toolCallId, name: toolName } = call;
  const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
  if (!tool) throw new NoSuchToolError({ toolName, availableTools: Object.keys(tools) });
  const value = typeof call.arguments === 'string' ? await parsed(toolName, call.arguments) : (call.arguments ?? {});
  const input = await checked(tool, toolName, value);
  return { toolCallId, toolName, tool, input };
}

async function parsed(toolName: string, text: string): Promise<unknown> {
  if (text.trim() === '') return {};
  const { value, state } = await parsePartialJson(text);
  if (state === 'successful-parse') return value;
  throw new InvalidToolInputError({ toolName, toolInput: text, cause: new Error('it is not JSON') });
}

async function checked(tool: AnyTool, toolName: string, value: unknown): Promise<unknown> {
  const result = await asSchema(tool.inputSchema).validate?.(value);
  if (result?.success === false)
    throw new InvalidToolInputError({ toolName, toolInput: JSON.stringify(value), cause: result.error });
  return result ? result.value : value;
}

/** Whether a person must agree before the call runs. */
export async function needsApproval(
  { tool, input, toolCallId }: ParsedCall,
  options: Pick<ToolExecutionOptions, 'messages' | 'experimental_context'>,
): Promise<boolean> {
  const { needsApproval: needs } = tool;
  return typeof needs === 'function' ? needs(input, { toolCallId, ...options }) : needs === true;
}

export type RunOptions = Omit<ToolExecutionOptions, 'toolCallId'> & {
  readonly key: string;
  /** Called with what a tool yields before its result. */
  readonly onPreliminary?: (output: unknown) => Promise<void>;
};

/** Runs the call; what it gives is kept, so it must be JSON. */
export async function runCall(
  call: ParsedCall,
  { key, onPreliminary, ...options }: RunOptions,
): Promise<Json | undefined> {
  const { tool, toolCallId, toolName, input } = call;
  if (!tool.execute) throw new Error(`${toolName} cannot be run here: it has no execute.`);
  const output = await lastOf(
    tool.execute(input, { toolCallId, ...options, [KEY]: key } as ToolExecutionOptions),
    onPreliminary,
  );
  try {
    return toJson(output);
  } catch (cause) {
    throw new Error(`${toolName} ran, but what it returned cannot be kept as JSON.`, { cause });
  }
}

/** A tool may yield several outputs; the last one is its result. */
async function lastOf(output: unknown, onPreliminary?: (output: unknown) => Promise<void>): Promise<unknown> {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const one of output as AsyncIterable<unknown>) {
    last = one;
    await onPreliminary?.(one);
  }
  return last;
}

const KEY = 'idempotencyKey';

/**
 * For a tool's `execute`: what to pass on to whoever can recognise a repeat (for example as `Idempotency-Key`). The same whenever
 * this call is run again, also after a crash; outside our harnesses it is the call's id.
 */
export function idempotencyKey(options: ToolExecutionOptions): string {
  return KEY in options && typeof options[KEY] === 'string' ? options[KEY] : options.toolCallId;
}
