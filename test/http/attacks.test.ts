/** What hostile senders try, over a real socket: each is refused with a typed answer, and nothing has changed (C2, C16). */
import { once } from 'node:events';
import { connect } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAccess } from '../../src/http/access.ts';
import { type HttpServer, serve } from '../../src/http/serve.ts';
import { json } from '../support/agent-service.ts';
import { createTestApi, type TestApi } from '../support/http.ts';
import { createActors, type Stack, startStack } from '../support/stack.ts';

let stack: Stack;
let api: TestApi;
let server: HttpServer;
let alice: Awaited<ReturnType<TestApi['user']>>;
let id: string;
let message: Record<string, unknown>;
let before: unknown;
beforeAll(async () => {
  stack = await startStack();
  await stack.startWorker({ harness: createActors().harness });
  api = createTestApi(stack, { bodyTimeoutMs: 500, requestsPerMinute: 100_000 });
  server = await serve({ fetch: api.app.fetch, host: '127.0.0.1', port: 0, graceMs: 100 });
  alice = await api.user();
  const { body } = await alice.send('POST', '/v1/continuations', {
    assistantId: 'support',
    originTurnId: 'attacked',
    harnessResult: {
      outcome: 'awaiting_approval',
      assistantMessage: { text: 'May I?' },
      continuation: { state: { approvalId: 'a' } },
    },
  });
  id = body.record.id;
  message = {
    suspensionId: body.record.suspension.id,
    suspensionDigest: body.record.suspension.digest,
    trigger: { type: 'approval_resolution', approvalId: 'a', decision: 'approved' },
  };
});
afterAll(async () => {
  await server?.close();
  await stack?.close();
});
const everything = async () => ({
  record: await stack.client.get({ continuationId: id }),
  receipts: await stack.client.receipts(id),
  all: (await stack.client.list()).records.length,
});
beforeEach(async () => {
  before = await everything();
});
afterEach(async () => {
  expect(await everything()).toEqual(before);
});

const answers = () => `/v1/continuations/${id}/answers`;
/** Sends exactly these bytes; resolves with the status and what follows it. */
async function raw(text: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let said = '';
  socket.on('data', (chunk) => {
    said += chunk;
  });
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'close');
  return { status: Number(said.split(' ')[1]), text: said };
}
const head = (line: string, more: string[] = []) =>
  [
    line,
    'Host: x',
    `Authorization: Bearer ${alice.token}`,
    'Content-Type: application/json',
    'Connection: close',
    ...more,
  ].join('\r\n');

describe('a forged key', () => {
  test.each([
    ['of another secret', () => `${alice.token.slice(0, -1)}${alice.token.endsWith('A') ? 'B' : 'A'}`],
    ['of another id', () => alice.token.replace(/key_./, 'key_7')],
    ['with SQL in it', () => "key_' or 1=1 --"],
    ['that is only the id', () => alice.keyId],
    ['that is unsigned', () => new UnsecuredJWT({ sub: 'alice', iss: 'https://issuer.test' }).encode()],
  ])('%s is told 401', async (_, token) => {
    const headers = { authorization: `Bearer ${token()}` };
    expect(await api.send('POST', answers(), message, headers)).toMatchObject({
      status: 401,
      body: { code: 'unauthenticated' },
    });
  });

  test('in a cookie, a query or with another scheme does not count', async () => {
    for (const sent of [
      await api.send('POST', answers(), message, { cookie: `token=${alice.token}; key=${alice.token}` }),
      await api.send('POST', `${answers()}?access_token=${alice.token}`, message),
      await api.send('POST', answers(), message, {
        authorization: `Basic ${Buffer.from(alice.token).toString('base64')}`,
      }),
    ])
      expect(sent).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  });
});

