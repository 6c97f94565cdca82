/** Creates continuations until a number of them waits. */
import { randomBytes } from 'node:crypto';
import type { CreateContinuationInput } from '../../src/index.ts';
import { quantile } from '../numbers.ts';
import { pause, untilWaiting } from '../sides.ts';
import { atOnce } from './at-once.ts';
import type { Bed } from './bed.ts';

/** Those that wait, oldest first. */
export interface Waiting {
  /** They wait for a reply; the rest of them for something else. */
  readonly replies: string[];
  readonly others: string[];
  /** Created so far, those that have ended included. */
  created: number;
}

export interface Filled {
  readonly createsPerSecond: number;
  readonly createMsP50: number;
  readonly createMsP99: number;
}

const STATE_BYTES = 1024;
/** First workflow tasks are done in about the order of the creates. */
const LAST = 300;
const TENANTS = 20;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const APPROVALS_EVERY = 5;
/** So few that a query for them has to look past all others, unless an index helps. */
const RESULTS_EVERY = 1_000;

export const tenantOf = (n: number): string => `app=default/tenant=t${n % TENANTS}`;
export const sessionOf = (n: number): string => `session-${n}`;

/** Creates what is missing, and waits until workers have caught up: from then on each costs nothing but its place. */
export async function fill({ client, temporal }: Bed, waiting: Waiting, count: number): Promise<Filled> {
  const missing = count - waiting.replies.length - waiting.others.length;
  const first = waiting.created;
  waiting.created += missing;
  const times: number[] = [];
  const started = performance.now();
  await atOnce(
    Array.from({ length: missing }, (_, index) => first + index),
    async (n) => {
      const begun = performance.now();
      const { kind, input } = inputOf(n);
      const id = await pause(client, input);
      times.push(performance.now() - begun);
      waiting[kind].push(id);
    },
  );
  const seconds = (performance.now() - started) / 1000;
  await untilWaiting(temporal, [...waiting.replies, ...waiting.others].sort().slice(-LAST));
  return {
    createsPerSecond: missing / seconds,
    createMsP50: quantile(times, 0.5),
    createMsP99: quantile(times, 0.99),
  };
}

/** State that cannot be compressed and is like no other's; deadlines spread over a day. */
function inputOf(n: number): { kind: 'replies' | 'others'; input: Partial<CreateContinuationInput> } {
  const state = { text: randomBytes(STATE_BYTES).toString('base64url').slice(0, STATE_BYTES) };
  const common = {
    scope: tenantOf(n),
    sessionId: sessionOf(n),
    bounds: { expiresAt: new Date(Date.now() + 12 * HOUR + ((n * 7919) % DAY)).toISOString() },
  };
  if (n % RESULTS_EVERY === 1) {
    const deferred = { outcome: 'deferred' as const, continuation: { state: { ...state, operationId: `op-${n}` } } };
    return { kind: 'others', input: { ...common, harnessResult: deferred } };
  }
  if (n % APPROVALS_EVERY === 0) {
    const asked = { state: { ...state, approvalId: `approval-${n}` } };
    return {
      kind: 'others',
      input: { ...common, harnessResult: { outcome: 'awaiting_approval', continuation: asked } },
    };
  }
  const clarification = { outcome: 'needs_clarification' as const, continuation: { state } };
  return { kind: 'replies', input: { ...common, harnessResult: clarification } };
}
