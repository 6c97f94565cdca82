/** What is done with the forms: an answer is brought, or the page says why not, and keeps what was typed. */
import { type Context, Hono } from 'hono';
import { isContinuationError } from '../../errors.ts';
import type { ContinuationView } from '../../reading.ts';
import type { ResumeResult } from '../../resuming.ts';
import type { Refusal, ResumeContinuationInput } from '../../schema.ts';
import { PROBLEMS, toProblem } from '../problem.ts';
import { readAnswer, type ShownCall } from './answer-form.ts';
import { Who } from './ask-page.tsx';
import { askPage, isAskedStill, viewOf } from './asking.tsx';
import type { InboxEnv } from './env.ts';
import { Notice, renderPage } from './page.tsx';
import { ReviewPage } from './review-page.tsx';
import { sentence } from './text.tsx';
import { refusalTitle } from './words.ts';

export function answerRoutes(): Hono<InboxEnv> {
  const app = new Hono<InboxEnv>();
  app.post('/:id/answer', answer);
  return app;
}

async function answer(c: Context<InboxEnv>): Promise<Response> {
  const { form: fields, viewer } = c.var;
  const view = await viewOf(c);
  const read = readAnswer(view.id, fields, isAskedStill(view, fields) ? shownCalls(view) : []);
  if (fields.get('step') === 'edit') return askPage(c, view, { typed: { fields, faults: {} } });
  if (!read.ok) return notSent(c, view, read.faults);
  if (read.edits.length > 0 && fields.get('step') !== 'confirmed') {
    const page = <ReviewPage viewer={viewer} view={view} fields={fields} edits={read.edits} />;
    return c.html(renderPage({ title: 'What changes', place: viewer.place, viewer, children: page }));
  }
  return bring(c, read.input);
}

function shownCalls({ suspension, asked }: ContinuationView): ShownCall[] {
  return suspension.pending.map(({ id, name }, number) => ({ id, name, text: asked?.arguments[number] ?? '' }));
}

/** A form that is not filled in right, unless somebody else was first: then that is what counts. */
function notSent(c: Context<InboxEnv>, view: ContinuationView, faults: Record<string, string>): Promise<Response> {
  const fields = c.get('form');
  const winner = view.answers.find(({ suspensionId }) => suspensionId === fields.get('suspensionId'));
  if (winner) return turnedDown(c, view, { code: 'already_resumed', message: 'somebody else answered first', winner });
  const notice = (
    <Notice kind="bad" title="This was not sent.">
      <p>{Object.values(faults).join(' ')}</p>
    </Notice>
  );
  return askPage(c, view, { notice, typed: { fields, faults }, status: 422, title: 'Not sent' });
}

async function bring(c: Context<InboxEnv>, input: ResumeContinuationInput): Promise<Response> {
  const { client, viewer } = c.var;
  let result: ResumeResult;
  try {
    result = await client.resume(input);
  } catch (error) {
    if (!isContinuationError(error)) throw error;
    return unavailable(c, error);
  }
  if (!result.ok) return turnedDown(c, await viewOf(c), result.refusal);
  return c.redirect(`${viewer.place.base}/${input.continuationId}?done=${result.outcome}`, 303);
}

/** Why not, and who was first, when, by which channel, and with what decision (C1). */
function turnedDown(c: Context<InboxEnv>, view: ContinuationView, refusal: Refusal): Promise<Response> {
  const title = refusalTitle(refusal.code);
  const notice = (
    <Notice kind="bad" title={title}>
      {refusal.winner ? (
        <p>
          <Who answer={refusal.winner} />
        </p>
      ) : (
        <p>{sentence(refusal.message)}</p>
      )}
      {isAskedStill(view, c.get('form')) || view.status !== 'pending' ? null : <p>It asks again: see below.</p>}
    </Notice>
  );
  const [status] = PROBLEMS[refusal.code];
  return askPage(c, view, { notice, typed: { fields: c.get('form'), faults: {} }, status, title: 'Not sent' });
}

/** The same form may be sent again: it counts once. */
async function unavailable(c: Context<InboxEnv>, error: unknown): Promise<Response> {
  const { code, message } = toProblem(error);
  const [status, title] = PROBLEMS[code];
  const notice = (
    <Notice kind="bad" title={title}>
      <p>{sentence(message)} Send it again in a while: it counts once.</p>
    </Notice>
  );
  return askPage(c, await viewOf(c), { notice, typed: { fields: c.get('form'), faults: {} }, status, title });
}
