/**
 * Two builds of the workflow while continuations wait: the one in this repository and one that does something more before a turn.
 * What docs/changing-the-workflow.md says is done here: `patched`, both ways round, and worker versioning.
 */

import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { isTerminal } from '../../src/record.ts';
import { reply } from '../support/builders.ts';
import { GUARDED, UNGUARDED } from '../support/changed-workflow.ts';
import { bundleMutated } from '../support/mutated-bundle.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  gate,
  type RunningWorker,
  type Stack,
  startStack,
  taken,
  workflowBundle,
} from '../support/stack.ts';

type Bundle = { code: string };
let stack: Stack;
let old: Bundle;
let guarded: Bundle;
let unguarded: Bundle;
beforeAll(async () => {
  stack = await startStack({ heartbeatTimeoutMs: 2_000 });
  old = await workflowBundle();
  guarded = await bundleMutated(...GUARDED);
  unguarded = await bundleMutated(...UNGUARDED);
}, 180_000);
afterAll(() => stack?.close());

/** `ROUTING_CONFIG_UPDATE_STATE_COMPLETED`. */
const COMPLETED = 2;

/** What its workflow asked for, in order. */
async function activitiesOf(id: string): Promise<string[]> {
  const { events } = await stack.handle(id).fetchHistory();
  return (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []);
}
const OLD_ORDER = ['runTurn'];
const NEW_ORDER = ['project', 'runTurn'];

async function replayed(id: string, bundle: Bundle): Promise<string> {
  const history = await stack.handle(id).fetchHistory();
  const results = Worker.runReplayHistories({ workflowBundle: bundle }, [{ workflowId: id, history }]);
  for await (const { error } of results) return error?.name ?? 'replays';
  return 'nothing';
}

/** Replaces the worker as a release does. */
function releases(actors: Actors): (bundle: Bundle) => Promise<RunningWorker> {
  let running: RunningWorker | undefined;
  return async (bundle) => {
    await running?.stop();
    running = await stack.startWorker({ ...actors, workflowBundle: bundle });
    return running;
  };
}

const answer = (id: string) =>
  stack.client.resume({ continuationId: id, messageId: 'm', trigger: reply() }, { until: 'finished' });

describe('a change that is guarded by patched', () => {
  test('finishes what the old build began, and the old build what the new one began: release and rollback', async () => {
    const actors = createActors();
    const release = releases(actors);
    await release(old);
    const begunByOld = await Promise.all([1, 2, 3].map(() => created(stack.client)));
    await Promise.all(begunByOld.map(({ id }) => stack.waits(id)));
    await release(guarded);
    const [first, second, third] = begunByOld.map(({ id }) => id) as [string, string, string];
    expect(taken(await answer(first))).toMatchObject({ record: { status: 'completed' } });
    expect(await activitiesOf(first)).toEqual(NEW_ORDER);

    const begunByNew = await created(stack.client);
    await stack.waits(begunByNew.id);
    const worker = await release(old);
    for (const id of [second, begunByNew.id]) {
      expect(taken(await answer(id))).toMatchObject({ record: { status: 'completed' } });
      expect(await activitiesOf(id)).toEqual(OLD_ORDER);
    }
    await release(guarded);
    expect(taken(await answer(third))).toMatchObject({ record: { status: 'completed' } });
    for (const id of [first, second, third, begunByNew.id]) {
      expect((await agreedEnd(stack, id)).kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
      expect(actors.turns(id)).toHaveLength(1);
      expect(actors.deliveries(id)).toHaveLength(1);
    }
    await (await release(old)).stop();
    await worker.stop();
  });

  test('in the middle of a turn: what the old build scheduled stays as it is; what the new one marked waits for the new one', async () => {
    const actors = createActors();
    const release = releases(actors);
    const open = gate();
    const started = async (bundle: Bundle) => {
      await release(bundle);
      const { id } = await created(stack.client);
      actors.plays(id, async () => {
        await open.opened;
        return DONE;
      });
      taken(await stack.client.resume({ continuationId: id, messageId: 'm', trigger: reply() }));
      await actors.running(id);
      return id;
    };
    const byOld = await started(old);
    const byNew = await started(guarded);
    expect(await replayed(byOld, guarded)).toBe('replays');
    expect(await replayed(byOld, unguarded)).toBe('DeterminismViolationError');
    expect(await replayed(byNew, old)).toBe('DeterminismViolationError');
    open.open();
    const worker = await release(guarded);
    for (const id of [byOld, byNew])
      await becomes(stack.client, id, (one) => isTerminal(one) || one.resume?.uncertain !== undefined);
    await worker.stop();
  });
});

describe('worker versioning', () => {
  test('keeps each continuation on the build that began it: a change needs no patch', async () => {
    const deploymentName = `continuations-${stack.taskQueue}`;
    const actors = createActors();
    const start = (buildId: string, bundle: Bundle) =>
      stack.startWorker({
        ...actors,
        workflowBundle: bundle,
        worker: {
          workerDeploymentOptions: {
            version: { deploymentName, buildId },
            useWorkerVersioning: true,
            defaultVersioningBehavior: 'PINNED',
          },
        },
      });
    const service = stack.temporal.workflowService;
    const deployment = { namespace: 'default', deploymentName };
    const makeCurrent = async (buildId: string) => {
      const set = () => service.setWorkerDeploymentCurrentVersion({ ...deployment, buildId, identity: 'release' });
      await vi.waitFor(set, { timeout: 30_000, interval: 200 });
      // The task queues hear of it a moment later.
      const heard = async () => (await service.describeWorkerDeployment(deployment)).workerDeploymentInfo;
      await expect.poll(heard, { timeout: 30_000 }).toMatchObject({ routingConfigUpdateState: COMPLETED });
    };
    const workers = [await start('old', old)];
    await makeCurrent('old');
    const before = await created(stack.client);
    await stack.waits(before.id);
    workers.push(await start('new', unguarded));
    await makeCurrent('new');
    const after = await created(stack.client);
    await stack.waits(after.id);
    for (const { id } of [before, after])
      expect(taken(await answer(id))).toMatchObject({ record: { status: 'completed' } });
    expect(await activitiesOf(before.id)).toEqual(OLD_ORDER);
    expect(await activitiesOf(after.id)).toEqual(NEW_ORDER);
    for (const { id } of [before, after]) await agreedEnd(stack, id);
    await Promise.all(workers.map((worker) => worker.stop()));
  });
});
