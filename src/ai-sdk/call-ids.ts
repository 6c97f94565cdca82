/** Ids of calls that are used once: some providers number the calls of each answer anew, and what ran is known by its id (C7). */
import type { LanguageModelMiddleware } from 'ai';

type Prompt = Parameters<NonNullable<LanguageModelMiddleware['wrapGenerate']>>[0]['params']['prompt'];
interface AnyPart {
  readonly type: string;
  readonly id?: string;
  readonly toolCallId?: string;
}

/** Gives a call whose id an earlier one has another id: the same one whenever the same is asked. */
export const uniqueCallIds: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  async wrapGenerate({ doGenerate, params }) {
    const rename = renaming(params.prompt);
    const { content, ...result } = await doGenerate();
    return { ...result, content: content.map(rename) };
  },
  async wrapStream({ doStream, params }) {
    const rename = renaming(params.prompt);
    const { stream, ...result } = await doStream();
    const renamed = new TransformStream({ transform: (part, controller) => controller.enqueue(rename(part)) });
    return { ...result, stream: stream.pipeThrough(renamed) };
  },
};

function renaming(prompt: Prompt): <P extends AnyPart>(part: P) => P {
  const used = new Set(prompt.flatMap(callIdsOf));
  /** Ids of this answer. */
  const ids = new Map<string, string>();
  const called = new Set<string>();
  return (part) => {
    const streamed = part.type.startsWith('tool-input-');
    const id = streamed ? part.id : part.toolCallId;
    if (id === undefined) return part;
    const begins = part.type === 'tool-call' || part.type === 'tool-input-start';
    if (begins && !ids.has(id)) ids.set(id, unused(id, used));
    if (part.type === 'tool-call') {
      if (called.has(id)) throw new Error(`the model made two calls with the id ${id}`);
      called.add(id);
    }
    // A result may belong to a call of an earlier answer.
    const now = ids.get(id) ?? id;
    return { ...part, ...(streamed ? { id: now } : { toolCallId: now }) };
  };
}

function callIdsOf(message: Prompt[number]): string[] {
  if (message.role !== 'assistant') return [];
  return message.content.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : []));
}

function unused(id: string, used: ReadonlySet<string>): string {
  let now = id;
  for (let n = 2; used.has(now); n++) now = `${id}_${n}`;
  return now;
}
