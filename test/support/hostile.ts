/** What fuzzing sends. */
import fc from 'fast-check';

/** Cases of each property. */
export const numRuns = Number(process.env.FUZZ_CASES ?? 2_000);
const anything = fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withSparseArray: true });
export const keys = [
  '__proto__',
  'constructor',
  'toString',
  'type',
  'trigger',
  'calls',
  'message',
  'metadata',
  'stamp',
];
export const hostile = fc.oneof(
  anything,
  fc.jsonValue({ maxDepth: 6 }),
  fc.dictionary(fc.constantFrom(...keys), anything),
);

/** What travels as JSON: messages, and records in their rows. */
export const json = fc.oneof(
  fc.jsonValue({ maxDepth: 6 }),
  fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 3 })),
);

/** A valid value with one part of it, at any depth, replaced by anything. */
export function broken(value: unknown): fc.Arbitrary<unknown> {
  if (typeof value !== 'object' || value === null) return json;
  const members = Object.entries(value).map(([key, member]) =>
    broken(member).map((part) =>
      Array.isArray(value) ? Object.assign([...value], { [key]: part }) : { ...value, [key]: part },
    ),
  );
  return fc.oneof(
    json,
    fc.tuple(fc.constantFrom(...keys), json).map(([key, part]) => ({ ...value, [key]: part })),
    ...members,
  );
}