describe('a body', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  test.each<[string, string, Record<string, string>, number, string]>([
    [
      'as a form, as another site can send it',
      'trigger=1',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
    ],
    ['as plain text with JSON in it', '{}', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['of a type that begins alike', '{}', { 'content-type': 'application/jsonp' }, 415, 'unsupported_media_type'],
    ['that is compressed', '{}', { 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
    ['that is cut', '{"trigger":', {}, 400, 'malformed_json'],
    ['that is nothing', '', { 'content-type': 'application/json' }, 400, 'malformed_json'],
    ['that is a list', '[]', {}, 422, 'invalid_input'],
    ['of a hundred thousand levels', deep, {}, 422, 'invalid_input'],
    [
      'with a number too large',
      '{"trigger":{"type":"external_result","operationId":"o","payload":1e999}}',
      {},
      422,
      'invalid_input',
    ],
    ['with __proto__', '{"__proto__":{"trigger":{}}}', {}, 422, 'invalid_input'],
    ['with __proto__ escaped and deep', '{"metadata":{"a":[{"\\u005f_proto__":1}]}}', {}, 422, 'invalid_input'],
    ['with constructor', '{"constructor":{"prototype":{"admin":true}}}', {}, 422, 'invalid_input'],
    [
      'with a stamp of its own',
      '{"trigger":{"type":"user_reply","message":{"text":"x"}},"stamp":{"subject":"root"}}',
      {},
      422,
      'invalid_input',
    ],
  ])('%s is refused', async (_, body, headers, status, code) => {
    const sent = await alice.send('POST', answers(), body, headers);
    expect({ status: sent.status, code: sent.body.code }).toEqual({ status, code });
    expect(sent.headers.get('content-type')).toBe('application/problem+json');
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test('that is too large is refused before it is read, and when it says nothing about its size', async () => {
    const declared = await raw(`${head(`POST ${answers()} HTTP/1.1`, ['Content-Length: 99999999'])}\r\n\r\n`);
    expect([declared.status, /"code":"(\w+)"/.exec(declared.text)?.[1]]).toEqual([413, 'too_large']);
    const text = JSON.stringify({ ...message, metadata: { x: 'y'.repeat(17 * 1024 * 1024) } });
    const response = await fetch(server.url + answers(), {
      method: 'POST',
      headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json' },
      body: new Blob([text]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([413, 'too_large']);
  });

  test('that comes slowly is not waited for', async () => {
    const { status, text } = await raw(`${head(`POST ${answers()} HTTP/1.1`, ['Content-Length: 100'])}\r\n\r\n{"tri`);
    expect([status, /"code":"(\w+)"/.exec(text)?.[1]]).toEqual([408, 'request_timeout']);
  });

  test('with a lone surrogate or U+0000 is refused where it stands', async () => {
    for (const text of ['\\ud800', '\\u0000']) {
      const body = `{"trigger":{"type":"user_reply","message":{"text":"${text}"}}}`;
      expect(await alice.send('POST', answers(), body)).toMatchObject({
        status: 422,
        body: { path: 'trigger.message.text' },
      });
    }
  });
});

describe('an answer', () => {
  test('that is altered in any part that was seen is refused', async () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    for (const [altered, code] of [
      [{ ...message, suspensionDigest: digest }, 'digest_mismatch'],
      [{ ...message, suspensionId: 'sus_01KBCDEFGHJKMNPQRSTVWXYZ01' }, 'stale_suspension'],
      [{ ...message, trigger: { ...(message.trigger as object), approvalId: 'b' } }, 'wrong_correlation'],
      [{ ...message, trigger: { type: 'user_reply', message: { text: 'yes' } } }, 'wrong_trigger'],
      [{ trigger: message.trigger }, 'invalid_input'],
      [{ ...message, continuationId: 'cont_01KBCDEFGHJKMNPQRSTVWXYZ01' }, 'invalid_input'],
    ] as const) {
      const { body } = await alice.send('POST', answers(), altered);
      expect(body.code).toBe(code);
    }
  });

  test('to what another scope owns is told that there is nothing', async () => {
    const mallory = await api.user({ subject: 'mallory', scope: 'app=default2' });
    const prefix = await api.user({ subject: 'mallory', scope: 'app=defaul' });
    for (const user of [mallory, prefix])
      for (const [method, path, body] of [
        ['GET', `/v1/continuations/${id}?include=state,result,executions`],
        ['GET', `/v1/continuations/${id}/receipts`],
        ['POST', answers(), message],
        ['POST', `/v1/continuations/${id}/take`, message],
        ['POST', `/v1/continuations/${id}/stop`, { reason: 'cancelled_by_user' }],
        ['POST', `/v1/continuations/${id}/extend`, { expiresAt: '2100-01-01T00:00:00Z' }],
        ['DELETE', `/v1/continuations/${id}`],
      ] as const)
        expect((await user.send(method, path, body)).status, path).toBe(404);
    expect(await mallory.send('GET', '/v1/continuations?scope=app%3Ddefault')).toMatchObject({ body: { records: [] } });
  });
});

describe('a request', () => {
  test.each([
    '/v1/continuations/..%2f..%2fmetrics',
    '/v1/continuations/%2e%2e/%2e%2e/etc/passwd',
    '/v1/continuations/cont_01%00',
    '/v1//continuations',
    '/v1/continuations/%E0%A4%A/receipts',
    "/v1/continuations/cont_01' or '1'='1",
    '//evil.example/v1/continuations',
    '/v1/continuations/https:%2f%2fevil.example',
  ])('for %s leads nowhere, and to no other place', async (path) => {
    const { status, text } = await raw(`${head(`GET ${path.replaceAll(' ', '%20')} HTTP/1.1`)}\r\n\r\n`);
    expect([status, /"code":"(\w+)"/.exec(text)?.[1]]).toEqual([404, 'not_found']);
    expect(text.toLowerCase()).not.toContain('\r\nlocation:');
  });

  test('that breaks a header in two puts nothing into the answer', async () => {
    const { status } = await raw(`${head(`GET /v1/continuations?after=x%0d%0aSet-Cookie:%20a=b HTTP/1.1`)}\r\n\r\n`);
    expect(status).toBe(422);
    const named = await raw(
      `${head(`DELETE /v1/continuations/${id} HTTP/1.1`, ['Idempotency-Key: a\u0001b'])}\r\n\r\n`,
    );
    expect(named.status).toBeGreaterThanOrEqual(400);
    expect(named.status).toBeLessThan(500);
  });

  test('with another method is told which there are', async () => {
    const sent = await alice.send('PUT', `/v1/continuations/${id}`);
    expect(sent).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
    expect(sent.headers.get('allow')).toBe('GET, DELETE');
  });

  test('with parameters that are not there, twice there, or no number is refused', async () => {
    for (const query of [
      'limit=0',
      'limit=257',
      'limit=x',
      'limit=1&limit=2',
      'admin=true',
      'sessionId=%00',
      'include=everything',
    ])
      expect((await alice.send('GET', `/v1/continuations?${query}`)).body, query).toMatchObject({
        code: 'invalid_input',
      });
  });

  test('too many in a minute from one key are told when to come again', async () => {
    const limited = createTestApi(stack, { requestsPerMinute: 2 });
    const [one, other] = [await limited.user(), await limited.user()];
    for (const status of [200, 200, 429]) expect((await one.send('GET', '/v1/continuations')).status).toBe(status);
    expect(Number((await one.send('GET', '/v1/continuations')).headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await other.send('GET', '/v1/continuations')).status).toBe(200);
  });
});

describe('a token of an issuer', () => {
  let keys: Awaited<ReturnType<typeof generateKeyPair>>;
  let own: TestApi;
  beforeAll(async () => {
    keys = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'k', alg: 'ES256' };
    const { createServer } = await import('node:http');
    const jwks = createServer((_, response) => json(response, 200, { keys: [jwk] })).listen(0, '127.0.0.1');
    await once(jwks, 'listening');
    const { port } = jwks.address() as { port: number };
    jwks.unref();
    const trusted = { issuer: 'https://issuer.test', audience: 'continuations', jwksUri: `http://127.0.0.1:${port}/` };
    own = createTestApi(stack, { access: createAccess(stack.store, [trusted]) });
  });
  const claims = { continuations_scope: 'app=default', continuations_permissions: ['read'] };
  const sign = (
    more: {
      claims?: object;
      issuer?: string;
      audience?: string;
      expires?: string;
      key?: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
    } = {},
  ) =>
    new SignJWT({ ...claims, ...more.claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setSubject('carol')
      .setIssuer(more.issuer ?? 'https://issuer.test')
      .setAudience(more.audience ?? 'continuations')
      .setExpirationTime(more.expires ?? '1m')
      .sign(more.key ?? keys.privateKey);
  const get = async (token: string) =>
    (await own.send('GET', `/v1/continuations/${id}`, undefined, { authorization: `Bearer ${token}` })).status;

  test('opens what its claims say, and no more', async () => {
    expect(await get(await sign())).toBe(200);
    expect(await get(await sign({ claims: { continuations_scope: 'app=other' } }))).toBe(404);
    const headers = { authorization: `Bearer ${await sign()}` };
    expect((await own.send('POST', answers(), message, headers)).status).toBe(403);
  });

  test('that is for others, from others, too old, without claims or signed otherwise opens nothing', async () => {
    const stranger = (await generateKeyPair('ES256')).privateKey;
    const shared = new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('carol')
      .setIssuer('https://issuer.test')
      .setAudience('continuations')
      .setExpirationTime('1m')
      .sign(Buffer.from(JSON.stringify(await exportJWK(keys.publicKey))));
    for (const token of [
      await sign({ audience: 'others' }),
      await sign({ issuer: 'https://others.test' }),
      await sign({ expires: '-1m' }),
      await sign({ key: stranger }),
      await sign({ claims: { continuations_permissions: ['everything'] } }),
      await sign({ claims: { continuations_scope: undefined } }),
      await shared,
      new UnsecuredJWT({ ...claims, sub: 'carol', iss: 'https://issuer.test', aud: 'continuations' })
        .setExpirationTime('1m')
        .encode(),
    ])
      expect(await get(token)).toBe(401);
  });
});
