/** The inbox as a browser without scripts meets it, on real servers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestText } from '../../src/digest.ts';
import { type ContinuationRecord, OutcomeUnknown } from '../../src/index.ts';
import type { Permission, WaitType } from '../../src/schema.ts';
import type { TestApi } from '../support/http.ts';
import { createTestInbox, formFields, hiddenFields, ORIGIN, type Shown, Visitor } from '../support/inbox.ts';
import {
  type Actors,
  becomes,
  createActors,
  created,
  gate,
  PAUSES,
  pause,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';

let stack: Stack;
let api: TestApi;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack();
  api = createTestInbox(stack);
  actors = createActors();
  await stack.startWorker({ harness: actors.harness, delivery: actors.delivery });
});
afterAll(() => stack?.close());

type Given = { subject?: string; scope?: string; permissions?: Permission[] };
async function visitor(given: Given = {}, inbox = api): Promise<Visitor> {
  const { token } = await inbox.user(given);
  const one = new Visitor(inbox.app);
  expect((await one.logIn(token)).status).toBe(303);
  return one;
}
const asked = (type: WaitType = 'user_reply', more = {}) => created(stack.client, pause(type, more));
const answerOf = (id: string) => `/inbox/${id}/answer`;

const CALLS = [
  { id: 'c1', name: 'refund', arguments: '{ "order": 1042, "amount": 25.50, "amount": 9007199254740993 }' },
  { id: 'c2', name: 'send_mail', arguments: '{"to":"ada@example.org"}' },
];
const approval = (pending = CALLS.slice(0, 1), more = {}) =>
  created(stack.client, {
    ...pause(),
    harnessResult: {
      outcome: 'awaiting_approval',
      continuation: { state: { question: 'May I refund order 1042?', approvalId: 'appr_1' }, pending },
    },
    ...more,
  });
const current = async (id: string): Promise<ContinuationRecord> =>
  (await stack.client.get({ continuationId: id })) as ContinuationRecord;

describe('the login', () => {
  test('is asked for first, and leads to the page that was wanted', async () => {
    const { id } = await asked();
    const one = new Visitor(api.app);
    const sent = await one.get(`/inbox/${id}`);
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/inbox/login?next=${id}`]);
    const { token } = await api.user();
    const entered = await one.logIn(token, id);
    expect([entered.status, entered.headers.get('location')]).toEqual([303, `/inbox/${id}`]);
    expect((await one.get(`/inbox/${id}`)).text).toContain('Which colour?');
  });

  test.each([
    'https://evil.example',
    '//evil.example/cont_01M8X9BTBZS7GK9V7QDBK65JZ1',
    '/\\evil.example',
    'javascript:alert(1)',
    'cont_01M8X9BTBZS7GK9V7QDBK65JZ1/../../x',
    'cont_01M8X9BTBZS7GK9V7QDBK65JZ1\r\nset-cookie: a=b',
  ])('leads nowhere else: %j', async (next) => {
    const { token } = await api.user();
    const entered = await new Visitor(api.app).logIn(token, next);
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/inbox']);
  });

  test('is a cookie that scripts do not see, and that forms of others do not bring', async () => {
    const { token } = await api.user();
    const one = new Visitor(api.app);
    const entered = await one.logIn(token);
    const [login] = entered.headers.getSetCookie().filter((line) => line.startsWith('continuations_login'));
    expect(login).toMatch(/; Path=\/inbox; HttpOnly; SameSite=Lax$/);
    const { client, store } = stack;
    const secure = new Visitor(
      createTestInbox({ ...stack, client, store }, { publicUrl: `https://people.test/agents` }).app,
    );
    const page = await secure.get('/inbox/login');
    expect(page.headers.getSetCookie()[0]).toMatch(
      /^__Secure-continuations_visit=.*; Path=\/agents\/inbox; HttpOnly; Secure/,
    );
    expect(page.html).toContain('action="/agents/inbox/login"');
  });

  test('is refused to a key that is wrong, revoked, or may not read', async () => {
    for (const key of ['', 'key_x', `key_01M8X9BTCT76R0YA3GF2W3Z0C5_${'a'.repeat(43)}`, 'x'.repeat(10_000)]) {
      const one = new Visitor(api.app);
      const refused = await one.logIn(key);
      expect(refused.status).toBe(401);
      expect([...one.cookies.keys()]).toEqual(['continuations_visit']);
    }
    const { token } = await api.user({ permissions: ['answer'] });
    const blind = await new Visitor(api.app).logIn(token);
    expect(blind.status).toBe(403);
    expect(blind.text).toContain('it lacks the permission read, and has answer');
  });

  test('ends with the key, and when its user says so', async () => {
    const { id } = await asked();
    const { token, keyId } = await api.user();
    const one = new Visitor(api.app);
    await one.logIn(token);
    const page = await one.get(`/inbox/${id}`);
    await stack.store.revokeKey('app=default', keyId, new Date().toISOString());
    const late = await one.fill(page, answerOf(id), { text: 'A long reply' });
    expect(late.status).toBe(401);
    expect(late.text).toContain('Your login has ended.');
    expect(late.text).toContain('A long reply');
    expect((await one.get('/inbox')).status).toBe(303);
    const other = await visitor();
    await other.fill(await other.get('/inbox'), '/inbox/logout', {});
    expect(other.cookies.size).toBe(0);
    expect((await other.get('/inbox')).headers.get('location')).toBe('/inbox/login');
  });
});

describe('forms of others', () => {
  test.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin that can be told', { origin: 'null' }],
    ['a name that only begins alike', { origin: `${ORIGIN}.evil.example` }],
  ])('are refused: %s', async (_, headers) => {
    const { id, revision } = await asked();
    const alice = await visitor();
    const fields = formFields((await alice.get(`/inbox/${id}`)).html, answerOf(id));
    const forged = await alice.post(answerOf(id), { ...fields, text: 'Green' }, headers);
    expect(forged.status).toBe(403);
    expect((await current(id)).revision).toBe(revision);
  });

  test('are refused without the token of this login, and so is a login', async () => {
    const { id, revision } = await asked();
    const [alice, bob] = [await visitor(), await visitor({ subject: 'bob' })];
    const ofBob = hiddenFields((await bob.get('/inbox')).html).formToken ?? '';
    const fields = formFields((await alice.get(`/inbox/${id}`)).html, answerOf(id));
    for (const formToken of [ofBob, '', 'x']) {
      const forged = await alice.post(answerOf(id), { ...fields, formToken, text: 'Green' });
      expect(forged.status).toBe(403);
      expect(forged.text).toContain('Green');
    }
    expect((await current(id)).revision).toBe(revision);
    const { token } = await api.user();
    const one = new Visitor(api.app);
    expect((await one.post('/inbox/login', { formToken: ofBob, key: token })).status).toBe(403);
    expect(one.cookies.has('continuations_login')).toBe(false);
  });

  test('are refused when they are no forms, or too large', async () => {
    const { id } = await asked();
    const alice = await visitor();
    const json = await alice.post(answerOf(id), {}, { 'content-type': 'application/json' });
    expect(json.status).toBe(415);
    const fields = formFields((await alice.get(`/inbox/${id}`)).html, answerOf(id));
    const huge = await alice.post(answerOf(id), { ...fields, text: 'x'.repeat(17 * 1024 * 1024) });
    expect(huge.status).toBe(413);
    const large = await alice.post(answerOf(id), { ...fields, text: 'y'.repeat(9 * 1024 * 1024) });
    expect(large.status).toBe(413);
    expect(large.text).toContain('This is too large');
    expect(formFields(large.html, answerOf(id)).text).toHaveLength(9 * 1024 * 1024);
    expect((await current(id)).status).toBe('pending');
  });
});

describe('every page', () => {
  test('runs only what is ours, and is kept nowhere', async () => {
    const { id } = await asked();
    const alice = await visitor();
    for (const path of [
      '/inbox/login',
      '/inbox',
      `/inbox/${id}`,
      '/inbox/nothing',
      `/inbox/${id.replace(/.$/, '_')}`,
    ]) {
      const { headers, html } = await alice.get(path);
      const policy = headers.get('content-security-policy');
      for (const part of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
      ])
        expect(policy).toContain(part);
      expect(policy).not.toContain('unsafe');
      expect([headers.get('cache-control'), headers.get('x-frame-options')]).toEqual(['no-store', 'DENY']);
      expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/);
    }
    const [, script = ''] = /<script src="([^"]+)"/.exec((await alice.get('/inbox')).html) ?? [];
    const asset = await alice.get(script);
    expect([asset.status, asset.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
    expect(asset.headers.get('cache-control')).toContain('immutable');
  });

  test('C16: outside the scope there is nothing', async () => {
    const { id, revision } = await asked();
    const other = await visitor({ scope: 'app=other' });
    const [alice] = [await visitor()];
    const fields = formFields((await alice.get(`/inbox/${id}`)).html, answerOf(id));
    const { formToken = '' } = hiddenFields((await other.get('/inbox')).html);
    const shown = [
      await other.get(`/inbox/${id}`),
      await other.post(answerOf(id), { ...fields, formToken, text: 'Green' }),
      await other.post(`/inbox/${id}/stop`, { formToken, reason: 'cancelled_by_user' }),
      await other.get('/inbox/cont_01M8X9BTBZS7GK9V7QDBK65JZ1'),
    ];
    for (const { status, text } of shown) {
      expect(status).toBe(404);
      expect(text).not.toContain('Which colour');
    }
    expect((await other.get('/inbox')).text).toContain('Nothing here');
    expect((await current(id)).revision).toBe(revision);
  });
});

describe('an answer', () => {
  const DECIDED: ReadonlyArray<[WaitType, Record<string, string>, object]> = [
    ['user_reply', { text: 'Green\r\nor blue' }, { message: { text: 'Green\nor blue' } }],
    ['approval_resolution', { decision: 'approved', reason: '' }, { decision: 'approved' }],
    ['external_result', { payload: '{"rows": 3}', format: 'json' }, { payload: { rows: 3 } }],
    ['external_result', { payload: '{"rows": 3}', format: 'text' }, { payload: '{"rows": 3}' }],
    [
      'agent_reply',
      { performative: 'refuse', content: 'No', format: 'text' },
      { performative: 'refuse', content: 'No' },
    ],
    ['scheduled_wake', {}, {}],
  ];
  test.each(DECIDED)('of each kind resumes the turn: %s %j', async (type, fields, trigger) => {
    const { id } = await asked(type);
    const alice = await visitor();
    const sent = await alice.fill(await alice.get(`/inbox/${id}`), answerOf(id), fields);
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/inbox/${id}?done=accepted`]);
    expect((await becomes(stack.client, id)).status).toBe('completed');
    expect(actors.turns(id)[0]?.trigger).toMatchObject({ type, ...trigger });
    const page = await alice.get(`/inbox/${id}?done=accepted`);
    expect(page.text).toContain('Your answer was accepted.');
    expect(page.text).toMatch(/What was decided alice .* in the inbox/);
  });

  test('that denies says why', async () => {
    const { id } = await asked('approval_resolution');
    const alice = await visitor();
    const page = await alice.get(`/inbox/${id}`);
    expect(page.text).toContain('A denial ends this here');
    await alice.fill(page, answerOf(id), { decision: 'denied', reason: 'Not this month' });
    expect(await becomes(stack.client, id)).toMatchObject({
      terminalReason: 'approval_denied',
      answers: [{ decision: 'denied', channel: expect.stringMatching(/^inbox:key_/), verified: true }],
    });
    expect((await alice.get(`/inbox/${id}`)).text).toMatch(/Denied .* alice denied in the inbox/);
  });

  test('about several calls decides each of them', async () => {
    const { id } = await approval(CALLS);
    const alice = await visitor();
    const page = await alice.get(`/inbox/${id}`);
    const half = await alice.fill(page, answerOf(id), { 'decision-0': 'denied', 'reason-0': 'Too much' });
    expect(half.status).toBe(422);
    expect(half.text).toContain('Approve or deny.');
    expect(formFields(half.html, answerOf(id))['reason-0']).toBe('Too much');
    await alice.fill(half, answerOf(id), { 'decision-0': 'denied', 'decision-1': 'approved' });
    await becomes(stack.client, id);
    expect(actors.turns(id)[0]?.calls).toMatchObject([
      { id: 'c1', decision: 'denied', reason: 'Too much' },
      { id: 'c2', decision: 'approved', edited: false, arguments: CALLS[1]?.arguments },
    ]);
  });

  test('from outside gives a result, an error, or the call back', async () => {
    const { id } = await created(stack.client, {
      ...pause(),
      harnessResult: {
        outcome: 'deferred',
        continuation: {
          state: { operationId: 'op_1' },
          pending: [...CALLS, { id: 'c3', name: 'wait', arguments: '{}' }],
        },
      },
    });
    const alice = await visitor();
    const fields = {
      'outcome-0': 'result',
      'result-0': '{"ok":',
      'format-0': 'json',
      'outcome-1': 'error',
      'result-1': 'No such box',
      'outcome-2': 'execute',
    };
    const bad = await alice.fill(await alice.get(`/inbox/${id}`), answerOf(id), fields);
    expect(bad.status).toBe(422);
    expect(bad.text).toContain('This is not JSON');
    expect(formFields(bad.html, answerOf(id))['result-0']).toBe('{"ok":');
    await alice.fill(bad, answerOf(id), { ...fields, 'result-0': '{"ok":true}' });
    await becomes(stack.client, id);
    expect(actors.turns(id)[0]?.calls).toMatchObject([
      { decision: 'result', result: { ok: true } },
      { decision: 'error', reason: 'No such box' },
      { decision: 'execute' },
    ]);
  });
});

describe('the arguments of a call', () => {
  test('are shown as they are written: every digit, every member', async () => {
    const { id } = await approval();
    const { html, text } = await (await visitor()).get(`/inbox/${id}`);
    expect(text).toMatch(/order 1042 amount 25\.50 amount 9007199254740993/);
    expect(html).toContain(
      '{ &quot;order&quot;: 1042, &quot;amount&quot;: 25.50, &quot;amount&quot;: 9007199254740993 }',
    );
  });

  test('are edited with what changes shown before it is sent', async () => {
    const { id } = await approval();
    const alice = await visitor();
    const fields = { decision: 'approved', 'arguments-0': '{ "order": 1042, "amount": 20 }' };
    const review = await alice.fill(await alice.get(`/inbox/${id}`), answerOf(id), fields);
    expect([review.status, (await current(id)).status]).toEqual([200, 'pending']);
    expect(review.text).toContain('Is this what you mean?');
    expect(review.html).toMatch(/<del>[^<]*25\.50.*<\/del>.*<ins>[^<]*20/s);
    const back = await alice.fill(review, answerOf(id), { step: 'edit' });
    expect(formFields(back.html, answerOf(id))['arguments-0']).toBe(fields['arguments-0']);
    await alice.fill(review, answerOf(id), { step: 'confirmed' });
    await becomes(stack.client, id);
    expect(actors.turns(id)[0]?.calls).toMatchObject([
      { decision: 'approved', edited: true, arguments: fields['arguments-0'] },
    ]);
  });

  test('that are no JSON any more are refused, and stay in the form', async () => {
    const { id } = await approval();
    const alice = await visitor();
    const fields = { decision: 'approved', 'arguments-0': '{ "order": 1042,' };
    const bad = await alice.fill(await alice.get(`/inbox/${id}`), answerOf(id), fields);
    expect(bad.status).toBe(422);
    expect(formFields(bad.html, answerOf(id))['arguments-0']).toBe(fields['arguments-0']);
    expect((await current(id)).status).toBe('pending');
  });

  test('are not edited by the line ends of browsers', async () => {
    const text = '{\n  "order": 1042,\r\n  "note": "\u202eabc"\n}';
    const { id } = await approval([{ id: 'c1', name: 'refund', arguments: text }]);
    const alice = await visitor();
    await alice.fill(await alice.get(`/inbox/${id}`), answerOf(id), { decision: 'approved' });
    await becomes(stack.client, id);
    expect(actors.turns(id)[0]?.calls).toMatchObject([{ edited: false, arguments: text }]);
  });
});

/** What a second person is told whose page is older than the answer of the first. */
async function tooLate(
  id: string,
  between: () => Promise<unknown>,
  fields: Record<string, string> = { text: 'Too late' },
): Promise<Shown> {
  const bob = await visitor({ subject: 'bob' });
  const stale = await bob.get(`/inbox/${id}`);
  await between();
  return bob.fill(stale, answerOf(id), fields);
}

