/** What an operator decides: an unknown outcome on its evidence, an end, a later deadline. */
import type { FC } from 'hono/jsx';
import type { Authorization } from '../../policy.ts';
import type { Execution } from '../../ports.ts';
import type { ContinuationView } from '../../reading.ts';
import { isTerminal } from '../../record.ts';
import type { Uncertain } from '../../schema.ts';
import { Radios, Select, TextArea, TextField, type Typed } from './fields.tsx';
import { FormToken, type Viewer } from './page.tsx';
import { Prose, Time, Verbatim, Words } from './text.tsx';

export interface ManagingProps {
  readonly viewer: Viewer;
  readonly view: ContinuationView;
  readonly may: Readonly<Record<'stop' | 'extend' | 'reconcile', Authorization>>;
  readonly typed?: Typed | undefined;
}

/** An outcome that nobody knows, with everything that is known about it (C8). */
export const Unknown: FC<ManagingProps> = ({ viewer, view, may, typed }) => {
  const { resume, executions = [] } = view;
  if (view.status !== 'resuming' || !resume?.uncertain) return null;
  const { turnId, attempt, uncertain } = resume;
  return (
    <section class="card" aria-labelledby="unknown" data-live="unknown" data-version={`${turnId} ${attempt}`}>
      <h2 id="unknown">Nobody knows how this turn ended</h2>
      <Evidence uncertain={uncertain} execution={executions.find((one) => one.turnId === turnId)} />
      {may.reconcile.allowed ? (
        <Reconcile viewer={viewer} view={view} typed={typed} turnId={turnId} attempt={attempt} />
      ) : (
        <Missing what="decide this" viewer={viewer} answer={may.reconcile} />
      )}
    </section>
  );
};

/** Why there is no button. */
export const Missing: FC<{ what: string; viewer: Viewer; answer: Authorization }> = ({ what, viewer, answer }) =>
  answer.allowed ? null : (
    <p class="missing">
      You cannot {what}: it {answer.reason}. Your key has {viewer.caller.permissions.join(', ')}.
    </p>
  );

const CAUSES: Readonly<Record<Uncertain['cause'], string>> = {
  lost: 'The worker that ran it went silent.',
  unknown: 'The agent said that it does not know.',
  exhausted: 'It failed again and again, until its time was used up.',
};

const Evidence: FC<{ uncertain: Uncertain; execution: Execution | undefined }> = ({ uncertain, execution }) => (
  <>
    <p>{CAUSES[uncertain.cause]} Find out what really happened before you decide: nothing is tried again by itself.</p>
    <Prose text={uncertain.message} />
    <dl class="facts">
      <Fact name="Noticed">
        <Time at={uncertain.at} />
      </Fact>
      {execution && <Fact name="Attempt">{execution.attempt}</Fact>}
      {execution?.startedAt && (
        <Fact name="Started">
          <Time at={execution.startedAt} />
        </Fact>
      )}
      <Fact name="Worker">
        <Words text={uncertain.worker ?? execution?.worker ?? 'not known'} />
      </Fact>
      <Fact name="Last heard of">
        {uncertain.lastHeartbeatAt ? <Time at={uncertain.lastHeartbeatAt} /> : 'not known'}
      </Fact>
    </dl>
    <Effects effects={execution?.effects ?? []} />
    {Object.entries(execution?.late ?? {}).map(([fence, late]) => (
      <section>
        <h3>What execution {fence} came to after all</h3>
        <Verbatim text={JSON.stringify(late, null, 2)} />
      </section>
    ))}
  </>
);

