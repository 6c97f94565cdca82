/** A running turn is heard of often enough that a busy worker is not taken for a lost one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Actors, createActors, created, DONE, gate, type Stack, startStack, taken } from '../support/stack.ts';

const heartbeatTimeoutMs = 8_000;
let stack: Stack;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack({ heartbeatTimeoutMs });
  actors = createActors();
  await stack.startWorker({ harness: actors.harness, heartbeatTimeoutMs });
});
afterAll(() => stack?.close());

test('its heartbeats come well within the timeout', async () => {
  const { id } = await created(stack.client);
  const done = gate();
  actors.plays(id, async () => {
    await done.opened;
    return DONE;
  });
  taken(await stack.client.resume({ continuationId: id, trigger: { type: 'user_reply', message: { text: 'go' } } }));
  await actors.running(id);
  const beats = new Set<number>();
  while (beats.size < 4) {
    const { raw } = await stack.handle(id).describe();
    const seconds = raw.pendingActivities?.[0]?.lastHeartbeatTime?.seconds;
    const nanos = raw.pendingActivities?.[0]?.lastHeartbeatTime?.nanos ?? 0;
    if (seconds) beats.add(Number(seconds) * 1_000 + nanos / 1e6);
    await sleep(200);
  }
  done.open();
  const times = [...beats];
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  // The SDK by itself lets 0.8 of it pass.
  expect(Math.max(...gaps)).toBeLessThan(heartbeatTimeoutMs * 0.7);
});
