/**
 * Hostile requests, made up by the thousand, against the API on the real stack: whatever is sent is done or refused with a typed
 * problem, never a 5xx; what is refused has changed nothing (C2, C15). Cases of each property: a quarter of `FUZZ_CASES`
 * (default 2,000) where the database is asked, a twentieth where workflows are.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PROBLEM_TYPE, PROBLEMS } from '../../src/http/problem.ts';
import { type HttpServer, serve } from '../../src/http/serve.ts';
import { broken, json, keys, numRuns } from '../support/hostile.ts';
import { createTestApi, type Send, type Sent, type TestApi } from '../support/http.ts';
import { createActors, type Stack, startStack } from '../support/stack.ts';

const withDatabase = Math.ceil(numRuns / 4);
const withWorkflow = Math.ceil(numRuns / 20);
const TIMEOUT_MS = 300_000;
const inherited = Object.getOwnPropertyNames(Object.prototype);
const failures: unknown[] = [];
let stack: Stack;
let api: TestApi;
let server: HttpServer;
let send: Send;
let token: string;
let id: string;
let before: unknown;
const everything = async () => ({
  record: await stack.client.get({ continuationId: id, include: ['state', 'result', 'executions'] }),
  receipts: await stack.client.receipts(id),
});
beforeAll(async () => {
  // Nothing is left as a signal because the machine is busy.
  stack = await startStack({ answerTimeoutMs: 60_000 });
  api = createTestApi(stack, {
    requestsPerMinute: 1_000_000,
    bodyTimeoutMs: 500,
    warn: (...told) => failures.push(told),
  });
  await stack.startWorker({ harness: createActors().harness });
  server = await serve({ fetch: api.app.fetch, host: '127.0.0.1', port: 0, graceMs: 100 });
  ({ send, token } = await api.user());
  const { body } = await send('POST', '/v1/continuations', { ...PAUSE, originTurnId: 'attacked' });
  id = body.record.id;
});
afterAll(async () => {
  await server?.close();
  await stack?.close();
});
beforeEach(async () => {
  before = await everything();
});
afterEach(async () => {
  expect(await everything()).toEqual(before);
  expect(failures).toEqual([]);
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(inherited);
});

const PAUSE = {
  assistantId: 'support',
  sessionId: 'attacked',
  harnessResult: {
    outcome: 'awaiting_approval',
    assistantMessage: { text: 'May I?' },
    continuation: {
      state: { approvalId: 'a' },
      pending: [{ id: 'c', name: 'refund', arguments: '{}' }],
    },
  },
} as const;
const NOBODY = `sha256:${'0'.repeat(64)}`;
/** Right but for the digest of what was seen: whatever else is broken, it is refused. */
const ANSWER = {
  messageId: 'm',
  suspensionDigest: NOBODY,
  metadata: { a: [1, { b: null }] },
  trigger: { type: 'approval_resolution', approvalId: 'a', calls: [{ callId: 'c', decision: 'approved' }] },
};
const ABSENT = 'cont_01KBCDEFGHJKMNPQRSTVWXYZ01';
const RECONCILE = {
  turnId: 'turn',
  attempt: 1,
  action: 'happened',
  result: { outcome: 'completed', assistantMessage: { text: 'done' } },
  proof: { ref: 'ledger/1', digest: NOBODY },
  observedAt: '2026-12-01T00:00:00Z',
};

/** A problem of a code that is documented, with its status; anything that is refused looks so. */
function expectRefused({ status, headers, body }: Sent): void {
  expect(headers.get('content-type')).toBe(PROBLEM_TYPE);
  const { code } = body as { code: keyof typeof PROBLEMS };
  expect(Object.keys(PROBLEMS)).toContain(code);
  expect(status).toBe(PROBLEMS[code][0]);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
}
const checked = (property: fc.IAsyncProperty<unknown>, runs = withDatabase) => fc.assert(property, { numRuns: runs });
const property = <T>(given: fc.Arbitrary<T>, run: (value: T) => Promise<void>) =>
  fc.asyncProperty(given, run) as fc.IAsyncProperty<unknown>;

/** JSON text, sometimes not quite. */
const text = (value: fc.Arbitrary<unknown>) =>
  fc.oneof(
    { weight: 8, arbitrary: value.map((one) => JSON.stringify(one)) },
    { weight: 1, arbitrary: fc.tuple(value, fc.nat(40)).map(([one, cut]) => JSON.stringify(one).slice(0, cut)) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1 }) },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom(...keys), json).map(([key, one]) => `{"${key}":${JSON.stringify(one)}}`),
    },
  );

