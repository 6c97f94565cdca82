/** Equal values are one object, so that a state names them by number; what is computed from them is computed once. */
import { canonicalJson } from '../../src/digest.ts';

const values = new Map<string, object>();
let naming = false;

/** The one object that equals `value`. */
export function one<T extends object>(value: T): T {
  if (Object.hasOwn(value, 'toJSON')) return value;
  const text = named(() => canonicalJson(value));
  const known = values.get(text);
  if (known) return known as T;
  const name = `#${values.size}`;
  // Not enumerable: what is spread from it is a new value.
  Object.defineProperty(value, 'toJSON', { value: () => (naming ? name : { ...value }) });
  values.set(text, value);
  return value;
}

/** A text that tells `value` from every other one; known values in it stand as their numbers. */
export function nameOf(value: unknown): string {
  return named(() => JSON.stringify(value));
}

function named(text: () => string): string {
  naming = true;
  try {
    return text();
  } finally {
    naming = false;
  }
}

/** `compute` for each key once. */
export function remembering<T>(): (key: string, compute: () => T) => T {
  const known = new Map<string, T>();
  return (key, compute) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const value = compute();
    known.set(key, value);
    return value;
  };
}

/** `compute` for each object once. */
export function remembered<K extends object, T>(compute: (of: K) => T): (of: K) => T {
  const known = new WeakMap<K, T>();
  return (of) => {
    const before = known.get(of);
    if (before !== undefined) return before;
    const value = compute(of);
    known.set(of, value);
    return value;
  };
}
