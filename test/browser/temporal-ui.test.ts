/** What a person sees of a continuation in the web UI of Temporal's own development server, and that an answer can be given there. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, onTestFailed, test } from 'vitest';
import { freePort } from '../../src/dev/tcp-port.ts';
import { startTemporalServer, type TemporalServer } from '../../src/dev/temporal-server.ts';
import { screenshot, startBrowser, type TestBrowser } from '../support/browser.ts';
import { agreedEnd, createActors, created, PAUSES, pause, type Stack, startStack } from '../support/stack.ts';

let temporal: TemporalServer;
let stack: Stack;
let browser: TestBrowser;
const actors = createActors();
const link = (id: string) => `http://127.0.0.1:8080/inbox/${id}`;
beforeAll(async () => {
  temporal = await startTemporalServer({ cliPath: inject('temporalCli'), uiPort: await freePort() });
  stack = await startStack({ linkTo: link }, { address: temporal.address });
  await stack.startWorker({ harness: actors.harness, delivery: actors.delivery });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await stack?.close();
  await temporal?.stop();
});

type Tab = 'timeline' | 'user-metadata' | 'search-attributes' | 'history';

/** Opens a tab of a workflow, and waits until it shows the text. */
async function open(page: Page, id: string, tab: Tab, text: string | RegExp): Promise<void> {
  const { runId } = await stack.handle(id).describe();
  await page.goto(`${temporal.uiUrl}/namespaces/default/workflows/${id}/${runId}/${tab}`);
  await page.getByRole('main').getByText(text).first().waitFor({ timeout: 30_000 });
}

/** The parts of the metadata tab: each is markdown in a frame of its own. */
async function metadata(page: Page, id: string) {
  await open(page, id, 'user-metadata', 'Current Details');
  const part = (index: number) => page.locator('main iframe').nth(index).contentFrame().locator('body');
  const [summary, details, current] = [part(0), part(1), part(2)];
  await current.getByText('Status').waitFor({ timeout: 30_000 });
  return { summary, details, current };
}

async function newPage(): Promise<Page> {
  const page = await (await browser.context({ timezoneId: 'UTC', locale: 'en-GB' })).newPage();
  onTestFailed(() => screenshot(page, 'temporal-ui-failed'));
  return page;
}

test('what waits, until when, who may answer it and how', async () => {
  const record = await created(stack.client, {
    ...pause('approval_resolution', { sessionId: 'chat-1' }),
    harnessResult: {
      ...PAUSES.approval_resolution,
      continuation: {
        state: { question: 'Refund <b>42</b> & more?\n[free](http://evil.example)', approvalId: 'appr_1' },
      },
    },
  });
  await stack.waits(record.id);
  const page = await newPage();
  const until = `${record.bounds.expiresAt?.slice(0, 16).replace('T', ' ')} UTC`;

  const { summary, details, current } = await metadata(page, record.id);
  expect((await summary.innerText()).trim()).toBe(
    'support waits for an approval (approvalId appr_1): Refund b42/b & more? free(http: //evil.example)',
  );
  expect(await summary.getByRole('link').count()).toBe(0);
  const said = await details.innerText();
  expect(said).toContain('Refund <b>42</b> & more?\n[free](http://evil.example)');
  expect(said).toContain(`Answer before ${until}`);
  expect(await details.getByRole('link').evaluateAll((links) => links.map((one) => one.getAttribute('href')))).toEqual([
    link(record.id),
  ]);
  expect(JSON.parse(await details.locator('pre').innerText())).toEqual({ approvalId: 'appr_1', decision: 'approved' });
  expect(await current.innerText()).toMatch(/Status pending\s+Waits for an approval/);
  await screenshot(page, 'temporal-ui-metadata');

  await open(page, record.id, 'timeline', `Waits for an approval (approvalId appr_1); expires ${until}`);
  expect(await page.getByRole('textbox', { name: 'Input' }).innerText()).toMatch(/^\W*"question": "Refund /);

  await open(page, record.id, 'search-attributes', 'ContinuationStatus');
  const attributes = await page.getByRole('main').innerText();
  for (const shown of ['pending', 'approval_resolution', 'chat-1', 'ContinuationExpiresAt']) {
    expect(attributes).toContain(shown);
  }
});

test('an operator answers with the JSON that the page shows, and the workflow tells how it ended', async () => {
  const { id } = await created(stack.client, pause('approval_resolution'));
  await stack.waits(id);
  const page = await newPage();
  const { details } = await metadata(page, id);
  const body = await details.locator('pre').innerText();

  await page.getByRole('button', { name: 'More Actions' }).click();
  await page.getByRole('menuitem', { name: 'Send a Signal' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send a Signal' });
  await dialog.getByRole('button', { name: 'Select a signal' }).click();
  await page.getByRole('option', { name: 'approval_resolution' }).click();
  await dialog.getByRole('textbox', { name: 'Data' }).fill(body);
  await screenshot(page, 'temporal-ui-signal');
  await dialog.getByRole('button', { name: 'Submit' }).click();

  const { record } = await agreedEnd(stack, id);
  expect(record).toMatchObject({ status: 'completed', answers: [{ decision: 'approved', channel: 'temporal' }] });
  expect(record.answers[0]?.verified).toBe(false);
  expect(actors.turns(id)).toHaveLength(1);

  await open(page, id, 'timeline', 'Completed');
  await page.getByRole('main').getByText('Turn 1: approval_resolution by temporal').first().waitFor();
  const result = JSON.parse(await page.getByRole('textbox', { name: 'Result' }).innerText());
  expect(result).toMatchObject({
    status: 'completed',
    decision: 'approved',
    answeredBy: 'temporal',
    delivery: 'delivered',
  });
  await screenshot(page, 'temporal-ui-timeline');
  const { current } = await metadata(page, id);
  expect(await current.innerText()).toMatch(
    /Status completed .*Last answer approved by temporal over temporal at .*Follow-up delivered/s,
  );
});