describe('a body', () => {
  test.each([
    ['answers', ANSWER],
    ['take', ANSWER],
    ['stop', { reason: 'for no reason' }],
    ['extend', { expiresAt: '2020-01-01T00:00:00Z' }],
    ['reconcile', RECONCILE],
  ])(
    'of %s, broken anywhere, is refused',
    async (operation, whole) => {
      await checked(
        property(text(broken(whole)), async (body) => {
          expectRefused(await send('POST', `/v1/continuations/${id}/${operation}`, body));
        }),
        withWorkflow,
      );
    },
    TIMEOUT_MS,
  );

  test(
    'of a create is taken once and as a whole, or refused',
    async () => {
      const seen = new Set([id]);
      await checked(
        property(text(broken({ ...PAUSE, originTurnId: 'turn', bounds: { maxResumeAttempts: 2 } })), async (body) => {
          const sent = await send('POST', '/v1/continuations', body);
          if (sent.status === 201 || sent.status === 200) {
            expect(sent.status).toBe(seen.has(sent.body.record.id) ? 200 : 201);
            seen.add(sent.body.record.id);
          } else expectRefused(sent);
        }),
        withWorkflow,
      );
      let found = 0;
      let after: string | undefined;
      do {
        const page = await stack.client.list({ limit: 256, ...(after && { after }) });
        found += page.records.length;
        after = page.next;
      } while (after);
      expect(found).toBe(seen.size);
    },
    TIMEOUT_MS,
  );
});

describe('headers, paths and queries', () => {
  const value = fc.oneof(
    fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) }),
    fc.constantFrom(
      '',
      '0',
      '-1',
      '1e9',
      '99999999999999999999',
      'gzip',
      'chunked',
      'Bearer',
      '__proto__',
      '*/*',
      '\t',
    ),
  );
  const header = fc.constantFrom(
    ...['authorization', 'content-type', 'content-encoding', 'content-length', 'idempotency-key', 'last-event-id'],
    ...['accept', 'cookie', 'host', 'origin', 'x-forwarded-for', 'x-http-method-override', '__proto__', 'constructor'],
  );

  test(
    'of any kind are refused, or ignored',
    async () => {
      await checked(
        property(fc.dictionary(header, value), async (headers) => {
          expectRefused(await send('POST', `/v1/continuations/${ABSENT}/answers`, ANSWER, headers));
        }),
      );
    },
    TIMEOUT_MS,
  );

  test('with any token are told 401', async () => {
    await checked(
      property(fc.oneof(value, fc.base64String(), fc.constant(`${token}x`)), async (given) => {
        fc.pre(given.trim() !== token);
        const sent = await api.send('GET', '/v1/continuations', undefined, { authorization: `Bearer ${given}` });
        expect({ status: sent.status, code: sent.body.code }).toEqual({ status: 401, code: 'unauthenticated' });
      }),
    );
  });

  test(
    'are read, or refused',
    async () => {
      const part = fc.oneof(value, fc.string({ unit: 'grapheme' }));
      const names = ['status', 'waitFor', 'sessionId', 'assistantId', 'after', 'limit', 'scope', 'include', 'until'];
      const query = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names, ...keys), part), part), { maxLength: 3 });
      const path = fc.oneof(
        fc.constant('/v1/continuations'),
        part.map((one) => `/v1/continuations/${encodeURIComponent(one)}`),
        part.map((one) => `/v1/continuations/${encodeURIComponent(one)}/receipts`),
        part.map((one) => `/v1/${encodeURIComponent(one)}`),
        fc.constantFrom(
          '/v1/continuations/%',
          '/v1/continuations/%00',
          '/v1/continuations/%ff/receipts',
          '/v1//',
          '//v1',
        ),
      );
      await checked(
        property(fc.tuple(path, query), async ([where, asked]) => {
          const sent = await send('GET', `${where}?${new URLSearchParams(asked)}`);
          if (sent.status !== 200) expectRefused(sent);
        }),
      );
    },
    TIMEOUT_MS,
  );
});

test(
  'bytes that are no HTTP are cut off, and the next request is answered',
  async () => {
    const { hostname, port } = new URL(server.url);
    const line = fc.constantFrom(
      `POST /v1/continuations/${id}/answers HTTP/1.1`,
      'GET / HTTP/1.1',
      'GET /v1/events HTTP/9.9',
      'PRI * HTTP/2.0',
    );
    const noise = fc.string({ unit: 'binary-ascii', maxLength: 200 });
    const request = fc.oneof(
      noise,
      fc.tuple(line, fc.array(noise, { maxLength: 5 })).map(([first, rest]) => [first, ...rest, '', ''].join('\r\n')),
    );
    await checked(
      property(request, async (bytes) => {
        const socket = connect(Number(port), hostname);
        let said = '';
        socket.on('data', (chunk) => {
          said += chunk;
        });
        socket.on('error', () => undefined);
        socket.end(`${bytes}\r\n\r\n`);
        await once(socket, 'close');
        expect(said).not.toMatch(/^HTTP\/1\.1 (2|5)(?!05)/);
      }),
      withWorkflow,
    );
    const response = await fetch(`${server.url}/healthz`);
    expect(response.status).toBe(200);
  },
  TIMEOUT_MS,
);
