/** The HTTP API on real servers: what it does, and what it tells. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApi, type Sent, type TestApi } from '../support/http.ts';
import { type Actors, createActors, type Stack, startStack } from '../support/stack.ts';

let stack: Stack;
let api: TestApi;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack();
  api = createTestApi(stack);
  actors = createActors();
  await stack.startWorker({ harness: actors.harness, delivery: actors.delivery });
});
afterAll(() => stack?.close());

let count = 0;
const approval = (more: Record<string, unknown> = {}) => ({
  assistantId: 'support',
  originTurnId: `turn-${++count}`,
  harnessResult: {
    outcome: 'awaiting_approval',
    assistantMessage: { text: 'May I refund order 1042?' },
    continuation: { state: { approvalId: 'refund', order: '1042' } },
  },
  ...more,
});
const approve = ({ body: { record } }: Sent, decision = 'approved') => ({
  suspensionId: record.suspension.id,
  suspensionDigest: record.suspension.digest,
  trigger: { type: 'approval_resolution', approvalId: 'refund', decision },
});

describe('the API', () => {
  test('goes from create to answer to result, and receipts name the key', async () => {
    const alice = await api.user();
    const created = await alice.send('POST', '/v1/continuations', approval());
    expect(created).toMatchObject({ status: 201, body: { created: true, started: true } });
    const path = created.headers.get('location') as string;
    const answered = await alice.send('POST', `${path}/answers?until=finished`, approve(created));
    expect(answered).toMatchObject({
      status: 200,
      body: {
        outcome: 'accepted',
        answer: { subject: 'alice', verified: true, channel: `http:${alice.keyId}`, decision: 'approved' },
        record: { status: 'completed' },
        delivery: { status: 'delivered' },
      },
    });
    expect((await alice.send('GET', `${path}?include=result,state`)).body).toMatchObject({
      status: 'completed',
      state: { order: '1042' },
      result: { outcome: 'completed' },
    });
    const { body } = await alice.send('GET', `${path}/receipts`);
    expect(body.receipts.map((one: { kind: string }) => one.kind)).toEqual([
      'created',
      'admitted',
      'started',
      'settled',
      'delivered',
    ]);
  });

  test('C1: tells a loser who won, as a problem document', async () => {
    const alice = await api.user();
    const created = await alice.send('POST', '/v1/continuations', approval());
    const path = created.headers.get('location') as string;
    await alice.send('POST', `${path}/answers?until=finished`, approve(created));
    const bob = await api.user({ subject: 'bob' });
    const late = await bob.send('POST', `${path}/answers`, approve(created, 'denied'));
    expect(late.status).toBe(409);
    expect(late.headers.get('content-type')).toBe('application/problem+json');
    expect(late.body).toMatchObject({
      code: 'already_terminal',
      status: 409,
      winner: { subject: 'alice', decision: 'approved' },
      continuationStatus: 'completed',
    });
  });

  test('lists what is due first, first, by words, and tells in full what is asked', async () => {
    const alice = await api.user({ scope: 'app=default/tenant=words' });
    const question = `Which of these? ${'word '.repeat(2_000)}`;
    const ask = (text: string, expiresAt: string) =>
      alice.send('POST', '/v1/continuations', {
        ...approval({ bounds: { expiresAt }, scope: 'app=default/tenant=words' }),
        harnessResult: {
          outcome: 'awaiting_approval',
          assistantMessage: { text },
          continuation: {
            state: {},
            pending: [{ id: 'c1', name: 'refund', arguments: `{"a": "${'x'.repeat(5_000)}"}` }],
          },
        },
      });
    await ask('Which other?', '2126-01-02T00:00:00Z');
    const { body } = await ask(question, '2126-01-01T00:00:00Z');
    const page = await alice.send('GET', '/v1/continuations?status=open&order=deadline&text=whi&limit=1');
    expect(page.body).toMatchObject({
      records: [{ id: body.record.id }],
      next: `2126-01-01T00:00:00.000Z~${body.record.id}`,
    });
    const rest = await alice.send(
      'GET',
      `/v1/continuations?status=open&order=deadline&text=refund&after=${page.body.next}`,
    );
    expect(rest.body).toMatchObject({ records: [{ suspension: { question: 'Which other?' } }] });
    for (const query of ['order=newest', 'after=nonsense', 'text=%00'])
      expect((await alice.send('GET', `/v1/continuations?${query}`)).status).toBe(422);
    const whole = await alice.send('GET', `/v1/continuations/${body.record.id}?include=asked`);
    expect(whole.body.asked).toEqual({ question, arguments: [`{"a": "${'x'.repeat(5_000)}"}`] });
  });

  test('C16: what is outside the scope of a key is not there', async () => {
    const alice = await api.user();
    const created = await alice.send('POST', '/v1/continuations', approval());
    const path = created.headers.get('location') as string;
    const other = await api.user({ scope: 'app=other' });
    for (const [method, to, body] of [
      ['GET', path],
      ['GET', `${path}/receipts`],
      ['POST', `${path}/answers`, approve(created)],
      ['POST', `${path}/stop`, { reason: 'cancelled_by_user' }],
      ['DELETE', path],
    ] as const) {
      const sent = await other.send(method, to, body);
      expect([to, sent.status, sent.body.code]).toEqual([to, 404, 'not_found']);
    }
    expect((await other.send('GET', '/v1/continuations')).body).toEqual({ records: [] });
    expect((await alice.send('GET', path)).body).toMatchObject({
      status: 'pending',
      revision: created.body.record.revision,
    });
  });

  test('refuses an approval that does not say what was seen', async () => {
    const alice = await api.user();
    const created = await alice.send('POST', '/v1/continuations', approval());
    const { suspensionDigest: _, ...blind } = approve(created);
    const path = created.headers.get('location') as string;
    expect(await alice.send('POST', `${path}/answers`, blind)).toMatchObject({
      status: 422,
      body: { code: 'invalid_input', path: 'suspensionDigest' },
    });
  });
});

describe('a key', () => {
  test('is needed, and holds until it is revoked or expires', async () => {
    expect(await api.send('GET', '/v1/continuations')).toMatchObject({
      status: 401,
      body: { code: 'unauthenticated' },
    });
    const alice = await api.user();
    expect((await alice.send('GET', '/v1/continuations?limit=1')).status).toBe(200);
    await stack.store.revokeKey('app=default', alice.keyId, new Date().toISOString());
    expect((await alice.send('GET', '/v1/continuations?limit=1')).status).toBe(401);
    const late = await api.user({ expiresAt: new Date(Date.now() - 1).toISOString() });
    expect((await late.send('GET', '/v1/continuations?limit=1')).status).toBe(401);
  });

  test('is kept as a digest: its secret is not in the database', async () => {
    const { token, keyId } = await api.user();
    const stored = JSON.stringify(await stack.store.keyAcrossScopes(keyId));
    expect(stored).toContain(keyId);
    expect(stored).not.toContain(token.slice(-43));
  });

  test('gives what its permissions say', async () => {
    const alice = await api.user();
    const created = await alice.send('POST', '/v1/continuations', approval());
    const path = created.headers.get('location') as string;
    const reader = await api.user({ permissions: ['read'] });
    expect((await reader.send('GET', path)).status).toBe(200);
    const answerer = await api.user({ permissions: ['answer'] });
    for (const sent of [
      await reader.send('POST', '/v1/continuations', approval()),
      await reader.send('POST', `${path}/answers`, approve(created)),
      await answerer.send('POST', `${path}/answers`, approve(created)),
      await answerer.send('GET', path),
    ])
      expect(sent).toMatchObject({ status: 403, body: { code: 'not_authorized' } });
  });

  test('that is revoked while its answer waits for a worker starts nothing', async () => {
    const idle = await startStack({ answerTimeoutMs: 500 });
    try {
      const own = createTestApi(idle);
      const alice = await own.user();
      const created = await alice.send('POST', '/v1/continuations', approval());
      const path = created.headers.get('location') as string;
      const stored = await alice.send('POST', `${path}/answers`, approve(created));
      expect(stored).toMatchObject({ status: 202, body: { outcome: 'stored' } });
      await idle.store.revokeKey('app=default', alice.keyId, new Date().toISOString());
      const { harness, turns } = createActors();
      await idle.startWorker({ harness });
      await expect
        .poll(async () => (await idle.client.get({ continuationId: created.body.record.id }))?.status, {
          timeout: 30_000,
        })
        .toBe('cancelled');
      expect(turns(created.body.record.id)).toEqual([]);
    } finally {
      await idle.close();
    }
  });
});

describe('Idempotency-Key', () => {
  test('gives the same answer to the same request, and a conflict to another', async () => {
    const alice = await api.user();
    const input = approval();
    const named = { 'idempotency-key': `create-${count}` };
    const first = await alice.send('POST', '/v1/continuations', input, named);
    const again = await alice.send('POST', '/v1/continuations', input, named);
    expect(again.status).toBe(201);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect(await alice.send('POST', '/v1/continuations', approval(), named)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
    // Names of others do not meet.
    const bob = await api.user({ subject: 'bob' });
    expect((await bob.send('POST', '/v1/continuations', approval(), named)).status).toBe(201);
  });

  type Write = readonly [method: string, path: string, body: (asked: Sent) => unknown];
  // Not `take`, which hands out the state once, however it is asked for again.
  const writes: readonly Write[] = [
    ['POST', '/answers', (asked) => approve(asked, 'denied')],
    ['POST', '/stop', () => ({ reason: 'cancelled_by_user' })],
    ['POST', '/extend', () => ({ expiresAt: '2126-01-01T00:00:00.000Z' })],
    ['DELETE', '', () => undefined],
  ];
  test.for(writes)('%s …%s is done once', async ([method, path, bodyOf]) => {
    const alice = await api.user();
    const asked = await alice.send('POST', '/v1/continuations', approval());
    const at = asked.headers.get('location') as string;
    if (method === 'DELETE') await alice.send('POST', `${at}/stop`, { reason: 'cancelled_by_user' });
    const named = { 'idempotency-key': `write-${++count}` };
    const first = await alice.send(method, `${at}${path}`, bodyOf(asked), named);
    expect(first.status).toBeLessThan(300);
    const again = await alice.send(method, `${at}${path}`, bodyOf(asked), named);
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  test('of a session: its answer and its activity are done once', async () => {
    const alice = await api.user();
    const sessionId = `session-${++count}`;
    const asked = await alice.send('POST', '/v1/continuations', approval({ sessionId }));
    for (const [path, body] of [
      ['active', {}],
      ['answers', approve(asked, 'denied')],
    ] as const) {
      const named = { 'idempotency-key': `session-${path}-${count}` };
      const first = await alice.send('POST', `/v1/sessions/${sessionId}/${path}`, body, named);
      expect(first.status).toBeLessThan(300);
      const again = await alice.send('POST', `/v1/sessions/${sessionId}/${path}`, body, named);
      expect([again.status, again.body]).toEqual([first.status, first.body]);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
    }
  });
});

describe('what is told about the API', () => {
  test('the document describes every operation', async () => {
    const { body } = await api.send('GET', '/openapi.json');
    expect(Object.keys(body.paths).sort()).toEqual([
      '/healthz',
      '/metrics',
      '/readyz',
      '/v1/continuations',
      '/v1/continuations/{id}',
      '/v1/continuations/{id}/answers',
      '/v1/continuations/{id}/extend',
      '/v1/continuations/{id}/receipts',
      '/v1/continuations/{id}/reconcile',
      '/v1/continuations/{id}/stop',
      '/v1/continuations/{id}/take',
      '/v1/events',
      '/v1/sessions/{id}/active',
      '/v1/sessions/{id}/answers',
    ]);
  });

  test('the reference page names each operation and loads nothing from elsewhere', async () => {
    const { body, headers } = await api.send('GET', '/');
    expect(headers.get('content-type')).toContain('text/html');
    expect(body).toContain('/v1/continuations/{id}/reconcile');
    expect(body).not.toMatch(/<script|src=|@import|url\(|href="(?![#/]|data:,")/);
  });

  test('health needs no key, and readiness says when something does not answer', async () => {
    expect(await api.send('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await api.send('GET', '/readyz')).toMatchObject({ status: 200, body: { status: 'ok' } });
    const away = createTestApi(stack, { ready: () => Promise.reject(new Error('away')) });
    expect(await away.send('GET', '/readyz')).toMatchObject({ status: 503, body: { status: 'unavailable' } });
  });

  test('C16: metrics count what is in the scope of the key, and nothing else', async () => {
    const scope = 'app=metrics';
    const [own, other] = [await api.user({ scope }), await api.user({ scope: 'app=elsewhere' })];
    const created = await own.send('POST', '/v1/continuations', approval());
    await own.send('POST', `${created.headers.get('location')}/answers?until=finished`, approve(created));
    await own.send('POST', '/v1/continuations', approval());
    await own.send('POST', '/v1/continuations', '{');
    const { body, headers } = await own.send('GET', '/metrics');
    expect(headers.get('content-type')).toContain('text/plain');
    expect(body).toContain('continuations_open{wait_for="approval_resolution",status="pending"} 1');
    expect(body).toContain('continuations_ended{status="completed",reason="completed"} 1');
    expect(body).toContain('continuations_never_expiring 0');
    expect(body).toMatch(/continuations_answer_to_start_seconds\{quantile="0.5"\} \d/);
    const empty = (await other.send('GET', '/metrics')).body;
    expect(empty).not.toContain('continuations_open{');
    expect(empty).not.toContain('refusals_total{');
  });
});

describe('the feed of events', () => {
  const read = async (token: string, path = '/v1/events', lastEventId?: string) => {
    const ended = new AbortController();
    const response = await api.app.request(path, {
      headers: { authorization: `Bearer ${token}`, ...(lastEventId && { 'last-event-id': lastEventId }) },
      signal: ended.signal,
    });
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    return {
      async until(seen: (events: Array<{ id: string; data: { continuationId: string; kind: string } }>) => boolean) {
        for (;;) {
          const parts = text.split('\n\n').slice(0, -1);
          const events = parts.flatMap((part) => {
            const [, id] = /^id: (.*)$/m.exec(part) ?? [];
            const [, data] = /^data: (.*)$/m.exec(part) ?? [];
            return id && data ? [{ id, data: JSON.parse(data) }] : [];
          });
          if (seen(events)) return events;
          const { value, done } = await reader.read();
          if (done) throw new Error(`the stream ended: ${text}`);
          text += value;
        }
      },
      async close() {
        await reader.cancel();
      },
    };
  };

  test('tells each receipt at once, and after a break goes on where it was', async () => {
    const alice = await api.user({ scope: 'app=feed' });
    const other = await api.user({ scope: 'app=feed-other' });
    const stream = await read(alice.token);
    await stream.until(() => true);
    await other.send('POST', '/v1/continuations', approval());
    const created = await alice.send('POST', '/v1/continuations', approval());
    const [first] = await stream.until((events) => events.length > 0);
    expect(first?.data).toMatchObject({ continuationId: created.body.record.id, kind: 'created' });
    await stream.close();
    await alice.send('POST', `${created.headers.get('location')}/answers?until=finished`, approve(created));
    const again = await read(alice.token, '/v1/events', first?.id);
    const events = await again.until((seen) => seen.length >= 4);
    expect(events.map(({ data }) => data.kind)).toEqual(['admitted', 'started', 'settled', 'delivered']);
    await again.close();
  });

  test('a reader that is cut off again and again misses nothing and hears nothing twice, while many commit at once', async () => {
    const alice = await api.user({ scope: 'app=feed-cut' });
    const before = await alice.send('POST', '/v1/continuations', approval());
    const inputs = Array.from({ length: 40 }, approval);
    const creating = Promise.all(inputs.map((input) => alice.send('POST', '/v1/continuations', input)));
    const heard: Array<{ id: string; of: string }> = [];
    // From the beginning of the scope: what was before comes first.
    const first = await read(alice.token, '/v1/events', '0-0');
    while (heard.length < 41) {
      const stream = heard.length === 0 ? first : await read(alice.token, '/v1/events', heard.at(-1)?.id);
      const events = await stream.until((seen) => seen.length > 0);
      heard.push(...events.map(({ id, data }) => ({ id, of: data.continuationId })));
      await stream.close();
    }
    const created = (await creating).map(({ body }) => body.record.id);
    expect(heard.map(({ of }) => of).sort()).toEqual([before.body.record.id, ...created].sort());
  });
});