describe('C1: whoever is late', () => {
  const first = async (id: string): Promise<void> => {
    const alice = await visitor();
    await alice.fill(await alice.get(`/inbox/${id}`), answerOf(id), { text: 'Green' });
  };

  test('is told who answered, when, by which channel, and keeps the words', async () => {
    const { id } = await asked();
    const open = gate();
    actors.plays(id, async () => {
      await open.opened;
      return { outcome: 'completed' };
    });
    const late = await tooLate(id, () => first(id));
    open.open();
    expect(late.status).toBe(409);
    expect(late.text).toMatch(/Too late: this was already answered alice replied in the inbox , \d+ Dec/);
    expect(late.text).toContain('What you had typed It was not sent. Too late');
  });

  test('also when it asks again: the new question is not answered by the old form', async () => {
    const { id } = await asked();
    actors.plays(id, () => PAUSES.approval_resolution);
    const late = await tooLate(id, async () => {
      await first(id);
      await becomes(stack.client, id, ({ status, answers }) => status === 'pending' && answers.length === 1);
    });
    expect(late.status).toBe(409);
    expect(late.text).toMatch(/already answered alice replied in the inbox .* It asks again: see below/);
    expect(late.text).toContain('Refund order 42?');
    expect((await current(id)).answers).toHaveLength(1);
  });

  test('also with a form that is not filled in', async () => {
    const { id } = await asked();
    const late = await tooLate(id, () => first(id), { text: ' ' });
    expect([late.status, late.text.includes('alice replied in the inbox')]).toEqual([409, true]);
  });

  test('also after the deadline, and after a stop', async () => {
    const short = await asked('user_reply', { bounds: { expiresAt: new Date(Date.now() + 1_500).toISOString() } });
    const late = await tooLate(short.id, () => becomes(stack.client, short.id));
    expect([late.status, late.text.includes('Expired: nobody answered in time')]).toEqual([410, true]);
    expect(late.text).toContain('What you had typed');
    const stopped = await asked();
    const after = await tooLate(stopped.id, async () =>
      taken(await stack.client.stop({ continuationId: stopped.id, reason: 'cancelled_by_user' })),
    );
    expect([after.status, after.text.includes('Stopped by a user')]).toEqual([409, true]);
  });

  test('and whoever sends a form twice has answered once', async () => {
    const { id } = await asked();
    const alice = await visitor();
    const page = await alice.get(`/inbox/${id}`);
    const both = await Promise.all([1, 2].map(() => alice.fill(page, answerOf(id), { text: 'Green' })));
    const again = await alice.fill(page, answerOf(id), { text: 'Green' });
    expect([...both, again].map(({ headers }) => headers.get('location'))).toEqual(
      Array(3).fill(`/inbox/${id}?done=accepted`),
    );
    const other = await alice.fill(page, answerOf(id), { text: 'Blue' });
    expect(other.status).toBe(409);
    expect(other.text).toContain('You have already answered this, otherwise');
    expect((await becomes(stack.client, id)).answers).toHaveLength(1);
  });
});

