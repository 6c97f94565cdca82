/**
 * The members of a JSON text as they are written: every digit of a number, and every member, also one whose name comes twice. Parsing
 * would lose both, and what a person approves is the text.
 */

export interface JsonMember {
  /** A name of an object, or a place in an array. */
  readonly key: string;
  readonly source: string;
}

/** The members of an object or array; undefined for any other text, or when it is not JSON. */
export function membersOf(text: string): JsonMember[] | undefined {
  const source = text.trim();
  const [first] = source;
  if ((first !== '{' && first !== '[') || !isJson(source)) return undefined;
  return cut(source.slice(1, -1)).map((member, index) =>
    first === '[' ? { key: String(index), source: member } : named(member),
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What stands between the commas of the outermost level. */
function cut(inside: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: token, index } of inside.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},]/g)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (token === ',' && depth === 0) {
      parts.push(inside.slice(from, index).trim());
      from = index + 1;
    }
  }
  const last = inside.slice(from).trim();
  return last === '' ? parts : [...parts, last];
}

function named(member: string): JsonMember {
  const name = /^"[^"\\]*(?:\\.[^"\\]*)*"/.exec(member)?.[0] ?? '""';
  return { key: JSON.parse(name), source: member.slice(name.length).replace(/^\s*:\s*/, '') };
}

/** A string as it reads; undefined for anything else. */
export function stringOf(source: string): string | undefined {
  return source.startsWith('"') ? JSON.parse(source) : undefined;
}
