/** JSON bodies: of the right type, not too large, not too slow, nothing in them that JSON itself would not say. */
import type { Context } from 'hono';
import { formatPath, jsonFault, MAX_INPUT_BYTES } from '../json.ts';
import { HttpProblem, refused } from './problem.ts';

/** JSON may escape what is counted unescaped; whether an input is too large is decided by the client. */
const MAX_BODY_BYTES = 2 * MAX_INPUT_BYTES;

export interface JsonBody {
  readonly text: string;
  readonly value: Record<string, unknown>;
}

/** Reads what a form of a page sends; throws a problem, and then nothing has happened. */
export async function readForm(c: Context, timeoutMs: number): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new HttpProblem('unsupported_media_type', 'send the form as application/x-www-form-urlencoded');
  return new URLSearchParams(decode(await read(c.req.raw, timeoutMs)));
}

/** Reads the body of a request; throws a problem, and then nothing has happened. */
export async function readJson(c: Context, timeoutMs: number): Promise<JsonBody> {
  if (!/^application\/json *(;|$)/i.test(c.req.header('content-type') ?? '') || c.req.header('content-encoding'))
    throw new HttpProblem('unsupported_media_type', 'send the body as application/json, not encoded otherwise');
  const text = decode(await read(c.req.raw, timeoutMs));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HttpProblem('malformed_json', 'the body must be one JSON value');
  }
  const fault = jsonFault(value, false) ?? prototypeFault(value);
  if (fault) throw invalid(formatPath(fault.path.slice(0, 10)), fault.message);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('', 'the body must be an object');
  return { text, value: value as Record<string, unknown> };
}

function invalid(path: string, message: string): HttpProblem {
  return refused({ code: 'invalid_input', message: path ? `${path} ${message}` : message, ...(path && { path }) });
}

async function read(request: Request, timeoutMs: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const reader = request.body?.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooSlow(timeoutMs)), timeoutMs);
  });
  try {
    while (reader) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) break;
      bytes += value.byteLength;
      if (bytes > MAX_BODY_BYTES) throw tooLarge();
      chunks.push(value);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof HttpProblem) throw error;
    throw new HttpProblem('malformed_json', 'the body ended early');
  } finally {
    clearTimeout(timer);
    late.catch(() => undefined);
  }
}

// What is left of the body is not read: the connection cannot be used for another request.
const CLOSE = { headers: { connection: 'close' } };
const tooLarge = () => new HttpProblem('too_large', `the body may have at most ${MAX_BODY_BYTES} bytes`, CLOSE);
const tooSlow = (ms: number) => new HttpProblem('request_timeout', `the body did not arrive within ${ms} ms`, CLOSE);

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new HttpProblem('malformed_json', 'the body must be UTF-8');
  }
}

/** A member that assignment would take for the prototype. */
function prototypeFault(value: unknown, path: Array<string | number> = []): ReturnType<typeof jsonFault> {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__') return { path: [...path, key], message: 'is no name for a member here' };
    const fault = prototypeFault(member, [...path, Array.isArray(value) ? Number(key) : key]);
    if (fault) return fault;
  }
  return undefined;
}