test('without a worker the answer is kept, and the page says so', async () => {
  const idle = await startStack({ answerTimeoutMs: 300 });
  try {
    const own = createTestInbox(idle);
    const { id } = await created(idle.client);
    const alice = await visitor({}, own);
    const sent = await alice.fill(await alice.get(`/inbox/${id}`), answerOf(id), { text: 'Green' });
    expect(sent.headers.get('location')).toBe(`/inbox/${id}?done=stored`);
    expect((await alice.get(`/inbox/${id}?done=stored`)).text).toContain('No worker has taken it yet.');
  } finally {
    await idle.close();
  }
});

describe('a caller without a permission', () => {
  test.each([
    ['user_reply', ['read', 'approve'], 'answer'],
    ['approval_resolution', ['read', 'answer'], 'approve'],
    ['agent_reply', ['read', 'answer', 'approve'], 'bus'],
  ] as const)('sees why there is no button: %s', async (type, permissions, needed) => {
    const { id } = await asked(type);
    const [alice, all] = [await visitor({ permissions: [...permissions] }), await visitor()];
    const page = await alice.get(`/inbox/${id}`);
    expect(page.text).toContain(`You cannot answer it: it needs the permission ${needed}. Your key has`);
    expect(page.html).not.toContain(answerOf(id));
    const fields = formFields((await all.get(`/inbox/${id}`)).html, answerOf(id));
    const { formToken = '' } = hiddenFields(page.html);
    const forced = await alice.post(answerOf(id), {
      ...fields,
      formToken,
      text: 'x',
      decision: 'approved',
      performative: 'inform',
      content: 'x',
    });
    expect([forced.status, (await current(id)).status]).toEqual([403, 'pending']);
  });
});

