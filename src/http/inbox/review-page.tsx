/** What an edit of arguments changes, shown before it is sent. */
import { diffWordsWithSpace } from 'diff';
import type { FC } from 'hono/jsx';
import type { ContinuationView } from '../../reading.ts';
import type { Edit } from './answer-form.ts';
import { membersOf } from './json-members.ts';
import { FormToken, type Viewer } from './page.tsx';
import { Marked, Prose, Verbatim, Words } from './text.tsx';

interface ReviewProps {
  readonly viewer: Viewer;
  readonly view: ContinuationView;
  readonly fields: URLSearchParams;
  readonly edits: readonly Edit[];
}

const OWN = ['formToken', 'step'];

export const ReviewPage: FC<ReviewProps> = ({ viewer, view, fields, edits }) => (
  <section class="card">
    <h1>Is this what you mean?</h1>
    <p>You approve this with arguments other than those that the agent asked for:</p>
    {edits.map((edit) => (
      <section class="call">
        <h2>
          <Words text={edit.name} />
        </h2>
        <Changes edit={edit} />
        <Difference edit={edit} />
      </section>
    ))}
    <form method="post" action={`${viewer.place.base}/${view.id}/answer`}>
      <FormToken viewer={viewer} />
      {[...fields]
        .filter(([name]) => !OWN.includes(name))
        .map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
      <div class="buttons">
        <button type="submit" name="step" value="confirmed" class="primary">
          Approve with these changes
        </button>
        <button type="submit" name="step" value="edit">
          Back to the form
        </button>
      </div>
    </form>
  </section>
);

/** Which members change, each as it is written; nothing where names come twice, or where there are none. */
const Changes: FC<{ edit: Edit }> = ({ edit }) => {
  const [before, after] = [sourcesOf(edit.before), sourcesOf(edit.after)];
  if (!before || !after) return null;
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
  return (
    <table class="arguments">
      <thead>
        <tr>
          <th scope="col">Changes</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changed.map((key) => (
          <tr>
            <th scope="row">
              <Words text={key} />
            </th>
            <td>
              <Source source={before.get(key)} />
            </td>
            <td>
              <Source source={after.get(key)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};

const Source: FC<{ source: string | undefined }> = ({ source }) =>
  source === undefined ? <span class="muted">is not there</span> : <Prose text={source} />;

function sourcesOf(text: string): ReadonlyMap<string, string> | undefined {
  const members = membersOf(text);
  const sources = new Map(members?.map(({ key, source }) => [key, source]));
  return members && sources.size === members.length ? sources : undefined;
}

/** Comparing longer texts, or texts that share little, takes too long. */
const COMPARING_MS = 500;

const Difference: FC<{ edit: Edit }> = ({ edit: { before, after } }) => {
  const parts = diffWordsWithSpace(before, after, { timeout: COMPARING_MS });
  if (!parts)
    return (
      <>
        <h3>Before</h3>
        <Verbatim text={before} />
        <h3>After</h3>
        <Verbatim text={after} />
      </>
    );
  return (
    <pre class="difference" tabindex={0}>
      <code dir="ltr">
        {parts.map(({ added, removed, value }) => {
          if (added)
            return (
              <ins>
                <Marked text={value} />
              </ins>
            );
          if (removed)
            return (
              <del>
                <Marked text={value} />
              </del>
            );
          return <Marked text={value} />;
        })}
      </code>
    </pre>
  );
};
