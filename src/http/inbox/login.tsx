/** Logging in and out. Nobody is sent anywhere but to a page of the inbox. */
import type { Context } from 'hono';
import { Hono } from 'hono';
import type { Caller } from '../../caller.ts';
import { ContinuationId } from '../../schema.ts';
import { readForm } from '../body.ts';
import type { InboxEnv, InboxOptions } from './env.ts';
import { Login } from './login-page.tsx';
import { renderPage } from './page.tsx';
import { dropCookie, formToken, isFormToken, newVisit, type Place, readCookie, writeCookie } from './session.ts';

/** Browsers drop larger cookies without a word. */
const MAX_KEY_LENGTH = 3_500;
const DEFAULT_BODY_TIMEOUT_MS = 30_000;

export function loginRoutes(
  { access, bodyTimeoutMs = DEFAULT_BODY_TIMEOUT_MS }: InboxOptions,
  place: Place,
): Hono<InboxEnv> {
  const app = new Hono<InboxEnv>();
  app.get('/login', (c) => loginPage(c, place, { next: c.req.query('next') }));
  app.post('/login', async (c) => {
    const form = await readForm(c, bodyTimeoutMs);
    const [key, next] = [(form.get('key') ?? '').trim(), form.get('next') ?? undefined];
    const visit = readCookie(c, place, 'visit');
    if (!visit || !isFormToken(form.get('formToken'), visit))
      return loginPage(c, place, {
        next,
        fault: 'This form had gone stale, or your browser keeps no cookies. Try again.',
        status: 403,
      });
    const caller = key.length <= MAX_KEY_LENGTH ? await access.callerOf(key, 'inbox') : undefined;
    const fault = whyNot(caller, key);
    if (fault) return loginPage(c, place, { next, fault, status: caller ? 403 : 401 });
    writeCookie(c, place, 'login', key);
    dropCookie(c, place, 'visit');
    return c.redirect(next && ContinuationId.safeParse(next).success ? `${place.base}/${next}` : place.base, 303);
  });
  return app;
}

function whyNot(caller: Caller | undefined, key: string): string | undefined {
  if (!caller && key.length > MAX_KEY_LENGTH) return 'This key is too long to log in with.';
  if (!caller) return 'This key is not known, or holds no more.';
  return caller.permissions.includes('read')
    ? undefined
    : `This key may not read: it lacks the permission read, and has ${caller.permissions.join(', ')}.`;
}

interface Asked {
  readonly next?: string | undefined;
  readonly fault?: string;
  readonly status?: 200 | 401 | 403;
}

function loginPage(c: Context, place: Place, { next, fault, status = 200 }: Asked): Response | Promise<Response> {
  let visit = readCookie(c, place, 'visit');
  if (!visit) {
    visit = newVisit();
    writeCookie(c, place, 'visit', visit);
  }
  const token = formToken(visit);
  const page = <Login place={place} formToken={token} next={next} fault={fault} />;
  return c.html(renderPage({ title: 'Log in', place, children: page }), status);
}
