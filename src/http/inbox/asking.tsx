/** The pages that are read: the list, one ask, and what tells them of changes. */
import { type Context, Hono } from 'hono';
import { notFound } from '../../caller.ts';
import type { ContinuationView } from '../../reading.ts';
import { ContinuationId } from '../../schema.ts';
import { refused } from '../problem.ts';
import { AskPage, DoneNotice } from './ask-page.tsx';
import type { InboxEnv, InboxOptions } from './env.ts';
import { type Typed, typedTexts } from './fields.tsx';
import { filtersOf, ListPage, MANY, queryOf } from './list-page.tsx';
import { streamChanges } from './live.ts';
import { Unsent } from './login-page.tsx';
import { renderPage } from './page.tsx';
import { oneLine } from './text.tsx';
import { stateWords } from './words.ts';

type Child = Parameters<typeof renderPage>[0]['children'];

export function askRoutes({ closing }: InboxOptions): Hono<InboxEnv> {
  const app = new Hono<InboxEnv>();
  app.get('/', listPage);
  app.get('/live', (c) => streamChanges(c, { client: c.get('client'), holds: c.get('holds'), closing }));
  app.get('/:id/live', (c) =>
    streamChanges(c, { client: c.get('client'), continuationId: idOf(c), holds: c.get('holds'), closing }),
  );
  app.get('/:id', async (c) => askPage(c, await viewOf(c), { notice: <DoneNotice done={c.req.query('done')} /> }));
  // Somebody pressed Enter in the address of a form that had come back.
  app.get('/:id/:form', (c) => c.redirect(`${c.get('place').base}/${idOf(c)}`, 303));
  return app;
}

async function listPage(c: Context<InboxEnv>): Promise<Response> {
  const { client, viewer } = c.var;
  const filters = filtersOf(c.req.query());
  const [page, unknown] = await Promise.all([
    client.list(queryOf(filters)),
    client.list({ status: 'uncertain', order: 'deadline', limit: MANY }),
  ]);
  const { search } = new URL(c.req.url);
  return c.html(
    renderPage({
      title: 'What waits',
      place: viewer.place,
      viewer,
      live: { page: search, changes: '/live', state: 'The list has changed.' },
      children: <ListPage viewer={viewer} filters={filters} page={page} uncertain={unknown.records.length} />,
    }),
  );
}

/** A text that cannot be an id cannot be there; nothing is looked up for it. */
function idOf(c: Context<InboxEnv>): string {
  const id = c.req.param('id') ?? '';
  if (!ContinuationId.safeParse(id).success) throw refused(notFound().refusal);
  return id;
}

/** What is asked, in full; outside the viewer's scope there is nothing (C16). */
export async function viewOf(c: Context<InboxEnv>): Promise<ContinuationView> {
  const view = await c.get('client').get({ continuationId: idOf(c), include: ['asked', 'result', 'executions'] });
  if (!view) throw refused(notFound().refusal);
  return view;
}

export interface Shown {
  readonly notice?: Child;
  readonly typed?: Typed | undefined;
  readonly status?: number;
  readonly title?: string;
}

/** What was typed goes back into the form that it came from; when that is gone, it is shown to be copied. */
export async function askPage(c: Context<InboxEnv>, view: ContinuationView, shown: Shown): Promise<Response> {
  const { client, viewer } = c.var;
  const { notice, typed, status = 200, title } = shown;
  const [answer, stop, extend, reconcile, receipts] = await Promise.all([
    client.may('answer', view),
    client.may('stop', view),
    client.may('extend', view),
    client.may('reconcile', view),
    client.receipts(view.id),
  ]);
  const may = { answer, stop, extend, reconcile };
  const fits = typed && placeFor(view, typed);
  const page = (
    <>
      {notice}
      {typed && !fits && <Unsent texts={typedTexts(typed.fields)} />}
      <AskPage {...{ viewer, view, may, receipts: receipts ?? [] }} {...fits} />
    </>
  );
  const question = oneLine(view.suspension.question, 60);
  return c.html(
    renderPage({
      title: title ? `${title}: ${question}` : question,
      place: viewer.place,
      viewer,
      live: { page: `/${view.id}`, changes: `/${view.id}/live`, state: stateWords(view) },
      children: page,
    }),
    status as 200,
  );
}

/** The form that it was typed into, when that is still there. */
function placeFor(view: ContinuationView, typed: Typed): { typed: Typed } | { decided: Typed } | undefined {
  if (isAskedStill(view, typed.fields)) return { typed };
  const { resume } = view;
  const asked = resume?.uncertain && resume.turnId === typed.fields.get('turnId');
  return asked && String(resume.attempt) === typed.fields.get('attempt') ? { decided: typed } : undefined;
}

/** The form is about what waits now. */
export function isAskedStill({ status, suspension }: ContinuationView, form: URLSearchParams): boolean {
  return status === 'pending' && suspension.id === form.get('suspensionId');
}
