/** For whoever starts and balances servers: whether this one lives, and whether it can do its work. Tells nothing else. */
import { Hono } from 'hono';

/** Resolves when what is needed answers; throws otherwise. */
export type Readiness = () => Promise<unknown>;

const PATIENCE_MS = 5_000;

export function createHealth(ready: Readiness, closing?: AbortSignal): Hono {
  const app = new Hono();
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/readyz', async (c) => {
    if (!closing?.aborted && (await answers(ready))) return c.json({ status: 'ok' });
    return c.json({ status: 'unavailable' }, 503);
  });
  return app;
}

async function answers(ready: Readiness): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), PATIENCE_MS);
  });
  try {
    return await Promise.race([ready().then(() => true), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
