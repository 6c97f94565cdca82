/**
 * The inbox: what waits, and the way to answer it, as pages that work without scripts. Everything it does goes through the client, on
 * behalf of whoever is logged in.
 */
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import { readForm } from '../body.ts';
import { HttpProblem, PROBLEMS, toProblem } from '../problem.ts';
import { answerRoutes } from './answering.tsx';
import { askRoutes } from './asking.tsx';
import { createAssets } from './assets.ts';
import type { InboxEnv, InboxOptions } from './env.ts';
import { typedTexts } from './fields.tsx';
import { loginRoutes } from './login.tsx';
import { Unsent } from './login-page.tsx';
import { managingRoutes } from './managing.tsx';
import { Notice, renderPage } from './page.tsx';
import { dropCookie, formToken, isFormToken, isOwnOrigin, type Place, placeOf, readCookie } from './session.ts';
import { sentence } from './text.tsx';

const DEFAULT_BODY_TIMEOUT_MS = 30_000;

/** To be mounted at `/inbox`, whatever stands before that in the public address. */
export function createInbox(options: InboxOptions): Hono {
  const place = placeOf(options.publicUrl);
  const app = new Hono<InboxEnv>();
  app.onError((error, c) => failed(error, c, place, options.warn ?? console.error));
  app.use(headers);
  app.route('/assets', createAssets());
  app.use(fromOurPages(place));
  app.route('/', loginRoutes(options, place));
  app.use(loggedIn(options, place));
  app.post('/logout', (c) => {
    dropCookie(c, place, 'login');
    return c.redirect(`${place.base}/login`, 303);
  });
  app.route('/', askRoutes(options));
  app.route('/', answerRoutes());
  app.route('/', managingRoutes());
  app.all('*', () => {
    throw new HttpProblem('not_found', 'there is nothing here');
  });
  const mounted = new Hono();
  mounted.route('/', app);
  return mounted;
}

const headers: MiddlewareHandler = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // With `no-referrer` browsers would not say where a form comes from.
  referrerPolicy: 'same-origin',
  // Whether a domain is always reached by TLS is for whoever runs it to say.
  strictTransportSecurity: false,
});

/** Nothing is written for forms of other pages, before anything of them is read. */
function fromOurPages(place: Place): MiddlewareHandler<InboxEnv> {
  return async (c, next) => {
    c.header('cache-control', 'no-store');
    c.set('place', place);
    const reads = c.req.method === 'GET' || c.req.method === 'HEAD';
    if (!reads && !isOwnOrigin(c, place))
      throw new HttpProblem('not_authorized', 'this form was not sent from a page of the inbox');
    await next();
  };
}

function loggedIn(options: InboxOptions, place: Place): MiddlewareHandler<InboxEnv> {
  const { access, client, bodyTimeoutMs = DEFAULT_BODY_TIMEOUT_MS } = options;
  return async (c, next) => {
    const key = readCookie(c, place, 'login');
    const caller = key === undefined ? undefined : await access.callerOf(key, 'inbox');
    const form = c.req.method === 'POST' ? await readForm(c, bodyTimeoutMs) : undefined;
    if (form) c.set('form', form);
    if (key === undefined || !caller?.permissions.includes('read')) return loggedOut(c, place);
    const viewer = { place, caller, formToken: formToken(key) };
    if (form && !isFormToken(form.get('formToken'), key))
      throw new HttpProblem('not_authorized', 'this form was made for another login: load the page again');
    c.set('viewer', viewer);
    c.set('client', client.as(caller));
    c.set('holds', async () => (await access.callerOf(key, 'inbox')) !== undefined);
    return next();
  };
}

/** A page is shown after the login; what was typed is shown now, since it could not be sent. */
function loggedOut(c: Context<InboxEnv>, place: Place): Response | Promise<Response> {
  const [, next] = /\/(cont_[^/]+)/.exec(c.req.path) ?? [];
  const to = `${place.base}/login${next === undefined ? '' : `?${new URLSearchParams({ next })}`}`;
  if (c.req.method === 'GET') return c.redirect(to, 303);
  const page = (
    <>
      <Notice kind="bad" title="Your login has ended." alone>
        <p>
          <a href={to}>Log in</a>, and send it again.
        </p>
      </Notice>
      <Unsent texts={typedTexts(c.get('form'))} />
    </>
  );
  return c.html(renderPage({ title: 'Logged out', place, children: page }), 401);
}

/** What may be told of an error, and what was typed. */
function failed(error: unknown, c: Context<InboxEnv>, place: Place, warn: NonNullable<InboxOptions['warn']>) {
  const problem = toProblem(error);
  const [status, title] = PROBLEMS[problem.code];
  if (status === 500) warn(`${c.req.method} ${c.req.path} failed`, error);
  const page = (
    <>
      <Notice kind="bad" title={title} alone>
        <p>{sentence(problem.message)}</p>
        <p>
          <a href={place.base}>All that waits</a>
        </p>
      </Notice>
      <Unsent texts={typedTexts(c.get('form'))} />
    </>
  );
  for (const [name, value] of Object.entries(problem.headers)) c.header(name, value);
  return c.html(renderPage({ title, place, viewer: c.get('viewer'), children: page }), status as 500);
}
