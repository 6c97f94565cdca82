/** One ask: what is asked, by whom, until when, what was decided before, and the way to answer it. */
import type { FC } from 'hono/jsx';
import type { Authorization } from '../../policy.ts';
import type { Receipt } from '../../ports.ts';
import type { ContinuationView } from '../../reading.ts';
import { isTerminal } from '../../record.ts';
import type { Answer } from '../../schema.ts';
import { exportReceipts, verifyReceipts } from '../../verify.ts';
import { AnswerForm, Calls } from './answer-forms.tsx';
import type { Typed } from './fields.tsx';
import { Manage, Missing, Unknown } from './managing-forms.tsx';
import { Notice, type Viewer } from './page.tsx';
import { Said } from './said.tsx';
import { Prose, Time, Verbatim, Words } from './text.tsx';
import { channelWords, decisionWords, statusWords, WAITS } from './words.ts';

export interface AskProps {
  readonly viewer: Viewer;
  readonly view: ContinuationView;
  readonly receipts: readonly Receipt[];
  readonly may: Readonly<Record<'answer' | 'stop' | 'extend' | 'reconcile', Authorization>>;
  /** What was typed into the form of an answer, and not accepted. */
  readonly typed?: Typed | undefined;
  /** What was typed about an unknown outcome, and not accepted. */
  readonly decided?: Typed | undefined;
}

export const AskPage: FC<AskProps> = (props) => {
  const { viewer, view } = props;
  return (
    <>
      <p class="back">
        <a href={viewer.place.base}>All that waits</a>
      </p>
      <section class="card" aria-labelledby="asks" data-live="question">
        <p class="ask-head">
          <span class={`tag ${view.waitFor.type}`}>{WAITS[view.waitFor.type]}</span>
          <span class="state">{statusWords(view)}</span>
        </p>
        <h1 id="asks">
          <Words text={view.assistantId} /> {isTerminal(view) ? 'asked' : 'asks'}
        </h1>
        <Prose text={view.asked?.question ?? view.suspension.question} />
        <Facts view={view} />
      </section>
      <section
        class="card"
        aria-labelledby="answer"
        data-live="answer"
        data-version={`${view.suspension.id} ${view.status} ${view.supersededBy ?? ''}`}
      >
        <h2 id="answer">{view.status === 'pending' ? 'Your answer' : 'What was decided'}</h2>
        <AnswerPart {...props} />
      </section>
      <Unknown viewer={viewer} view={view} may={props.may} typed={props.decided} />
      <History {...props} />
      <Manage viewer={viewer} view={view} may={props.may} />
    </>
  );
};

const AnswerPart: FC<AskProps> = ({ viewer, view, may, typed }) => {
  if (view.status !== 'pending') return <Decided view={view} />;
  if (view.supersededBy) return <p>A newer turn of this session has taken its place; it takes no answer any more.</p>;
  if (!may.answer.allowed)
    return (
      <>
        <Calls view={view} />
        <Missing what="answer it" viewer={viewer} answer={may.answer} />
      </>
    );
  return <AnswerForm viewer={viewer} view={view} typed={typed} />;
};

const Decided: FC<{ view: ContinuationView }> = ({ view }) => {
  const answer = view.answers.findLast(({ suspensionId }) => suspensionId === view.suspension.id);
  const error = view.resume?.error ?? ('error' in view ? view.error : undefined);
  return (
    <>
      <p class="decided">{answer ? <Who answer={answer} /> : `${statusWords(view)}.`}</p>
      {answer && <Said answer={answer} view={view} />}
      <Calls view={view} />
      {view.result?.assistantMessage && (
        <>
          <h3>What the agent said then</h3>
          <Prose text={view.result.assistantMessage.text} />
        </>
      )}
      {error && (
        <>
          <h3>What went wrong</h3>
          <Prose text={error.message} />
        </>
      )}
      {view.status !== 'pending' && <p class="hint">Follow-up: {DELIVERIES[view.delivery.status]}.</p>}
    </>
  );
};

