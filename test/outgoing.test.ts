/** Agents and webhooks over real HTTP: what is sent, what each answer means, and where nothing is ever sent. */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { webhookDelivery } from '../src/delivery/webhook.ts';
import { type HttpHarnessOptions, httpHarness } from '../src/harness/http.ts';
import type { ResumedTurn } from '../src/ports.ts';
import { isPublic } from '../src/post.ts';
import type { HarnessResult } from '../src/schema.ts';
import { type AgentService, json, startAgentService } from './support/agent-service.ts';
import { APPROVAL, first } from './support/builders.ts';

const secret = `whsec_${randomBytes(24).toString('base64')}`;
let service: AgentService;
beforeAll(async () => {
  service = await startAgentService();
});
afterAll(() => service?.close());
beforeEach(() => service.replies((_, response) => json(response, 200, { outcome: 'completed' })));

const record = first({ waitFor: APPROVAL });
const turn = (more: Partial<ResumedTurn> = {}): ResumedTurn =>
  ({
    continuation: {
      ...record,
      continuation: { ...record.continuation, state: { bytes: new Uint8Array([1, 2]), mediaType: 'x/y' } },
    },
    trigger: { type: 'approval_resolution', approvalId: 'appr_1', decision: 'approved' },
    calls: [],
    resumedTurnId: `${record.id}:resume:1`,
    attempt: 1,
    signal: new AbortController().signal,
    ...more,
  }) as ResumedTurn;
const harness = (more: Partial<HttpHarnessOptions> = {}) =>
  httpHarness({ url: service.url, secret, allowPrivateAddresses: true, ...more });
const run = (more: Partial<HttpHarnessOptions> = {}, given: Partial<ResumedTurn> = {}) =>
  harness(more)
    .runResumedTurn(turn(given))
    .then(
      (result) => result,
      (error: Error & { code?: string }) => `${error.name} ${error.code}`,
    );

const TRANSIENT = 'TransientError transient';
const UNKNOWN = 'OutcomeUnknown outcome_unknown';

describe('a turn that is run by a service', () => {
  test('is sent whole, signed, and named by its turn id', async () => {
    service.replies((_, response) => json(response, 200, { outcome: 'completed', assistantMessage: { text: 'ok' } }));
    expect(await run()).toEqual({ outcome: 'completed', assistantMessage: { text: 'ok' } });
    const heard = service.heard.at(-1)!;
    expect(heard.headers).toMatchObject({
      'idempotency-key': turn().resumedTurnId,
      'webhook-id': turn().resumedTurnId,
    });
    expect(new Webhook(secret).verify(heard.text, heard.headers)).toMatchObject({
      type: 'turn',
      attempt: 1,
      trigger: { decision: 'approved' },
      continuation: { continuation: { state: { base64: 'AQI=', mediaType: 'x/y' } } },
    });
    expect(() => new Webhook(secret).verify(`${heard.text} `, heard.headers)).toThrow();
  });

  test.each([
    [200, 'Error invalid_input', 'Error invalid_input', 'no JSON'],
    [302, 'Error agent_refused', 'Error agent_refused', ''],
    [404, 'Error agent_refused', 'Error agent_refused', ''],
    [429, TRANSIENT, TRANSIENT, ''],
    [503, TRANSIENT, TRANSIENT, ''],
    [500, UNKNOWN, TRANSIENT, ''],
    [502, UNKNOWN, TRANSIENT, ''],
  ])('that answers %i ends as %s, or, when it recognises turns, as %s', async (status, once, replayable, text) => {
    const before = service.heard.length;
    service.replies(
      (_, response) => void response.writeHead(status, { location: `${service.url}/elsewhere` }).end(text),
    );
    expect(await run()).toBe(once);
    expect(await run({ replayable: true })).toBe(replayable);
    // C7: no redirect is followed, and nothing is sent again by itself.
    expect(service.heard.length - before).toBe(2);
  });

  test('that breaks the connection leaves the outcome unknown', async () => {
    service.replies((_, response) => void response.destroy());
    expect(await run()).toBe(UNKNOWN);
    expect(await run({ replayable: true })).toBe(TRANSIENT);
  });

  test('that nobody listens for may be tried again: nothing was sent', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    expect(await run({ url: `http://127.0.0.1:${port}/` })).toBe(TRANSIENT);
  });

  test('is cancelled by closing the connection', async () => {
    const stop = new AbortController();
    const gone = new Promise<void>((resolve) => {
      service.replies((_, response) => {
        response.on('close', resolve);
        stop.abort();
      });
    });
    expect(await run({}, { signal: stop.signal })).toBe(UNKNOWN);
    await gone;
  });

  test('may answer so much and no more', async () => {
    service.replies((_, response) =>
      json(response, 200, { outcome: 'completed', assistantMessage: { text: 'x'.repeat(2000) } }),
    );
    expect(await run({ maxResponseBytes: 1000 })).toBe('Error response_too_large');
  });
});

describe('private addresses', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433', '0x7f.1'])(
    '%s: nothing is sent there unless it is allowed',
    async (host) => {
      const before = service.heard.length;
      const url = service.url.replace('127.0.0.1', host);
      expect(await run({ url, allowPrivateAddresses: false })).toBe('Error forbidden_address');
      expect(service.heard.length).toBe(before);
    },
  );

  test.each([
    ['10.0.0.1', false],
    ['172.16.0.1', false],
    ['192.168.1.1', false],
    ['169.254.169.254', false],
    ['100.64.0.1', false],
    ['224.0.0.1', false],
    ['fe80::1', false],
    ['fd00::1', false],
    ['::ffff:10.0.0.1', false],
    ['64:ff9b::7f00:1', false],
    ['93.184.216.34', true],
    ['2606:2800:220:1::1', true],
  ])('%s is public: %s', (address, expected) => {
    expect(isPublic(address)).toBe(expected);
  });

  test.each(['ftp://example.com/', 'https://user:secret@example.com/', 'nothing'])(
    '%s is no address of a service',
    (url) => {
      expect(() => httpHarness({ url })).toThrow(/must be an http\(s\) URL/);
    },
  );
});

describe('a webhook', () => {
  const webhook = () =>
    webhookDelivery({
      url: service.url,
      secret,
      allowPrivateAddresses: true,
      linkTo: (id) => `https://inbox.test/${id}`,
    });
  const deliver = () =>
    webhook().deliver({
      continuation: record,
      harnessResult: { outcome: 'completed' } as HarnessResult,
      deliveryId: 'd-1',
      signal: new AbortController().signal,
    });

  test('brings a follow-up, signed and with the same id each time', async () => {
    expect(await deliver()).toEqual({ status: 'delivered' });
    const heard = service.heard.at(-1)!;
    expect(new Webhook(secret).verify(heard.text, heard.headers)).toMatchObject({
      type: 'continuation.follow_up',
      id: 'd-1',
      link: `https://inbox.test/${record.id}`,
    });
    expect(heard.headers['webhook-id']).toBe('d-1');
  });

  test('that may pass is thrown, and tried again; one that will not is told as failed', async () => {
    service.replies((_, response) => json(response, 500, {}));
    await expect(deliver()).rejects.toThrow('answered 500');
    service.replies((_, response) => json(response, 410, {}));
    expect(await deliver()).toEqual({ status: 'delivery_failed', error: 'The webhook answered 410.' });
  });

  test('brings each question under the id of its suspension', async () => {
    await webhook().announce?.(record);
    expect(service.heard.at(-1)?.body).toMatchObject({
      type: 'continuation.asked',
      id: record.suspension.id,
      link: `https://inbox.test/${record.id}`,
    });
  });
});
