/** Somebody with a browser that runs no scripts: it keeps cookies, follows nothing by itself, and fills in forms. */
import { createAccess } from '../../src/http/access.ts';
import { createInbox, type InboxOptions } from '../../src/http/inbox/index.ts';
import { createTestApi, type TestApi } from './http.ts';
import type { Stack } from './stack.ts';

export const ORIGIN = 'http://inbox.test';

export interface Shown {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** What a reader sees, without tags. */
  readonly text: string;
}

export function createTestInbox(stack: Stack, options: Partial<InboxOptions> = {}): TestApi {
  const { client, store } = stack;
  return createTestApi(stack, {
    mounts: { '/inbox': createInbox({ client, access: createAccess(store), ...options }) },
  });
}

export class Visitor {
  readonly cookies = new Map<string, string>();
  readonly #app: TestApi['app'];
  constructor(app: TestApi['app']) {
    this.#app = app;
  }

  get(path: string): Promise<Shown> {
    return this.#send(path, { method: 'GET' });
  }

  post(
    path: string,
    fields: URLSearchParams | Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Shown> {
    return this.#send(path, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: ORIGIN, ...headers },
    });
  }

  /** Logs in with a key; resolves with what the login came to. */
  async logIn(key: string, next?: string): Promise<Shown> {
    const page = await this.get(`/inbox/login${next === undefined ? '' : `?${new URLSearchParams({ next })}`}`);
    return this.post('/inbox/login', { ...hiddenFields(page.html), key });
  }

  /** Fills in the form that posts to `action` on a page, as a browser would send it. */
  async fill(page: Shown, action: string, fields: Record<string, string>): Promise<Shown> {
    return this.post(action, { ...formFields(page.html, action), ...fields });
  }

  async #send(path: string, init: { method: string; body?: string; headers?: Record<string, string> }): Promise<Shown> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { host: new URL(ORIGIN).host, ...(cookie && { cookie }), ...init.headers };
    const response = await this.#app.request(`${ORIGIN}${path}`, { ...init, headers });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const [name = '', value = ''] = pair.split('=');
      if (/max-age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const html = await response.text();
    return { status: response.status, headers: response.headers, html, text: textOf(html) };
  }
}

function textOf(html: string): string {
  const [, body = html] = /<main[^>]*>(.*)<\/main>/s.exec(html) ?? [];
  return decode(body.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();
}

function decode(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

export function hiddenFields(html: string): Record<string, string> {
  const inputs = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"\/?>/g);
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [decode(name), decode(value)]));
}

/** The hidden fields and text areas of one form. */
export function formFields(html: string, action: string): Record<string, string> {
  const [, form] = new RegExp(`<form method="post" action="${action}"[^>]*>(.*?)</form>`, 's').exec(html) ?? [];
  if (form === undefined) throw new Error(`no form posts to ${action}`);
  const areas = form.matchAll(/<textarea[^>]* name="([^"]*)"[^>]*>\n?(.*?)<\/textarea>/gs);
  const texts = [...areas].map(([, name = '', value = '']) => [name, decode(value).replace(/\r\n?|\n/g, '\r\n')]);
  return { ...hiddenFields(form), ...Object.fromEntries(texts) };
}
