/** The reference page of the HTTP API, in a browser: readable by itself, and every link of it leads somewhere. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpServer, serve } from '../../src/http/serve.ts';
import { DESKTOP, overflows, PHONE, screenshot, startBrowser, type TestBrowser } from '../support/browser.ts';
import { createTestApi } from '../support/http.ts';
import { type Stack, startStack } from '../support/stack.ts';

let stack: Stack;
let server: HttpServer;
let browser: TestBrowser;
beforeAll(async () => {
  stack = await startStack();
  server = await serve({ fetch: createTestApi(stack).app.fetch, host: '127.0.0.1', port: 0, graceMs: 100 });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await stack?.close();
});

test.each([
  { name: 'desktop-light', viewport: DESKTOP, colorScheme: 'light' },
  { name: 'phone-dark', viewport: PHONE, colorScheme: 'dark' },
] as const)('reads well: $name', async ({ name, ...options }) => {
  const context = await browser.context(options);
  const page = await context.newPage();
  await page.goto(server.url);
  expect(await page.title()).toBe('temporal-continuations: HTTP API');
  await screenshot(page, `reference-${name}`);
  expect(await overflows(page)).toBe(false);
  const links = await page.evaluate<string[]>(
    `[...document.querySelectorAll('a[href^="#"]')].map((link) => link.hash)`,
  );
  const broken = await page.evaluate<string[]>(
    `${JSON.stringify(links)}.filter((hash) => !document.getElementById(hash.slice(1)))`,
  );
  expect(links.length).toBeGreaterThan(20);
  expect(broken).toEqual([]);
  await page.getByRole('link', { name: 'POST /v1/continuations/{id}/answers' }).click();
  await page.getByRole('heading', { name: 'POST /v1/continuations/{id}/answers' }).waitFor({ state: 'visible' });
  expect(browser.outside).toEqual([]);
  expect(browser.errors).toEqual([]);
  await context.close();
});
