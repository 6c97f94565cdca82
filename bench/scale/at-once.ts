/** Work of many clients at once. */
const CLIENTS = 16;

/** Does the work for every item, by 16 clients. */
export async function atOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const client = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