const DELIVERIES: Readonly<Record<ContinuationView['delivery']['status'], string>> = {
  not_applicable: 'there is none',
  pending_delivery: 'not delivered yet',
  delivered: 'delivered',
  suppressed_session_reengaged: 'not sent, because the user was active again',
  suppressed_superseded: 'not sent, because a newer turn took its place',
  suppressed_expired: 'not sent, because the time was over',
  delivery_failed: 'could not be delivered',
};

/** Who decided what, when, and by which channel (C1). */
export const Who: FC<{ answer: Omit<Answer, 'input'> }> = ({ answer }) => (
  <>
    <strong>
      <Words text={answer.subject} />
    </strong>
    {!answer.verified && ' (not verified)'} {decisionWords(answer)} <Words text={channelWords(answer.channel)} />,{' '}
    <Time at={answer.receivedAt} />
  </>
);

const Facts: FC<{ view: ContinuationView }> = ({ view }) => {
  const { bounds, suspension, sessionId, threadId, userId, origin, scope, id } = view;
  return (
    <>
      <dl class="facts">
        {view.status === 'pending' && (
          <div>
            <dt>Answer before</dt>
            <dd>{bounds.expiresAt ? <Time at={bounds.expiresAt} relative /> : 'It does not expire'}</dd>
          </div>
        )}
        <div>
          <dt>Asked</dt>
          <dd>
            <Time at={suspension.createdAt} />
          </dd>
        </div>
        <Named label="Session" value={sessionId} />
        <Named label="User" value={userId} />
      </dl>
      <details>
        <summary>Where it comes from</summary>
        <dl class="facts">
          <Named label="Turn" value={origin.turnId} />
          <Named label="Thread" value={threadId} />
          <Named label="Scope" value={scope} />
          <Named label="Continuation" value={id} />
        </dl>
      </details>
    </>
  );
};

const Named: FC<{ label: string; value: string | undefined }> = ({ label, value }) =>
  value === undefined ? null : (
    <div>
      <dt>{label}</dt>
      <dd>
        <Words text={value} />
      </dd>
    </div>
  );

const History: FC<AskProps> = ({ view, receipts }) => {
  const earlier = view.answers.filter(({ suspensionId }) => suspensionId !== view.suspension.id);
  return (
    <section class="card" aria-labelledby="history" data-live="history">
      <h2 id="history">History</h2>
      {earlier.length === 0 ? (
        <p class="muted">Nothing was decided before.</p>
      ) : (
        <ol class="answers">
          {earlier.map((answer) => (
            <li>
              <Who answer={answer} />
            </li>
          ))}
        </ol>
      )}
      <details>
        <summary>Receipts ({receipts.length})</summary>
        <Chain receipts={receipts} />
        <ol class="receipts">
          {receipts.map(({ kind, at, digest, body }) => (
            <li>
              <strong>{kind}</strong> <Time at={at} />
              <Verbatim text={body} />
              <p class="hint">
                Digest <code>{digest}</code>
              </p>
            </li>
          ))}
        </ol>
      </details>
    </section>
  );
};

/** Each receipt carries the digest of the one before. */
const Chain: FC<{ receipts: readonly Receipt[] }> = ({ receipts }) => {
  const checked = verifyReceipts(exportReceipts(receipts));
  return <p class="hint">{checked.ok ? 'The chain is whole.' : `The chain is broken: ${checked.message}.`}</p>;
};

const DONE: Readonly<Record<string, string>> = {
  accepted: 'Your answer was accepted.',
  stopped: 'It is stopped.',
  extended: 'It has more time.',
  reconciled: 'Your decision is recorded.',
};

/** What came of a form, for whoever sent it. */
export const DoneNotice: FC<{ done: string | undefined }> = ({ done = '' }) => {
  if (done === 'stored')
    return (
      <Notice kind="note" title="It is kept.">
        <p>No worker has taken it yet. It counts once, when one is there, unless somebody else was first.</p>
      </Notice>
    );
  return Object.hasOwn(DONE, done) ? <Notice kind="good" title={DONE[done] ?? ''} /> : null;
};
