/** Numbers that a seed repeats. */

/** From 0 up to 1, as `Math.random`. */
export type Random = () => number;

export function randomOf(...seed: readonly (number | string)[]): Random {
  let state = [...seed.join('/')].reduce(
    (hash, char) => Math.imul(hash ^ char.charCodeAt(0), 16_777_619),
    2_166_136_261,
  );
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function between(random: Random, from: number, to: number): number {
  return from + Math.floor(random() * (to - from));
}
