/** Receipts outside the database: exported as JSON lines, and checked without anything but the lines. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Receipt } from './ports.ts';

/** What a line holds; `body` is the fact as it was digested, the rest of it stands in the body as well. */
type Line = Pick<Receipt, 'continuationId' | 'sequence' | 'kind' | 'at' | 'body' | 'digest'>;

/** One receipt a line, oldest first, with a line end after each. */
export function exportReceipts(receipts: readonly Receipt[]): string {
  return receipts
    .map(({ continuationId, sequence, kind, at, body, digest }) =>
      JSON.stringify({ continuationId, sequence, kind, at, body, digest } satisfies Line),
    )
    .map((line) => `${line}\n`)
    .join('');
}

export type Verification =
  | { readonly ok: true; readonly continuationId: string; readonly receipts: number; readonly head: string }
  | {
      readonly ok: false;
      /** `cut_off` also when what is there does not lead to the expected head: later receipts are gone, or all were rewritten. */
      readonly fault: 'malformed' | 'edited' | 'missing' | 'reordered' | 'foreign' | 'cut_off';
      /** The receipt that it is about; for `malformed` the line. */
      readonly sequence: number;
      readonly message: string;
    };

/**
 * Checks the receipts of one continuation. Without the expected `head` (in the workflow's result, and in `get`) nobody can tell
 * whether the last ones are missing, nor whether somebody rewrote all of them.
 */
export function verifyReceipts(lines: string, expected: { head?: string; continuationId?: string } = {}): Verification {
  const parsed: Line[] = [];
  for (const [index, text] of lines.replace(/\n$/, '').split('\n').entries()) {
    const line = readLine(text);
    if (!line) return fault('malformed', index + 1, `line ${index + 1} is no receipt`);
    parsed.push(line);
  }
  const [first] = parsed;
  const id = expected.continuationId ?? first?.continuationId;
  if (!first || id === undefined) return fault('missing', 1, 'there is no receipt');
  let head = '';
  for (const [index, line] of parsed.entries()) {
    const wrong = whatIsWrong(line, { sequence: index + 1, head, id, rest: parsed.slice(index + 1) });
    if (wrong) return wrong;
    head = line.digest;
  }
  if (expected.head !== undefined && expected.head !== head)
    return fault(
      'cut_off',
      parsed.length,
      `receipt ${parsed.length} is not the last one, or all of them were rewritten`,
    );
  return { ok: true, continuationId: id, receipts: parsed.length, head };
}

interface Place {
  readonly sequence: number;
  readonly head: string;
  readonly id: string;
  readonly rest: readonly Line[];
}

function whatIsWrong(line: Line, { sequence, head, id, rest }: Place): Verification | undefined {
  if (line.continuationId !== id)
    return fault('foreign', line.sequence, `receipt ${line.sequence} is one of ${line.continuationId}, not of ${id}`);
  if (line.sequence !== sequence) {
    const moved = line.sequence < sequence || rest.some((other) => other.sequence === sequence);
    return moved
      ? fault('reordered', line.sequence, `receipt ${line.sequence} stands where ${sequence} belongs`)
      : fault('missing', sequence, `receipt ${sequence} is missing`);
  }
  const fact = factOf(line.body);
  const agrees = fact?.kind === line.kind && fact.at === line.at && fact.continuationId === id;
  if (!agrees || line.digest !== linkOf(head, line))
    return fault('edited', sequence, `receipt ${sequence} was edited, or the one before it`);
  return undefined;
}

/** As the database links them: SHA-256 of the digest before, the sequence, and the digest of the body. */
function linkOf(head: string, { sequence, body }: Line): string {
  const digest = (text: string) => bytesToHex(sha256(utf8ToBytes(text)));
  return digest(`${head}\n${sequence}\n${digest(body)}`);
}

function readLine(text: string): Line | undefined {
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { sequence, ...texts } = value as Record<string, unknown>;
  const names = ['at', 'body', 'continuationId', 'digest', 'kind'];
  const complete = names.every((name) => typeof texts[name] === 'string') && Object.keys(texts).length === names.length;
  return complete && Number.isInteger(sequence) ? (value as Line) : undefined;
}

function factOf(body: string): Record<string, unknown> | undefined {
  const value = parse(body);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fault(kind: Exclude<Verification, { ok: true }>['fault'], sequence: number, message: string): Verification {
  return { ok: false, fault: kind, sequence, message };
}
