/** The inbox in real Chromium, on the whole real stack: people answer, race, come late, and lose their scripts. */
import axe from 'axe-core';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccess } from '../../src/http/access.ts';
import { createInbox } from '../../src/http/inbox/index.ts';
import { type HttpServer, serve } from '../../src/http/serve.ts';
import { OutcomeUnknown } from '../../src/index.ts';
import type { Permission, WaitType } from '../../src/schema.ts';
import { DESKTOP, overflows, screenshot, startBrowser, type TestBrowser } from '../support/browser.ts';
import { createTestApi, type TestApi } from '../support/http.ts';
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

/** The narrowest telephone that is still sold. */
const SMALL_PHONE = { width: 360, height: 780 };

let stack: Stack;
let actors: Actors;
let api: TestApi;
let server: HttpServer;
let browser: TestBrowser;
beforeAll(async () => {
  // Whatever a page shows at once it was told.
  stack = await startStack({ pollMs: 3_600_000 });
  actors = createActors();
  await stack.startWorker({ harness: actors.harness, delivery: actors.delivery });
  const inbox = createInbox({ client: stack.client, access: createAccess(stack.store) });
  api = createTestApi(stack, { mounts: { '/inbox': inbox } });
  server = await serve({ fetch: api.app.fetch, host: '127.0.0.1', port: 0, graceMs: 100 });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await stack?.close();
});

type Given = { subject?: string; scope?: string; permissions?: Permission[] } & BrowserContextOptions;

/** Somebody at a browser of their own, logged in. */
async function person({
  subject = 'alice',
  scope = 'app=default',
  permissions,
  ...options
}: Given = {}): Promise<Page> {
  const { token } = await api.user({ subject, scope, ...(permissions && { permissions }) });
  const page = await (await browser.context(options)).newPage();
  await page.goto(`${server.url}/inbox`);
  await page.getByLabel('Your key').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'What waits' }).waitFor();
  return page;
}
const asked = (type: WaitType = 'user_reply', more = {}) => created(stack.client, pause(type, more));
const open = (page: Page, id: string) => page.goto(`${server.url}/inbox/${id}`);
const shows = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor({ timeout: 10_000 });

const CALLS = [
  {
    id: 'c1',
    name: 'refund',
    arguments: '{"order": "1042", "amount": 25.50, "to": {"iban": "DE02 1203 0000 0000 2020 51"}}',
  },
  {
    id: 'c2',
    name: 'send_mail',
    arguments: '{"to": "ada@example.org", "text": "Your money is on its way.\\nKind regards"}',
  },
];
const calls = (pending: typeof CALLS, more = {}) =>
  created(stack.client, {
    ...pause(),
    harnessResult: {
      outcome: 'awaiting_approval',
      continuation: {
        state: { question: 'The kettle of order 1042 arrived broken. May I give the money back?', approvalId: 'a' },
        pending,
      },
    },
    ...more,
  });

