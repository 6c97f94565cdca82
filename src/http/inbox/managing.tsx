/** What is done with the forms of an operator. */
import { type Context, Hono } from 'hono';
import { digestText } from '../../digest.ts';
import type { ManageResult } from '../../managing.ts';
import type { ReconcileContinuationInput, Refused, StopContinuationInput } from '../../schema.ts';
import { PROBLEMS } from '../problem.ts';
import { askPage, viewOf } from './asking.tsx';
import type { InboxEnv } from './env.ts';
import { Notice } from './page.tsx';
import { sentence } from './text.tsx';
import { refusalTitle } from './words.ts';

export function managingRoutes(): Hono<InboxEnv> {
  const app = new Hono<InboxEnv>();
  app.post('/:id/stop', async (c) => {
    const { id } = await viewOf(c);
    const reason = (c.get('form').get('reason') ?? '') as StopContinuationInput['reason'];
    return told(c, await c.get('client').stop({ continuationId: id, reason }), 'stopped');
  });
  app.post('/:id/extend', async (c) => {
    const { id } = await viewOf(c);
    const expiresAt = c.get('form').get('expiresAt') ?? '';
    return told(c, await c.get('client').extend({ continuationId: id, expiresAt }), 'extended');
  });
  app.post('/:id/reconcile', reconcile);
  return app;
}

async function reconcile(c: Context<InboxEnv>): Promise<Response> {
  const fields = c.get('form');
  const view = await viewOf(c);
  const read = readReconcile(view.id, fields);
  if ('faults' in read) {
    const notice = (
      <Notice kind="bad" title="This was not sent.">
        <p>{Object.values(read.faults).join(' ')}</p>
      </Notice>
    );
    return askPage(c, view, { notice, typed: { fields, faults: read.faults }, status: 422, title: 'Not sent' });
  }
  return told(c, await c.get('client').reconcile(read), 'reconciled');
}

type Faults = { readonly faults: Readonly<Record<string, string>> };

function readReconcile(continuationId: string, fields: URLSearchParams): ReconcileContinuationInput | Faults {
  const text = (name: string): string => (fields.get(name) ?? '').replace(/\r\n?/g, '\n').trim();
  const action = text('action');
  const [ref, proof, digest] = [text('proofRef'), text('proofText'), text('proofDigest')];
  const faults: Record<string, string> = {
    ...(!action && { action: 'Say what is so.' }),
    ...(!ref && { proofRef: 'Say where the proof is kept.' }),
    ...(!proof && !/^sha256:[0-9a-f]{64}$/.test(digest) && { proofDigest: 'Give the proof, or its digest.' }),
  };
  if (Object.keys(faults).length > 0) return { faults };
  const said = text('resultText');
  const outcome = text('outcome') === 'failed' ? 'failed' : 'completed';
  return {
    continuationId,
    turnId: text('turnId'),
    attempt: Number(text('attempt')),
    action: action as ReconcileContinuationInput['action'],
    ...(action === 'happened' && { result: { outcome, ...(said && { assistantMessage: { text: said } }) } }),
    proof: { ref, digest: proof ? digestText(proof) : (digest as `sha256:${string}`) },
    // Browsers leave out seconds that are zero.
    observedAt: `${text('observedAt').replace(/T\d\d:\d\d$/, '$&:00')}Z`,
  };
}

type Result = ManageResult | { readonly ok: true; readonly outcome: 'reconciled' } | Refused;

/** What came of it; refused, the page says why, and keeps what was typed. */
async function told(c: Context<InboxEnv>, result: Result, done: string): Promise<Response> {
  const { place } = c.get('viewer');
  const view = await viewOf(c);
  if (result.ok) {
    const outcome = result.outcome === 'stored' ? 'stored' : done;
    return c.redirect(`${place.base}/${view.id}?${new URLSearchParams({ done: outcome })}`, 303);
  }
  const { code, message } = result.refusal;
  const notice = (
    <Notice kind="bad" title={refusalTitle(code)}>
      <p>{sentence(message)}</p>
    </Notice>
  );
  const [status] = PROBLEMS[code];
  return askPage(c, view, { notice, typed: { fields: c.get('form'), faults: {} }, status, title: 'Not done' });
}
