/** The one way into an operation: who, how often, may they, what do they say, have they said it before. */
import type { Context } from 'hono';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { z } from 'zod';
import type { Caller } from '../caller.ts';
import { parseInput } from '../parse.ts';
import { id } from '../schema/primitives.ts';
import { ContinuationId } from '../schema.ts';
import { bearerOf } from './access.ts';
import type { HttpOptions } from './app.ts';
import { type JsonBody, readJson } from './body.ts';
import type { Refusals } from './metrics.ts';
import { namedRequest } from './named.ts';
import type { HttpEnv, Operation } from './operation.ts';
import { HttpProblem, refused, toProblem } from './problem.ts';

const EMPTY = z.object({});

type Handler = (c: Context<HttpEnv>) => Promise<Response>;

export function createGate(
  { client, access, store, requestsPerMinute = 600, bodyTimeoutMs = 30_000 }: HttpOptions,
  refusals: Refusals,
  fail: (error: unknown, c: Context) => Response,
): (operation: Operation) => Handler {
  const limiter = new RateLimiterMemory({ points: requestsPerMinute, duration: 60 });
  return (operation) => async (c) => {
    const caller = await identify(access, c);
    await limit(limiter, caller);
    if (!operation.permissions.some((one) => caller.permissions.includes(one)))
      throw new HttpProblem('not_authorized', `needs the permission ${operation.permissions.join(' or ')}`);
    const query = queryOf(operation, c);
    const target = targetOf(c);
    const body: JsonBody = operation.body ? await readJson(c, bodyTimeoutMs) : { text: '', value: {} };
    const handle = async (): Promise<Response> => {
      try {
        return await operation.handle({ c, caller, client: client.as(caller), id: target, query, body: body.value });
      } catch (error) {
        refusals.count(caller.scope, toProblem(error).code);
        return fail(error, c);
      }
    };
    const name = operation.method === 'get' ? undefined : c.req.header('idempotency-key');
    if (name === undefined) return handle();
    const parts = [c.req.method, new URL(c.req.url).pathname, new URL(c.req.url).search, body.text];
    return namedRequest(store, { name, caller, parts, replay: !operation.neverReplayed }, handle);
  };
}

async function identify(access: HttpOptions['access'], c: Context): Promise<Caller> {
  const token = bearerOf(c.req.header('authorization'));
  const caller = token === undefined ? undefined : await access.callerOf(token, 'http');
  if (caller) return caller;
  const challenge = token === undefined ? 'Bearer' : 'Bearer error="invalid_token"';
  const message =
    token === undefined ? 'send Authorization: Bearer and a key' : 'the key is not known, or holds no more';
  throw new HttpProblem('unauthenticated', message, { headers: { 'www-authenticate': challenge } });
}

async function limit(limiter: RateLimiterMemory, caller: Caller): Promise<void> {
  try {
    await limiter.consume(`${caller.channel} ${caller.subject}`);
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    const seconds = Math.max(1, Math.ceil(error.msBeforeNext / 1000));
    throw new HttpProblem('rate_limited', `this key has sent too many requests: try again in ${seconds} s`, {
      headers: { 'retry-after': String(seconds) },
    });
  }
}

function queryOf({ query }: Operation, c: Context): unknown {
  const given = c.req.queries();
  for (const [name, values] of Object.entries(given)) {
    if (!query || !Object.hasOwn(query.shape, name))
      throw refused({ code: 'invalid_input', message: `${name} is no parameter here`, path: name });
    if (values.length > 1) throw refused({ code: 'invalid_input', message: `${name} is given twice`, path: name });
  }
  const parsed = parseInput(query ?? EMPTY, c.req.query());
  if (!parsed.ok) throw refused(parsed.refusal);
  return parsed.value;
}

/** What the path names. A text that cannot be an id cannot be there; nothing is looked up for it. */
function targetOf(c: Context): string {
  const given = c.req.param('id');
  if (given === undefined) return '';
  const valid = c.req.path.startsWith('/v1/continuations/') ? ContinuationId : id;
  if (valid.safeParse(given).success) return given;
  throw new HttpProblem('not_found', 'there is no such continuation');
}
