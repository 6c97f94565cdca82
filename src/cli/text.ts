/** Words, tables and quoting for a terminal. */

/** Text of users and models on one line: nothing in it can move the cursor or change colours. */
export function plain(text: string): string {
  return text.replace(/[\p{C}\s]+/gu, ' ').trim();
}

/** As `plain`, with its line breaks, indented. */
export function paragraph(text: string, indent = '  '): string {
  return text
    .split(/\r?\n/)
    .map((line) => `${indent}${plain(line)}`.trimEnd())
    .join('\n');
}

function clip(text: string, width: number): string {
  const points = [...text];
  return points.length <= width ? text : `${points.slice(0, Math.max(1, width - 1)).join('')}…`;
}

/** Columns as wide as they need to be; the last one gets what is left of `width`. */
export function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>, width: number): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => [...(row[column] ?? '')].length)));
  const last = head.length - 1;
  const before = widths.slice(0, last).reduce((sum, one) => sum + one + 2, 0);
  const room = Math.max(20, width - before);
  return all
    .map((row) => row.map((cell, column) => (column === last ? clip(cell, room) : pad(cell, widths[column] ?? 0))))
    .map((cells) => cells.join('  ').trimEnd())
    .join('\n');
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - [...text].length));
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** `23 h 59 min`: the two largest units. */
export function duration(ms: number): string {
  const parts: string[] = [];
  let rest = Math.max(0, ms);
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break;
  }
  return parts.join(' ') || '0 s';
}

/** `in 23 h 59 min` or `2 min ago`. */
export function relative(instant: string, now: Date): string {
  const ms = Date.parse(instant) - now.getTime();
  return ms >= 0 ? `in ${duration(ms)}` : `${duration(-ms)} ago`;
}

/** One word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function commandLine(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}
