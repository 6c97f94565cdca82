/** Medians and the like. */

/** The p-th quantile (0..1) by nearest rank; NaN of nothing. */
export function quantile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** A figure of both sides, one value a round. */
export interface Pair {
  readonly bare: number[];
  readonly ours: number[];
}

/** Ours to bare: the median of the rounds' ratios, because noise hits both sides of a round alike. */
export function ratio({ bare, ours }: Pair): number {
  return median(ours.map((value, round) => value / (bare[round] ?? Number.NaN)));
}
