/** One bounded run of a harness: its result, its error, or the knowledge that it can no longer be heard. */
import { Context } from '@temporalio/activity';
import { formatPath } from '../src/json.ts';
import type { Harness, ResumedTurn } from '../src/ports.ts';
import { HarnessResult } from '../src/schema.ts';
import { causeOf, classify, type Thrown } from './failure.ts';

/** How long a harness may take to end after its signal was aborted. */
const ABORT_GRACE_MS = 5_000;

export type Run =
  | { readonly kind: 'result'; readonly result: HarnessResult }
  | Thrown
  /** Stopped, or cut off: whoever did it decides what becomes of the turn. `late` is what the harness may still come to. */
  | { readonly kind: 'stopped'; readonly late: Promise<Settled> };
type Settled = { readonly value: unknown } | { readonly error: unknown };

export async function runHarness(harness: Harness, turn: Omit<ResumedTurn, 'signal'>, timeoutMs: number): Promise<Run> {
  const { cancellationSignal } = Context.current();
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([cancellationSignal, timeout]);
  const settled = settle(async () => harness.runResumedTurn({ ...turn, signal }));
  const end = await Promise.race([settled, graceAfter(signal)]);
  if (end !== undefined && 'value' in end) return parseResult(end.value);

  if (cancellationSignal.aborted && !timeout.aborted) {
    const shutdown = Context.current().cancellationDetails?.workerShutdown === true;
    if (end === undefined || !shutdown) return { kind: 'stopped', late: settled };
    const thrown = classify(end.error);
    return thrown.kind === 'unknown' ? thrown : { ...thrown, kind: 'transient' };
  }
  if (end === undefined) {
    return {
      kind: 'unknown',
      error: { code: 'turn_timeout', message: `The harness did not stop within ${timeoutMs} ms, nor when told to.` },
    };
  }
  const thrown = classify(end.error);
  if (!timeout.aborted || thrown.kind === 'unknown') return thrown;
  return { kind: 'permanent', error: { code: 'turn_timeout', message: `The turn took longer than ${timeoutMs} ms.` } };
}

function settle(run: () => Promise<unknown>): Promise<Settled> {
  return run().then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

/** Resolves with nothing once the signal has been aborted for a while. */
function graceAfter(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const wait = () => setTimeout(() => resolve(undefined), ABORT_GRACE_MS).unref();
    if (signal.aborted) wait();
    else signal.addEventListener('abort', wait, { once: true });
  });
}

function parseResult(value: unknown): Run {
  const parsed = HarnessResult.safeParse(value);
  if (parsed.success) return { kind: 'result', result: parsed.data };
  const [issue] = parsed.error.issues;
  const path = formatPath(issue?.path ?? []);
  const error = {
    code: 'invalid_input',
    message: `The harness returned no valid result: ${path || 'the result'} ${issue?.message ?? ''}`,
  };
  return { kind: 'permanent', error: causeOf(Object.assign(new Error(error.message), { code: error.code })) };
}
