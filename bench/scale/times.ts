/** How long each takes, one after the other, milliseconds. */
export async function times<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<number[]> {
  const milliseconds: number[] = [];
  for (const item of items) {
    const started = performance.now();
    await work(item);
    milliseconds.push(performance.now() - started);
  }
  return milliseconds;
}
