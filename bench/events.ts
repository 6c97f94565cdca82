/** How many events the history of a continuation has, by the way it goes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { answerSignals } from '../workflows/messages.ts';
import type { Bed } from './bed.ts';
import { answerTo, closed, pause as create, succeeded } from './sides.ts';

export const PATHS = ['bare', 'withDelivery', 'withoutDelivery', 'denied', 'expired', 'signal'] as const;
export type EventCounts = { readonly [path in (typeof PATHS)[number]]: number };

const EXPIRES_AFTER_MS = 1_000;
/** Started, and its first task scheduled and begun. */
const FIRST_TASK_EVENTS = 3;

/** Goes each way once and counts; also a check that each way leads where it should. */
export async function countEvents(bed: Bed): Promise<EventCounts> {
  const { client, temporal, sides } = bed;
  const pause = async (...given: Parameters<typeof create>) => {
    const id = await create(...given);
    await waits(temporal, id);
    return id;
  };
  const bareId = await sides.bare.create();
  await waits(temporal, bareId);
  await sides.bare.answerAndFinish(bareId);

  const delivered = await pause(client);
  succeeded(await client.resume(answerTo(delivered)));

  const undelivered = await pause(client, { delivery: false });
  succeeded(await client.resume(answerTo(undelivered)));

  const approvalId = 'refund-42';
  const denied = await pause(client, {
    harnessResult: { outcome: 'awaiting_approval', continuation: { state: { approvalId } } },
  });
  const denial = { type: 'approval_resolution', approvalId, decision: 'denied' } as const;
  succeeded(await client.resume({ continuationId: denied, trigger: denial }));

  const expiring = await pause(client, { bounds: { ttl: { user_reply: EXPIRES_AFTER_MS } } });

  const signalled = await pause(client);
  await temporal.workflow.getHandle(signalled).signal(answerSignals.user_reply, { message: { text: 'Order 42' } });

  return {
    bare: await eventsOf(temporal, bareId),
    withDelivery: await eventsOf(temporal, delivered),
    withoutDelivery: await eventsOf(temporal, undelivered),
    denied: await eventsOf(temporal, denied),
    expired: await eventsOf(temporal, expiring),
    signal: await eventsOf(temporal, signalled),
  };
}

/** The first workflow task is done: an answer that it takes at once, and then no timer, would save five events. */
async function waits(temporal: Client, id: string): Promise<void> {
  const handle = temporal.workflow.getHandle(id);
  while ((await handle.describe()).historyLength <= FIRST_TASK_EVENTS) await sleep(20);
}

async function eventsOf(temporal: Client, id: string): Promise<number> {
  await closed(temporal, id);
  const history = await temporal.workflow.getHandle(id).fetchHistory();
  return history.events?.length ?? 0;
}