/** What an assistive technology would stumble over, by axe. */
async function faults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`,
  );
}

describe('every kind of answer', () => {
  const ANSWERS: ReadonlyArray<[WaitType, (page: Page) => Promise<void>]> = [
    [
      'user_reply',
      async (page) => {
        await page.getByLabel('Your reply').fill('Green\nor blue');
        await page.getByRole('button', { name: 'Send reply' }).click();
      },
    ],
    ['approval_resolution', (page) => page.getByRole('button', { name: 'Approve' }).click()],
    [
      'external_result',
      async (page) => {
        await page.getByLabel('Result', { exact: true }).fill('{"rows": 3}');
        await page.getByLabel('Written as').selectOption('JSON');
        await page.getByRole('button', { name: 'Send result' }).click();
      },
    ],
    [
      'agent_reply',
      async (page) => {
        await page.getByLabel('Answer', { exact: true }).fill('Four are left');
        await page.getByRole('button', { name: 'Send answer' }).click();
      },
    ],
    ['scheduled_wake', (page) => page.getByRole('button', { name: 'Wake it now' }).click()],
  ];
  const TRIGGERS: Record<WaitType, object> = {
    user_reply: { message: { text: 'Green\nor blue' } },
    approval_resolution: { decision: 'approved' },
    external_result: { payload: { rows: 3 } },
    agent_reply: { performative: 'inform', content: 'Four are left' },
    scheduled_wake: {},
  };
  const both = ANSWERS.flatMap(([type, act]) =>
    [true, false].map((javaScriptEnabled) => ({ type, act, javaScriptEnabled })),
  );
  test.each(both)('$type, scripts: $javaScriptEnabled', async ({ type, act, javaScriptEnabled }) => {
    const { id } = await asked(type);
    const page = await person({ javaScriptEnabled });
    await open(page, id);
    await act(page);
    await shows(page, 'Your answer was accepted.');
    expect((await becomes(stack.client, id)).status).toBe('completed');
    expect(actors.turns(id)[0]?.trigger).toMatchObject({ type, ...TRIGGERS[type] });
    await page.reload();
    await shows(page, 'Completed');
    await page.context().close();
  });

  test('several calls, one edited after its changes were shown, with the keyboard alone', async () => {
    const { id } = await calls(CALLS);
    const page = await person();
    await open(page, id);
    const focused = page.locator(':focus');
    /** Presses Tab until something has the focus. */
    const to = async (wanted: Locator) => {
      for (let i = 0; i < 60; i++) {
        if ((await wanted.and(focused).count()) === 1) return;
        await page.keyboard.press('Tab');
      }
      throw new Error(`Tab does not get to ${wanted}`);
    };
    const role = (kind: 'radio' | 'textbox' | 'button', name: string, nth = 0) =>
      to(page.getByRole(kind, { name }).nth(nth));
    await role('radio', 'Approve');
    await page.keyboard.press('Space');
    await to(page.getByText('Edit the arguments').first());
    await page.keyboard.press('Enter');
    await role('textbox', 'Arguments to run it with');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('{"order": "1042", "amount": 20}');
    await role('radio', 'Approve', 1);
    await page.keyboard.press('ArrowDown');
    await role('button', 'Send decisions');
    await page.keyboard.press('Enter');
    await shows(page, 'Is this what you mean?');
    expect(await page.locator('del').first().isVisible()).toBe(true);
    expect((await stack.client.get({ continuationId: id }))?.status).toBe('pending');
    await role('button', 'Approve with these changes');
    await page.keyboard.press('Enter');
    await shows(page, 'Your answer was accepted.');
    await becomes(stack.client, id);
    expect(actors.turns(id)[0]?.calls).toMatchObject([
      { id: 'c1', decision: 'approved', edited: true, arguments: '{"order": "1042", "amount": 20}' },
      { id: 'c2', decision: 'denied' },
    ]);
    await page.context().close();
  });
});

describe('two people', () => {
  test('race: one wins, and the other is told by whom', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await asked('approval_resolution');
      const open_ = gate();
      actors.plays(id, async () => {
        await open_.opened;
        return { outcome: 'completed' };
      });
      const people = await Promise.all(
        ['alice', 'bob'].map((subject) => person({ subject, javaScriptEnabled: false })),
      );
      await Promise.all(people.map((page) => open(page, id)));
      await Promise.all(people.map((page) => page.getByRole('button', { name: 'Approve' }).click()));
      const told = await Promise.all(
        people.map((page) => page.evaluate<string>("document.querySelector('main').innerText")),
      );
      expect(told.filter((text) => text.includes('Your answer was accepted.'))).toHaveLength(1);
      const winner = told[0]?.includes('accepted') ? 'alice' : 'bob';
      const loser = told.find((text) => text.includes('Too late'));
      expect(loser).toMatch(new RegExp(`Too late: this was already answered\\s+${winner} approved in the inbox`));
      open_.open();
      await Promise.all(people.map((page) => page.context().close()));
    }
  });

  test('an answer shows at once to who looks on, and what they had typed is kept', async () => {
    const { id } = await asked();
    const [alice, bob] = await Promise.all([person(), person({ subject: 'bob' })]);
    await Promise.all([open(alice, id), open(bob, id)]);
    await bob.getByLabel('Your reply').fill('Half a sentence');
    await alice.getByLabel('Your reply').fill('Green');
    await alice.getByRole('button', { name: 'Send reply' }).click();
    await shows(bob, /alice\s+replied/);
    await shows(bob, 'Half a sentence');
    expect(await bob.getByRole('button', { name: 'Send reply' }).count()).toBe(0);
    await expect.poll(() => bob.locator('#announcement').textContent()).toContain('alice replied in the inbox');
    await Promise.all([alice, bob].map((page) => page.context().close()));
  });

  test('the list shows what comes and goes', async () => {
    const scope = 'app=default/tenant=live';
    const page = await person({ scope });
    await shows(page, 'Nothing here');
    const { id } = await created(stack.client, { ...pause(), scope });
    await shows(page, 'Which colour?');
    await page.getByRole('link', { name: 'Which colour?' }).focus();
    const second = await created(stack.client, { ...pause('approval_resolution'), scope });
    await shows(page, 'Refund order 42?');
    expect(await page.evaluate('document.activeElement.id')).toBe(id);
    taken(await stack.client.stop({ continuationId: second.id, reason: 'cancelled_by_user' }));
    await page.getByText('Refund order 42?').waitFor({ state: 'detached' });
    await page.context().close();
  });
});

describe('a page that is older than what it shows', () => {
  test('a stale tab gets the new question, and does not answer it', async () => {
    const { id } = await asked();
    actors.plays(id, () => PAUSES.approval_resolution);
    const stale = await person({ javaScriptEnabled: false });
    await open(stale, id);
    taken(
      await stack.client
        .as({ subject: 'carol', channel: 'cli', verified: true })
        .resume({ continuationId: id, trigger: { type: 'user_reply', message: { text: 'Red' } } }),
    );
    await becomes(stack.client, id, ({ status, answers }) => status === 'pending' && answers.length === 1);
    await stale.getByLabel('Your reply').fill('Green');
    await stale.getByRole('button', { name: 'Send reply' }).click();
    await shows(stale, 'Too late: this question was already answered');
    await shows(stale, /carol\s+replied on the command line/);
    await shows(stale, 'Refund order 42?');
    await stale.getByRole('button', { name: 'Deny' }).click();
    await shows(stale, 'Your answer was accepted.');
    await stale.context().close();
  });

  test('the time runs out while the page is open', async () => {
    const page = await person();
    // Asked once the person is logged in: the time is for what they do with the question.
    const { id } = await asked('user_reply', { bounds: { expiresAt: new Date(Date.now() + 8_000).toISOString() } });
    await open(page, id);
    await shows(page, /\(in \d s\)/);
    await page.getByLabel('Your reply').fill('Nearly');
    await shows(page, 'Expired: nobody answered in time');
    await shows(page, 'Nearly');
    expect(await page.getByRole('button', { name: 'Send reply' }).count()).toBe(0);
    await page.context().close();
  });

  test('going back and sending again counts once', async () => {
    const { id } = await asked();
    const page = await person();
    await open(page, id);
    await page.getByLabel('Your reply').fill('Green');
    await page.getByRole('button', { name: 'Send reply' }).dblclick();
    await shows(page, 'Your answer was accepted.');
    await page.goBack();
    await page.reload();
    expect((await becomes(stack.client, id)).answers).toHaveLength(1);
    await page.context().close();
  });
});

test('a hostile question does nothing, and breaks nothing', async () => {
  const question = `<script>document.title='owned'</script><img src=x onerror="document.title='owned'"> https://evil.example/ \u202eexe.doc\u202c ${'A'.repeat(50_000)} שלום ${'word '.repeat(10_000)}`;
  const { id } = await created(stack.client, {
    ...pause(),
    harnessResult: {
      outcome: 'awaiting_approval',
      assistantMessage: { text: question },
      continuation: {
        state: { question },
        pending: [
          { id: 'c1', name: '<b>'.repeat(40), arguments: JSON.stringify({ [question.slice(0, 300)]: question }) },
        ],
      },
    },
  });
  const page = await person({ viewport: SMALL_PHONE });
  for (const path of ['', `/${id}`]) {
    await page.goto(`${server.url}/inbox${path}`);
    expect(await page.title()).not.toBe('owned');
    expect(await overflows(page)).toBe(false);
    expect(await page.locator('main a[href*="evil"]').count()).toBe(0);
  }
  await page.getByText('Show all of it').first().click();
  expect(await overflows(page)).toBe(false);
  await page.getByRole('button', { name: 'Approve' }).click();
  await shows(page, 'Your answer was accepted.');
  expect(actors.turns(id)[0]?.calls).toMatchObject([{ edited: false }]);
  expect(browser.outside).toEqual([]);
  await page.context().close();
});

