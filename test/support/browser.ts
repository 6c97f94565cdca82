/** A real browser for a test file: the Chromium of this machine, which reaches nothing but this machine. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
/** Names outside are not found, so that no test needs or reaches the network. */
const LOOPBACK_ONLY = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE [::1]';

export const DESKTOP = { width: 1280, height: 900 } as const;
export const PHONE = { width: 390, height: 844 } as const;

export interface TestBrowser {
  /** A browser of its own as far as a server can tell: cookies and storage are its alone. */
  context(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Addresses outside this machine that pages asked for, in vain. */
  readonly outside: readonly string[];
  /** What scripts threw and what browsers complained of, such as a breach of a content security policy. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

/** One per test file. Fails, and says what to do, where there is no Chromium: a test that claims a browser has to see one. */
export async function startBrowser(): Promise<TestBrowser> {
  // Chromium's own sandbox does not work for root in a container; the pages are our own.
  const browser = await chromium.launch({
    executablePath: findChromium(),
    chromiumSandbox: false,
    args: [LOOPBACK_ONLY],
  });
  const outside: string[] = [];
  const errors: string[] = [];
  return {
    outside,
    errors,
    async context(options = {}) {
      const context = await browser.newContext({ viewport: DESKTOP, ...options });
      context.on('request', (request) => {
        if (isOutside(request.url())) outside.push(request.url());
      });
      context.on('weberror', (error) => errors.push(String(error.error())));
      context.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text());
      });
      return context;
    },
    close: () => browser.close(),
  };
}

/** The whole page, under `SCREENSHOTS` or the folder for temporary files. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS ?? join(tmpdir(), 'continuations-screenshots');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Whether the page is wider than the window, so that a person would have to push it about. (Text: it runs in the page.) */
export function overflows(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

function findChromium(): string {
  const { CHROMIUM, PATH = '' } = process.env;
  const places = CHROMIUM
    ? [CHROMIUM]
    : PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = places.find(isExecutable);
  if (found) return found;
  const looked = CHROMIUM ? `CHROMIUM=${CHROMIUM} is no program` : `none of ${NAMES.join(', ')} is in PATH`;
  throw new Error(`No Chromium for the browser tests (${looked}): apt-get install chromium, or set CHROMIUM to one.`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isOutside(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return /^(http|ws)s?:$/.test(protocol) && !['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
}
