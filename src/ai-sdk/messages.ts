/** The SDK's messages in the engine's form and back, without a loss: what a provider signed goes back as it came. */
import type { ModelMessage } from 'ai';
import type { Message } from '../engine/index.ts';
import type { Json } from '../json.ts';

type Content = Exclude<ModelMessage['content'], string>;
type Options = NonNullable<ModelMessage['providerOptions']>;

/** A text is a part with that text as its value; any other part of the SDK is the value of one of its kind. */
export function toEngine(message: ModelMessage): Message {
  const { role, content, providerOptions } = toJson(message) as unknown as ModelMessage;
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  return {
    role,
    parts: parts.map((part) => {
      if (part.type !== 'text') {
        const { type, ...value } = part;
        return { kind: type, value };
      }
      const { text, providerOptions: options } = part;
      return { kind: 'text', value: text, ...(options && { providerOptions: options }) };
    }),
    ...(providerOptions && { metadata: { providerOptions: providerOptions as Json } }),
  };
}

export function toModel({ role, parts, metadata }: Message): ModelMessage {
  const providerOptions = metadata?.providerOptions as Options | undefined;
  const options = providerOptions ? { providerOptions } : {};
  if (role === 'system' || role === 'developer')
    return { role: 'system', content: parts.map(({ value }) => String(value)).join(''), ...options };
  const content = parts.map(({ kind, value, ...rest }) =>
    kind === 'text' ? { type: kind, text: value, ...rest } : { type: kind, ...(value as object) },
  );
  return { role, content: content as Content, ...options } as ModelMessage;
}

/** A value as JSON: bytes become base64 and addresses text, as the SDK takes both; what JSON has not is left out. */
export function toJson(value: unknown): Json | undefined {
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, plain) {
    const held = this[key];
    if (held instanceof Uint8Array)
      return Buffer.from(held.buffer, held.byteOffset, held.byteLength).toString('base64');
    return held instanceof ArrayBuffer ? Buffer.from(held).toString('base64') : plain;
  });
  return text === undefined ? undefined : (JSON.parse(text) as Json);
}