describe('how it looks', () => {
  const LOOKS = (['light', 'dark'] as const).flatMap((colorScheme) =>
    (
      [
        ['desktop', DESKTOP],
        ['phone', SMALL_PHONE],
      ] as const
    ).map(([device, viewport]) => ({ name: `${device}-${colorScheme}`, viewport, colorScheme })),
  );
  const scope = 'app=default/tenant=looks';
  const paths: Array<[name: string, path: string]> = [];
  beforeAll(async () => {
    const soon = new Date(Date.now() + 25 * 60_000).toISOString();
    const one = await calls(CALLS.slice(0, 1), {
      scope,
      sessionId: 'chat-8812',
      userId: 'ada',
      bounds: { expiresAt: soon },
    });
    const several = await calls(CALLS, { scope, originTurnId: 'several' });
    const question = await created(stack.client, {
      ...pause(),
      scope,
      assistantId: 'travel',
      harnessResult: {
        outcome: 'needs_clarification',
        continuation: { state: { question: 'Two trains go on Friday: 07:12 and 09:40.\n\nWhich one shall I book?' } },
      },
    });
    const result = await created(stack.client, { ...pause('external_result'), scope, assistantId: 'reports' });
    const agent = await created(stack.client, { ...pause('agent_reply'), scope });
    const wake = await created(stack.client, { ...pause('scheduled_wake'), scope });
    const again = await created(stack.client, { ...pause(), scope });
    actors.plays(again.id, () => ({
      ...PAUSES.approval_resolution,
      continuation: { ...PAUSES.approval_resolution.continuation, pending: CALLS.slice(0, 1) },
    }));
    const alice = stack.client.as({ subject: 'alice', channel: 'inbox:key_1', verified: true });
    const text = { type: 'user_reply', message: { text: 'Green' } } as const;
    taken(await alice.resume({ continuationId: again.id, trigger: text }));
    await becomes(stack.client, again.id, ({ status, answers }) => status === 'pending' && answers.length === 1);
    const unknown = await created(stack.client, { ...pause(), scope });
    actors.plays(unknown.id, async ({ effect }) => {
      await effect('mail to ada@example.org', () => 'sent');
      await effect('refund of order 1042', () => {
        throw new OutcomeUnknown('the bank did not answer within 30 s');
      });
      return { outcome: 'completed' };
    });
    taken(await alice.resume({ continuationId: unknown.id, trigger: text }));
    await becomes(stack.client, unknown.id, ({ resume }) => resume?.uncertain !== undefined);
    const done = await created(stack.client, { ...pause('approval_resolution'), scope });
    taken(
      await alice.resume({
        continuationId: done.id,
        trigger: { type: 'approval_resolution', approvalId: 'appr_1', decision: 'denied' },
      }),
    );
    await becomes(stack.client, done.id);
    const named = { one, several, question, result, agent, wake, again, unknown, done };
    paths.push(
      ['list', ''],
      ['list-ended', '?status=ended'],
      ['list-filters', '?waitFor=approval_resolution'],
      ['list-none', '?text=nothing'],
      ['missing', '/nothing'],
    );
    for (const [name, { id }] of Object.entries(named)) paths.push([`ask-${name}`, `/${id}`]);
  });

  test.each(LOOKS)('$name', async ({ name, ...options }) => {
    const page = await person({ scope, ...options });
    const looked: Record<string, unknown> = {};
    for (const [which, path] of paths) {
      await page.goto(`${server.url}/inbox${path}`);
      await screenshot(page, `inbox-${which}-${name}`);
      const [wide, found] = [await overflows(page), await faults(page)];
      if (wide || found.length > 0) looked[which] = { wide, found };
    }
    const [, several = ''] = paths.find(([which]) => which === 'ask-one') ?? [];
    await page.goto(`${server.url}/inbox${several}`);
    await page.getByText('Edit the arguments').click();
    await page
      .getByLabel('Arguments to run it with')
      .fill('{"order": "1042", "amount": 20.00, "to": {"iban": "DE02 1203 0000 0000 2020 51"}}');
    await screenshot(page, `inbox-editing-${name}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'Is this what you mean?');
    await screenshot(page, `inbox-review-${name}`);
    if ((await faults(page)).length > 0) looked.review = await faults(page);
    const visitor = await (await browser.context(options)).newPage();
    await visitor.goto(`${server.url}/inbox/login`);
    await screenshot(visitor, `inbox-login-${name}`);
    if ((await faults(visitor)).length > 0) looked.login = await faults(visitor);
    expect(looked).toEqual({});
    await page.context().close();
  });
});

test('no page broke its own rules', () => {
  // A refusal is told with its status, which a browser logs.
  expect(browser.errors.filter((error) => !/status of 4\d\d/.test(error))).toEqual([]);
  expect(browser.outside).toEqual([]);
});
