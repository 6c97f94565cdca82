/**
 * Histories of every path, recorded with `support/record-histories.ts`, replayed through the workflows as they are now: a
 * continuation that waits must survive every release of this package.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { DefaultLogger, Runtime, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContinuationOutcome } from '../workflows/messages.ts';
import { GUARDED, UNGUARDED } from './support/changed-workflow.ts';
import { bundleMutated } from './support/mutated-bundle.ts';
import { workflowBundle } from './support/stack.ts';

interface RecordedHistory {
  readonly workflowId: string;
  readonly events: Array<Record<string, { result?: { payloads: Array<{ data: string }> } } | undefined>>;
}

const folder = new URL('./histories/', import.meta.url);
const names = readdirSync(folder).map((file) => file.replace(/\.json$/, ''));
const load = (name: string): RecordedHistory => JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8'));

/** What each history came to; without an error it replays. */
async function replay(bundle: WorkflowBundleOption, only: readonly string[] = names): Promise<Record<string, string>> {
  const histories = only.map((name) => ({ workflowId: name, history: { events: load(name).events } }));
  const results: Record<string, string> = {};
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle: bundle }, histories))
    results[workflowId] = error ? error.name : 'replays';
  return results;
}
const all = (outcome: string, only: readonly string[] = names) =>
  Object.fromEntries(only.map((name) => [name, outcome]));

/** How a recorded continuation ended, from the result of its workflow. */
function endOf(name: string): string {
  const payload = load(name).events.at(-1)?.workflowExecutionCompletedEventAttributes?.result?.payloads[0];
  if (!payload) return 'open';
  const { status, reason, delivery }: ContinuationOutcome = JSON.parse(Buffer.from(payload.data, 'base64').toString());
  return `${status} ${reason} ${delivery}`;
}

const ENDS: Record<string, string> = {
  'answered-by-reference': 'completed completed delivered',
  'answered-by-signal': 'completed completed delivered',
  'asks-again': 'completed completed delivered',
  'attempts-used-up': 'failed max_resume_attempts_reached not_applicable',
  'cancelled-while-pending': 'cancelled cancelled_by_user not_applicable',
  'cancelled-while-running': 'cancelled cancelled_by_user not_applicable',
  'completed-and-delivered': 'completed completed delivered',
  'completed-without-delivery': 'completed completed not_applicable',
  'closed-incomplete': 'failed resume_runtime_error not_applicable',
  'delivered-again': 'completed completed delivered',
  denied: 'cancelled approval_denied not_applicable',
  expired: 'expired expired_ttl suppressed_expired',
  extended: 'expired expired_ttl suppressed_expired',
  failed: 'failed resume_runtime_error not_applicable',
  maintenance: 'open',
  'no-answer': 'completed completed delivered',
  'reconciled-happened': 'completed completed delivered',
  'reconciled-runs-again': 'completed completed delivered',
  'refused-signals': 'completed completed delivered',
  'reset-follows-the-row': 'cancelled cancelled_by_product not_applicable',
  'start-window-expired': 'expired expired_ttl suppressed_expired',
  'start-window-kept': 'completed completed delivered',
  'stopped-in-the-start-window': 'cancelled cancelled_by_user not_applicable',
  'stopped-while-delivering': 'completed completed delivered',
  'stopped-while-pending': 'cancelled cancelled_by_user not_applicable',
  'stopped-while-running': 'cancelled cancelled_by_user not_applicable',
  superseded: 'superseded superseded_by_newer_turn suppressed_superseded',
  'superseded-while-delivering': 'completed completed suppressed_superseded',
  taken: 'completed completed not_applicable',
  'tried-again': 'completed completed delivered',
  'uncertain-then-stopped': 'cancelled cancelled_by_user not_applicable',
  wake: 'completed completed delivered',
};

let bundle: { code: string };
beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    // A replay that fails is reported by its result.
    telemetryOptions: { logging: { filter: { core: 'OFF' as 'ERROR', other: 'OFF' as 'ERROR' } } },
  });
  bundle = await workflowBundle();
}, 120_000);
afterAll(() => Runtime.instance().shutdown());

describe('recorded histories', () => {
  test('there is one of every path, and it is the path that its name says', () => {
    expect(Object.fromEntries(names.map((name) => [name, endOf(name)]))).toEqual(ENDS);
  });

  test('all of them replay', async () => {
    expect(await replay(bundle)).toEqual(all('replays'));
  });

  test('an undecodable signal replays with our payload converter, and not with the default one', async () => {
    const converter = {
      file: 'src/payload-converter.ts',
      from: 'return UNDECODABLE as T;',
      to: "throw new Error('undecodable');",
    };
    expect(await replay(await bundleMutated(converter), ['refused-signals', 'expired'])).toEqual({
      'refused-signals': expect.stringMatching(/Error/),
      expired: 'replays',
    });
  }, 120_000);
});

describe('a changed workflow', () => {
  test('that does one thing more fails the replay of every continuation', async () => {
    const changed = await bundleMutated({
      file: 'workflows/continuation.ts',
      from: 'return CancellationScope.nonCancellable(() => live(',
      to: 'return CancellationScope.nonCancellable(() => createEffects(start.options).project(life.record)).then(() => live(',
    });
    const continuations = names.filter((name) => name !== 'maintenance');
    expect(await replay(changed)).toEqual({
      ...all('DeterminismViolationError', continuations),
      maintenance: 'replays',
    });
  }, 120_000);

  test('that is guarded by patched replays all of them, and without the guard none that ran a turn', async () => {
    expect(await replay(await bundleMutated(...GUARDED))).toEqual(all('replays'));
    const unguarded = Object.entries(await replay(await bundleMutated(...UNGUARDED)));
    const failed = unguarded.filter(([, outcome]) => outcome === 'DeterminismViolationError').map(([name]) => name);
    const ran = names.filter((name) => load(name).events.some((event) => JSON.stringify(event).includes('"runTurn"')));
    expect(failed).toEqual(ran);
  }, 120_000);

  test('that delivers under another name fails the replay of what a turn did not deliver itself, and of nothing else', async () => {
    const changed = await bundleMutated({
      file: 'workflows/effects.ts',
      from: '`deliver-$' + '{record.bounds.resumeAttempts}`',
      to: '`follow-up-$' + '{record.bounds.resumeAttempts}`',
    });
    const delivered = names.filter((name) =>
      load(name).events.some((event) => JSON.stringify(event).includes('"deliver"')),
    );
    expect(delivered).toEqual(['delivered-again', 'reconciled-happened']);
    expect(await replay(changed)).toEqual({ ...all('replays'), ...all('DeterminismViolationError', delivered) });
  }, 120_000);
});
