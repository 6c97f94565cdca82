/** Text of models and users on a page: shown as it is, never markup, and nothing in it that the eye would miss. */
import type { Child, FC } from 'hono/jsx';

/**
 * Characters that are not seen but change how the rest is read: controls, marks of direction, invisible ones. Joiners are part of
 * scripts and of emoji, and stay.
 */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

function seen(text: string): Child[] {
  const parts: Child[] = [];
  let from = 0;
  for (const { 0: char, index } of text.matchAll(UNSEEN)) {
    parts.push(...breakable(text.slice(from, index)), <span class="unseen">{nameOf(char)}</span>);
    from = index + char.length;
  }
  parts.push(...breakable(text.slice(from)));
  return parts;
}

/** Browsers need minutes to lay out a word of many kilobytes in a narrow column, unless they are told where it may be cut. */
function breakable(text: string): Child[] {
  const parts: Child[] = [];
  let from = 0;
  for (const { 0: run, index } of text.matchAll(/\S{128}(?=\S)/gu)) {
    parts.push(text.slice(from, index + run.length), <wbr />);
    from = index + run.length;
  }
  return [...parts, text.slice(from)];
}

function nameOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** For a place that shows text only, such as the title of a window. */
export function bare(text: string): string {
  return text.replace(UNSEEN, '');
}

/** A few words in a line; its direction stays its own affair. */
export const Words: FC<{ text: string }> = ({ text }) => <bdi>{seen(text)}</bdi>;

/** A piece of a text that is laid out by whoever shows it. */
export const Marked: FC<{ text: string }> = ({ text }) => <>{seen(text)}</>;

/** A text of this many characters or lines is folded. */
const LONG = 1_500;
const MANY_LINES = 24;

/** A text with its line breaks; a long one begins, and unfolds. */
export const Prose: FC<{ text: string }> = ({ text }) => {
  const start = beginning(text);
  if (start === text)
    return (
      <div class="prose" dir="auto">
        {seen(text)}
      </div>
    );
  return (
    <>
      <div class="prose" dir="auto">
        {seen(start)}…
      </div>
      <details>
        <summary>Show all of it ({inBytes(Buffer.byteLength(text))})</summary>
        <div class="prose" dir="auto">
          {seen(text)}
        </div>
      </details>
    </>
  );
};

/** A text for machines, character by character. */
export const Verbatim: FC<{ text: string }> = ({ text }) => (
  // What scrolls has to be reached by keyboard.
  <pre tabindex={0}>
    <code dir="ltr">{seen(text)}</code>
  </pre>
);

/** The first line of a text, cut. */
export function oneLine(text: string, most = 160): string {
  const points = [
    ...text
      .slice(0, 4 * most)
      .replace(/\s+/g, ' ')
      .trim(),
  ];
  return points.length <= most ? points.join('') : `${points.slice(0, most - 1).join('')}…`;
}

function beginning(text: string): string {
  const lines = text.split('\n', MANY_LINES + 1);
  const start = lines.length > MANY_LINES ? lines.slice(0, MANY_LINES).join('\n') : text;
  return start.length > LONG ? [...start.slice(0, LONG)].slice(0, -1).join('') : start;
}

/** A message as a sentence of its own. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

export function inBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

const INSTANT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone: 'UTC',
});

/** An instant in UTC; with `relative` the script adds how far away it is, and keeps that true. */
export const Time: FC<{ at: string; relative?: boolean }> = ({ at, relative = false }) => (
  <time datetime={at}>
    {INSTANT.format(new Date(at))} UTC{relative && ' '}
    {relative && <span data-relative={at} />}
  </time>
);
