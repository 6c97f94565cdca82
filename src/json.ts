/** What counts as JSON that can be stored and digested, checked before anything else looks at it. Workflow-safe. */

/** Largest encoded input, in UTF-8 bytes. */
export const MAX_INPUT_BYTES = 8 * 1024 * 1024;
const MAX_DEPTH = 100;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** A fault in a value: where it is and what is wrong there. */
export interface Fault {
  readonly path: ReadonlyArray<string | number>;
  readonly message: string;
}

/** Why a text cannot be stored (jsonb refuses U+0000; drivers silently replace lone surrogates), or undefined. */
export function textFault(text: string): string | undefined {
  if (text.includes('\u0000')) return 'contains U+0000, which cannot be stored as text';
  return unicodeFault(text);
}

/** Why a text has no UTF-8 bytes of its own (encoders silently replace lone surrogates), or undefined. */
export function unicodeFault(text: string): string | undefined {
  return /\p{Surrogate}/u.test(text) ? 'contains a lone surrogate, which is not valid Unicode text' : undefined;
}

/**
 * The first thing in `value` that is not plain JSON (NaN, a date, undefined inside an array, a cycle, more than 100 levels).
 * With `strictText` also the first string or key that cannot be stored as text. Absent (undefined) object members are allowed.
 */
export function jsonFault(value: unknown, strictText = true): Fault | undefined {
  return faultAt(value, [], strictText);
}

function faultAt(value: unknown, path: Array<string | number>, strictText: boolean): Fault | undefined {
  switch (typeof value) {
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : { path, message: `must be a finite number, not ${value}` };
    case 'string': {
      const message = strictText ? textFault(value) : undefined;
      return message === undefined ? undefined : { path, message };
    }
    case 'object':
      if (value === null) return undefined;
      if (path.length >= MAX_DEPTH)
        return { path, message: `is nested more than ${MAX_DEPTH} levels deep, or contains itself` };
      return Array.isArray(value) ? faultInArray(value, path, strictText) : faultInObject(value, path, strictText);
    default:
      return { path, message: `must be JSON, not ${typeof value}` };
  }
}

function faultInArray(value: unknown[], path: Array<string | number>, strictText: boolean): Fault | undefined {
  for (let index = 0; index < value.length; index++) {
    const fault = faultAt(value[index], [...path, index], strictText);
    if (fault) return fault;
  }
  return undefined;
}

function faultInObject(value: object, path: Array<string | number>, strictText: boolean): Fault | undefined {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    return { path, message: `must be plain JSON, not ${value.constructor?.name ?? 'an object with a prototype'}` };
  }
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const at = [...path, key];
    const keyFault = strictText ? textFault(key) : undefined;
    if (keyFault) return { path: at, message: `has a name that ${keyFault}` };
    const fault = faultAt(member, at, strictText);
    if (fault) return fault;
  }
  return undefined;
}

/** Bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (const char of text) {
    const point = char.codePointAt(0) ?? 0;
    if (point >= 0x80) bytes += point >= 0x800 ? 2 : 1;
  }
  return bytes;
}

/** `a.b[0]`, as a person would write the place in code. */
export function formatPath(path: ReadonlyArray<PropertyKey>): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
