/** `Idempotency-Key`: the same request again is answered as the first was; the name serves no other. */
import { createHash } from 'node:crypto';
import type { NamedRequest, Requests } from '../access-ports.ts';
import type { Caller } from '../caller.ts';
import { id } from '../schema/primitives.ts';
import { HttpProblem, refused } from './problem.ts';

/** Longer than the longest wait for an answer. */
const LEASE_MS = 11 * 60_000;
const KEEP_MS = 24 * 3_600_000;
const REPLAYED = 'idempotency-replayed';
const KEPT_HEADERS = ['content-type', 'location'];

export interface Named {
  readonly name: string;
  readonly caller: Caller;
  /** Method, path with query, and body. */
  readonly parts: readonly string[];
  readonly replay: boolean;
}

/** Runs `handle` once for a name, or answers what it answered; problems that may pass (5xx, 429) free the name. */
export async function namedRequest(
  requests: Requests,
  { name, caller, parts, replay }: Named,
  handle: () => Promise<Response>,
): Promise<Response> {
  if (!id.safeParse(name).success || !/^[\x21-\x7e]+$/.test(name))
    throw refused({ code: 'invalid_input', message: 'Idempotency-Key must be 1 to 128 visible ASCII characters' });
  const request: NamedRequest = {
    owner: JSON.stringify([caller.channel, caller.scope, caller.subject]),
    key: name,
    digest: createHash('sha256').update(JSON.stringify(parts)).digest('hex'),
  };
  const claimed = await requests.claimRequest(request, { leaseMs: LEASE_MS, keepMs: KEEP_MS });
  switch (claimed.found) {
    case 'other':
      throw new HttpProblem('idempotency_conflict', `Idempotency-Key ${name} was used for another request`);
    case 'running':
      throw new HttpProblem('idempotency_in_progress', 'try again when it has been answered', {
        headers: { 'retry-after': '1' },
      });
    case 'answered':
      return replay ? replayed(claimed.answer) : handle();
    case 'fresh':
      return first(requests, request, replay, handle);
    default:
      return claimed satisfies never;
  }
}

async function first(
  requests: Requests,
  request: NamedRequest,
  replay: boolean,
  handle: () => Promise<Response>,
): Promise<Response> {
  let response: Response | undefined;
  try {
    response = await handle();
    return response;
  } finally {
    await keep(requests, request, replay, response?.clone());
  }
}

async function keep(requests: Requests, request: NamedRequest, replay: boolean, response?: Response): Promise<void> {
  if (!response || response.status >= 500 || response.status === 429) return requests.answerRequest(request);
  const kept = KEPT_HEADERS.flatMap((header) => {
    const value = response.headers.get(header);
    return value === null ? [] : [[header, value] as const];
  });
  const body = replay ? await response.text() : '';
  await requests.answerRequest(request, { status: response.status, headers: Object.fromEntries(kept), body });
}

function replayed({
  status,
  headers,
  body,
}: {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}) {
  return new Response(body === '' ? null : body, { status, headers: { ...headers, [REPLAYED]: 'true' } });
}
