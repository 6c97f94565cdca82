/**
 * Signed requests to a user's own service: agents and webhooks. Where they may go is checked at the address that is really
 * connected to, so that a name that changes its mind in between leads nowhere; redirects are never followed.
 */
import { lookup as resolveName } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Webhook } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { ContinuationError } from './errors.ts';

export interface PostOptions {
  readonly url: string;
  /** Of Standard Webhooks: `whsec_` and base64 of at least 24 random bytes. Without it requests are not signed. */
  readonly secret?: string;
  /** Let requests go to loopback and private networks, where other services of ours may be. Default false. */
  readonly allowPrivateAddresses?: boolean;
  /** Default 8 MiB. */
  readonly maxResponseBytes?: number;
  readonly headers?: Readonly<Record<string, string>>;
}
export interface Outgoing {
  /** The same for every attempt: the receiver recognises it. */
  readonly id: string;
  readonly body: unknown;
  readonly signal: AbortSignal;
}
/** What came of it. `unsent`: the service surely saw nothing; `lost`: it may have seen it. */
export type Posted =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  | { readonly kind: 'too_large'; readonly status: number }
  | { readonly kind: 'forbidden' | 'unsent' | 'lost'; readonly error: Error };

const DEFAULT_MAX_BYTES = 8 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
/** Errors from before a connection was there. */
const UNSENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.*|CERT_.*|DEPTH_ZERO.*|SELF_SIGNED.*|UNABLE_TO.*)$/;

class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
  constructor(host: string) {
    super(`${host} is a private address, or none of the public internet: allow private addresses if it is yours`);
  }
}

/** Makes what sends to one address; throws `invalid_configuration` when that can never work. */
export function createPost(options: PostOptions): (outgoing: Outgoing) => Promise<Posted> {
  const url = checkedUrl(options.url);
  const webhook = options.secret === undefined ? undefined : checkedSecret(options.secret);
  const { allowPrivateAddresses = false, maxResponseBytes = DEFAULT_MAX_BYTES } = options;
  const connect = { timeout: CONNECT_TIMEOUT_MS, ...(!allowPrivateAddresses && { lookup: publicOnly }) };
  // No connection is used twice: whether a request on an old one arrived could not be told. How long it takes, the signal says.
  const dispatcher = new Agent({ connect, pipelining: 0, headersTimeout: 0, bodyTimeout: 0 });
  return async ({ id, body, signal }) => {
    const text = JSON.stringify(body);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (!allowPrivateAddresses && ipaddr.isValid(host) && !isPublic(host))
      return { kind: 'forbidden', error: new ForbiddenAddress(host) };
    try {
      const headers = { ...options.headers, ...headersOf(id, text, webhook) };
      const response = await request(url, { method: 'POST', headers, body: text, signal, dispatcher });
      return await readAnswer(response, maxResponseBytes);
    } catch (error) {
      return { kind: kindOf(error), error: error as Error };
    }
  };
}

function headersOf(id: string, text: string, webhook: Webhook | undefined): Record<string, string> {
  const now = new Date();
  return {
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'temporal-continuations',
    'idempotency-key': id,
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    ...(webhook && { 'webhook-signature': webhook.sign(id, now, text) }),
  };
}

type Response = Awaited<ReturnType<typeof request>>;

async function readAnswer({ statusCode: status, body }: Response, max: number): Promise<Posted> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).byteLength;
    if (bytes > max) {
      body.destroy();
      return { kind: 'too_large', status };
    }
    chunks.push(chunk as Buffer);
  }
  return { kind: 'answered', status, text: Buffer.concat(chunks).toString('utf8') };
}

function kindOf(error: unknown): 'forbidden' | 'unsent' | 'lost' {
  if (error instanceof ForbiddenAddress) return 'forbidden';
  const several = error instanceof AggregateError ? error.errors : [error];
  const unsent = several.every((each) => {
    const { code } = each as { code?: unknown };
    return typeof code === 'string' && UNSENT.test(code);
  });
  return unsent ? 'unsent' : 'lost';
}

/** Of the internet, and of nobody's own network: loopback, private, link-local, multicast and the like are not. */
export function isPublic(address: string): boolean {
  return ipaddr.process(address).range() === 'unicast';
}

/** Resolves a name, and refuses when any of its addresses is not public; what it gives is what is connected to. */
const publicOnly: LookupFunction = (hostname, options, callback) => {
  resolveName(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '');
    const bad = addresses.find(({ address }) => !isPublic(address));
    if (bad) return callback(new ForbiddenAddress(`${hostname} (${bad.address})`), '');
    if (options.all) return callback(null, addresses);
    const [first] = addresses;
    return callback(null, first?.address ?? '', first?.family);
  });
};

function checkedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw new ContinuationError(
      'invalid_configuration',
      'the address of a service must be an http(s) URL without a password',
    );
  return url;
}

function checkedSecret(secret: string): Webhook {
  try {
    return new Webhook(secret);
  } catch (cause) {
    throw new ContinuationError('invalid_configuration', 'a signing secret must be whsec_ and base64', { cause });
  }
}
