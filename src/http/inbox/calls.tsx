/** What an agent asks to do: its calls, as a table to read and as the text that will run. */
import type { FC } from 'hono/jsx';
import type { PendingCall } from '../../schema.ts';
import { membersOf, stringOf } from './json-members.ts';
import { inBytes, Prose, Verbatim, Words } from './text.tsx';

export const Call: FC<{ call: PendingCall; text: string; number?: number | undefined }> = ({ call, text, number }) => (
  <section class="call" aria-label={`Call ${number ?? call.name}`}>
    <h3>
      {number !== undefined && <span class="muted">{number}. </span>}
      <Words text={call.name} />
    </h3>
    <Arguments text={text} />
    <details>
      <summary>As it is written ({inBytes(Buffer.byteLength(text))} of JSON)</summary>
      <Verbatim text={text} />
      <p class="hint">
        Call <Words text={call.id} />, digest <code>{call.argumentsDigest}</code>
      </p>
    </details>
  </section>
);

const Arguments: FC<{ text: string }> = ({ text }) => {
  const members = membersOf(text);
  if (members?.length === 0) return <p class="muted">No arguments.</p>;
  return members ? <Members text={text} /> : <Verbatim text={text} />;
};

/** Deeper than this the text itself is easier to read. */
const MAX_DEPTH = 3;
/** Of more members nobody reads a table. */
const MAX_MEMBERS = 200;

const Members: FC<{ text: string; depth?: number }> = ({ text, depth = 1 }) => {
  const members = membersOf(text) ?? [];
  return (
    <table class="arguments">
      <tbody>
        {members.slice(0, MAX_MEMBERS).map(({ key, source }) => (
          <tr>
            <th scope="row">
              <Words text={key} />
            </th>
            <td>
              <Value source={source} depth={depth} />
            </td>
          </tr>
        ))}
        {members.length > MAX_MEMBERS && (
          <tr>
            <td colspan={2}>{members.length - MAX_MEMBERS} more: see the text below.</td>
          </tr>
        )}
      </tbody>
    </table>
  );
};

const Value: FC<{ source: string; depth: number }> = ({ source, depth }) => {
  const text = stringOf(source);
  if (text !== undefined) return text === '' ? <span class="muted">empty text</span> : <Prose text={text} />;
  const nested = /^[[{]/.test(source);
  if (!nested) return <code>{source}</code>;
  if (/^[[{]\s*[\]}]$/.test(source))
    return <span class="muted">{source.startsWith('[') ? 'empty list' : 'empty'}</span>;
  return depth < MAX_DEPTH ? <Members text={source} depth={depth + 1} /> : <Verbatim text={source} />;
};
