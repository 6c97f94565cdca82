/** What a model is told of a call, in the form that the SDK's providers expect. */
import type { ToolResultPart } from 'ai';
import type { Json } from '../json.ts';
import type { ParsedCall } from './tool-call.ts';

export type Output = ToolResultPart['output'];

/** As the SDK does: by the tool's `toModelOutput`, else text as text and anything else as JSON. */
export async function successOutput(
  call: ParsedCall | undefined,
  toolCallId: string,
  output: Json | undefined,
): Promise<Output> {
  const toModelOutput = call?.tool.toModelOutput;
  if (toModelOutput) return toModelOutput({ toolCallId, input: call.input, output });
  return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output ?? null };
}

export function errorOutput(error: Json | undefined): Output {
  return typeof error === 'string' || error === undefined
    ? { type: 'error-text', value: error ?? '' }
    : { type: 'error-json', value: error };
}

export const editNote = (text: string) => `A person changed the arguments of this call; it ran with ${text}`;

/** A person let the call run with other arguments: the model, which knows only its own, is told with the result. */
export function editedOutput(output: Output, text: string): Output {
  const note = editNote(text);
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { ...output, value: `${note}\n${output.value}` };
    case 'json':
      return { type: 'text', value: `${note}\n${JSON.stringify(output.value)}` };
    case 'error-json':
      return { type: 'error-text', value: `${note}\n${JSON.stringify(output.value)}` };
    case 'content':
      return { ...output, value: [{ type: 'text', text: note }, ...output.value] };
    default:
      return output;
  }
}