describe('text of models and users', () => {
  const HOSTILE =
    '<script>alert(1)</script><img src=x onerror=alert(2)> https://evil.example \u202ecod.exe\u202c "&<b>\u0007';

  test('is never markup, and what is not seen is shown', async () => {
    const { id } = await created(stack.client, {
      ...pause(),
      assistantId: '<i>me</i>',
      sessionId: '"><script>',
      harnessResult: {
        outcome: 'awaiting_approval',
        continuation: {
          state: { question: HOSTILE },
          pending: [
            {
              id: '<c>',
              name: '</code><script>',
              arguments: JSON.stringify({ '<k>': HOSTILE, deep: [{ '"': '<u>' }] }),
            },
          ],
        },
      },
    });
    const alice = await visitor();
    for (const path of [
      `/inbox/${id}`,
      `/inbox?${new URLSearchParams({ text: '<script>"', sessionId: '"><script>' })}`,
    ]) {
      const { html } = await alice.get(path);
      expect(html).not.toMatch(/<script(?! src="\/inbox\/assets\/)|<i>|<b>|<u>|<k>|<c>|<img src=x/);
      expect(html).not.toContain('href="https://evil');
    }
    const { html } = await alice.get(`/inbox/${id}`);
    expect(html).toContain('<span class="unseen">U+202E</span>cod.exe<span class="unseen">U+202C</span>');
    expect(html).toContain('<span class="unseen">U+0007</span>');
  });

  test('of 100 KB is folded, and whole', async () => {
    const question = `${'word '.repeat(20_000)}the end`;
    const { id } = await created(stack.client, {
      ...pause(),
      harnessResult: { outcome: 'needs_clarification', continuation: { state: { question } } },
    });
    const { text } = await (await visitor()).get(`/inbox/${id}`);
    expect(text).toContain('Show all of it (98 KB)');
    expect(text).toContain('word word the end');
  });
});

describe('the list', () => {
  const scope = 'app=default/tenant=list';
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const one = (question: string, more = {}) =>
    created(stack.client, {
      ...pause(),
      scope,
      harnessResult: { outcome: 'needs_clarification', continuation: { state: { question } } },
      ...more,
    });
  const order = (text: string, ...words: string[]) => words.map((word) => text.indexOf(word));

  test('shows what is due first, first, and finds it by its words', async () => {
    await one('Refund the kettle, please', { bounds: { expiresAt: at(90) } });
    await one('Ship to São Paulo?', { bounds: { neverExpires: true } });
    await one('Refund order #1042 (urgent)', {
      bounds: { expiresAt: at(20) },
      assistantId: 'billing',
      sessionId: 's-9',
    });
    const alice = await visitor({ scope });
    const { text } = await alice.get('/inbox');
    const places = order(text, 'Due soon', 'urgent', 'kettle', 'São Paulo');
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places.every((place) => place >= 0)).toBe(true);
    const found = async (query: Record<string, string>) => {
      const shown = (await alice.get(`/inbox?${new URLSearchParams(query)}`)).text;
      return ['urgent', 'kettle', 'São Paulo'].filter((word) => shown.includes(word));
    };
    expect(await found({ text: 'REFU' })).toEqual(['urgent', 'kettle']);
    expect(await found({ text: '1042 refund' })).toEqual(['urgent']);
    expect(await found({ text: 'são' })).toEqual(['São Paulo']);
    expect(await found({ text: "'; drop table --" })).toEqual([]);
    expect(await found({ assistantId: 'billing' })).toEqual(['urgent']);
    expect(await found({ sessionId: 's-9', status: 'pending', waitFor: 'user_reply' })).toEqual(['urgent']);
    expect(await found({ waitFor: 'approval_resolution' })).toEqual([]);
    expect(await found({ status: 'ended' })).toEqual([]);
    expect(await found({ scope: 'app=other' })).toEqual([]);
    expect(await found({ status: 'nonsense', waitFor: 'x', scope: '///' })).toEqual(['urgent', 'kettle', 'São Paulo']);
  });

  test('is paged without a gap', async () => {
    const own = 'app=default/tenant=pages';
    await Promise.all(
      Array.from({ length: 53 }, (_, i) => one(`q${i}.`, { scope: own, bounds: { expiresAt: at(10 + (i % 3)) } })),
    );
    const alice = await visitor({ scope: own });
    const page = await alice.get('/inbox');
    const [, next = ''] = /href="([^"]+)">Next page/.exec(page.html) ?? [];
    const rest = await alice.get(next.replaceAll('&amp;', '&'));
    const seen = [...`${page.text} ${rest.text}`.matchAll(/\bq(\d+)\./g)].map(([, i]) => Number(i));
    expect(seen).toHaveLength(53);
    expect(new Set(seen).size).toBe(53);
    expect(rest.html).not.toContain('Next page');
  });
});