const Fact: FC<{ name: string; children?: unknown }> = ({ name, children }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const Effects: FC<{ effects: Execution['effects'] }> = ({ effects }) => (
  <>
    <h3>Effects</h3>
    {effects.length === 0 ? (
      <p class="muted">It recorded none.</p>
    ) : (
      <table class="effects">
        <thead>
          <tr>
            <th scope="col">Effect</th>
            <th scope="col">State</th>
            <th scope="col">Attempt</th>
          </tr>
        </thead>
        <tbody>
          {effects.map(({ key, state, attempt }) => (
            <tr>
              <td>
                <Words text={key} />
              </td>
              <td class={state === 'started' ? 'bad' : undefined}>
                {state === 'done' ? 'Done' : 'Started, no end recorded'}
              </td>
              <td>{attempt}</td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </>
);

const ACTIONS = {
  did_not_happen: 'It did not happen: run the turn again',
  happened: 'It happened: the turn ended as said below',
  close_incomplete: 'Close it: it stays incomplete',
};
const OUTCOMES = { completed: 'Completed', failed: 'Failed' };

interface ReconcileProps {
  readonly viewer: Viewer;
  readonly view: ContinuationView;
  readonly typed: Typed | undefined;
  readonly turnId: string;
  readonly attempt: number;
}

const Reconcile: FC<ReconcileProps> = ({ viewer, view, typed, turnId, attempt }) => (
  <form method="post" action={`${viewer.place.base}/${view.id}/reconcile`}>
    <FormToken viewer={viewer} />
    <input type="hidden" name="turnId" value={turnId} />
    <input type="hidden" name="attempt" value={String(attempt)} />
    <Radios name="action" label="What is so" typed={typed} choices={ACTIONS} />
    <fieldset class="part">
      <legend>If it happened</legend>
      <Select name="outcome" label="The turn" typed={typed} choices={OUTCOMES} />
      <TextArea name="resultText" label="What the agent says to the user (optional)" typed={typed} rows={2} />
    </fieldset>
    <fieldset class="part">
      <legend>Proof</legend>
      <TextField
        name="proofRef"
        label="Where the proof is kept"
        typed={typed}
        required
        hint="A ticket, a file, a line in a log: whatever somebody can look up later."
      />
      <TextArea
        name="proofText"
        label="The proof itself"
        typed={typed}
        rows={3}
        hint="Only its SHA-256 is kept. Or give that below."
      />
      <TextField name="proofDigest" label="Or its digest" typed={typed} hint="sha256: and 64 hex digits." />
      <TextField
        name="observedAt"
        label="Seen at (UTC)"
        typed={typed}
        type="datetime-local"
        value={new Date().toISOString().slice(0, 16)}
        required
      />
    </fieldset>
    <div class="buttons">
      <button type="submit" class="primary">
        Decide
      </button>
    </div>
  </form>
);

const REASONS = {
  cancelled_by_user: 'A user wants it stopped',
  cancelled_by_product: 'The product no longer needs it',
};

/** Ending it, or giving it more time. */
export const Manage: FC<ManagingProps> = ({ viewer, view, may }) => {
  if (isTerminal(view)) return null;
  const action = (name: string): string => `${viewer.place.base}/${view.id}/${name}`;
  const { expiresAt } = view.bounds;
  return (
    <details class="card" data-live="manage" data-version={`${view.status} ${expiresAt}`}>
      <summary>Stop it, or give it more time</summary>
      {view.status === 'pending' &&
        expiresAt &&
        (may.extend.allowed ? (
          <form method="post" action={action('extend')}>
            <FormToken viewer={viewer} />
            <Select name="expiresAt" label="More time" typed={undefined} choices={laterThan(expiresAt)} />
            <button type="submit">Extend</button>
          </form>
        ) : (
          <Missing what="extend it" viewer={viewer} answer={may.extend} />
        ))}
      {may.stop.allowed ? (
        <form method="post" action={action('stop')}>
          <FormToken viewer={viewer} />
          <Select name="reason" label="Stop it" typed={undefined} choices={REASONS} />
          <button type="submit" class="danger">
            Stop
          </button>
        </form>
      ) : (
        <Missing what="stop it" viewer={viewer} answer={may.stop} />
      )}
    </details>
  );
};

const HOUR = 3_600_000;
const MORE = [
  [HOUR, '1 hour'],
  [4 * HOUR, '4 hours'],
  [24 * HOUR, '1 day'],
  [3 * 24 * HOUR, '3 days'],
  [7 * 24 * HOUR, '1 week'],
] as const;

/** Deadlines, not amounts: the same form twice extends once. */
function laterThan(expiresAt: string): Record<string, string> {
  return Object.fromEntries(
    MORE.map(([ms, words]) => {
      const until = new Date(Date.parse(expiresAt) + ms).toISOString();
      return [until, `${words} more, until ${until.slice(0, 16).replace('T', ' ')} UTC`];
    }),
  );
}