describe('an operator', () => {
  const unknown = async (): Promise<string> => {
    const { id } = await asked();
    actors.plays(id, async ({ attempt, effect }) => {
      if (attempt > 1) return { outcome: 'completed' };
      await effect('mail', () => 'sent');
      await effect('refund', () => {
        throw new OutcomeUnknown('the bank did not answer');
      });
      return { outcome: 'completed' };
    });
    taken(
      await stack.client.resume({ continuationId: id, trigger: { type: 'user_reply', message: { text: 'Green' } } }),
    );
    await becomes(stack.client, id, ({ resume }) => resume?.uncertain !== undefined);
    return id;
  };
  const PROOF = { proofRef: 'ticket 7', proofText: 'statement\r\nof the bank', proofDigest: '', resultText: '' };

  test('sees what is known of an unknown outcome, and decides it on proof', async () => {
    const id = await unknown();
    const alice = await visitor();
    expect((await alice.get('/inbox?status=uncertain')).text).toMatch(/Unknown outcomes \(\d\+?\)/);
    const page = await alice.get(`/inbox/${id}`);
    for (const part of [
      'Nobody knows how this turn ended',
      'the bank did not answer',
      'mail Done 1',
      'refund Started, no end recorded 1',
      'Last heard of',
    ])
      expect(page.text).toContain(part);
    const to = `/inbox/${id}/reconcile`;
    const blind = await alice.fill(page, to, {
      action: 'did_not_happen',
      proofRef: 'ticket 7',
      proofText: '',
      observedAt: '2026-12-03T06:00',
    });
    expect([blind.status, blind.text.includes('Give the proof, or its digest.')]).toEqual([422, true]);
    expect(blind.html).toContain('value="ticket 7"');
    const sent = await alice.fill(page, to, { ...PROOF, action: 'did_not_happen', observedAt: '2026-12-03T06:00' });
    expect(sent.headers.get('location')).toBe(`/inbox/${id}?done=reconciled`);
    expect((await becomes(stack.client, id)).status).toBe('completed');
    const decided = (await stack.client.receipts(id))?.find(({ kind }) => kind === 'reconciled');
    expect(JSON.parse(decided?.body ?? '')).toMatchObject({
      action: 'did_not_happen',
      actor: 'alice',
      proof: { ref: 'ticket 7', digest: digestText('statement\nof the bank') },
    });
    const again = await alice.fill(page, to, { ...PROOF, action: 'close_incomplete', observedAt: '2026-12-03T06:00' });
    expect(again.status).toBe(409);
    expect(again.text).toContain('decided before, otherwise: did_not_happen by alice');
  });

  test('says what the turn came to', async () => {
    const id = await unknown();
    const alice = await visitor();
    const fields = {
      ...PROOF,
      action: 'happened',
      outcome: 'completed',
      resultText: 'Refunded.',
      observedAt: '2026-12-03T06:00',
    };
    await alice.fill(await alice.get(`/inbox/${id}`), `/inbox/${id}/reconcile`, fields);
    await becomes(stack.client, id);
    expect((await stack.client.get({ continuationId: id, include: ['result'] }))?.result).toMatchObject({
      outcome: 'completed',
      assistantMessage: { text: 'Refunded.' },
    });
  });

  test('is told what is missing without the permission', async () => {
    const id = await unknown();
    const page = await (await visitor({ permissions: ['read', 'answer'] })).get(`/inbox/${id}`);
    expect(page.text).toContain('You cannot decide this: it needs the permission operate.');
    expect(page.text).toContain('You cannot stop it: it needs the permission operate or create.');
    expect(page.html).not.toContain('/reconcile"');
  });

  test('gives more time, once for a form, and stops', async () => {
    const { id, bounds } = await asked();
    const alice = await visitor();
    const page = await alice.get(`/inbox/${id}`);
    const [, expiresAt = ''] = /<select id="expiresAt"[^>]*><option value="([^"]+)"/.exec(page.html) ?? [];
    expect(Date.parse(expiresAt) - Date.parse(bounds.expiresAt ?? '')).toBe(3_600_000);
    expect((await alice.fill(page, `/inbox/${id}/extend`, { expiresAt })).headers.get('location')).toBe(
      `/inbox/${id}?done=extended`,
    );
    expect((await alice.fill(page, `/inbox/${id}/extend`, { expiresAt })).status).toBe(422);
    expect((await current(id)).bounds).toMatchObject({ expiresAt, extensions: 1 });
    const sent = await alice.fill(page, `/inbox/${id}/stop`, { reason: 'cancelled_by_user' });
    expect(sent.headers.get('location')).toBe(`/inbox/${id}?done=stopped`);
    expect((await becomes(stack.client, id)).terminalReason).toBe('cancelled_by_user');
  });
});
