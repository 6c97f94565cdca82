/** The record of a fresh pause. Pure: ids, digests and the moment come in. */
import type { NewSuspension } from './events.ts';
import { deadline, isPast } from './record.ts';
import type { Bounds, PendingRecord, Refused } from './schema.ts';

const MINUTE = 60_000;
export const DEFAULT_BOUNDS = {
  maxResumeAttempts: 3,
  onDenied: 'stop',
  onExhausted: 'fail',
  resumeBudgetMs: 15 * MINUTE,
  turnTimeoutMs: 10 * MINUTE,
  deliveryBudgetMs: 60 * MINUTE,
} as const;

/** The parts of a create that are decided outside: parsed input, ids, digests. */
export interface FirstRecordInput {
  readonly identity: Pick<
    PendingRecord,
    'id' | 'scope' | 'assistantId' | 'sessionId' | 'threadId' | 'userId' | 'idempotencyKey' | 'metadata'
  >;
  readonly originTurnId: string;
  readonly outcome: PendingRecord['origin']['outcome'];
  readonly delivery: PendingRecord['delivery'];
  readonly bounds: { readonly [K in keyof Bounds]?: Bounds[K] | undefined };
  readonly asked: NewSuspension;
}

/** The record of a fresh pause, or why there is nothing to wait for. `now` is the moment of the pause. */
export function firstRecord(input: FirstRecordInput, now: string): { ok: true; record: PendingRecord } | Refused {
  const { asked } = input;
  const { waitFor, suspension, continuation } = asked;
  const onExpiry = waitFor.type === 'agent_reply' ? ('resume' as const) : ('expire' as const);
  const bounds: Bounds = {
    ...DEFAULT_BOUNDS,
    onExpiry,
    resumeAttempts: 0,
    extensions: 0,
    ...defined<Bounds>(input.bounds),
  };
  if (bounds.expiresAt === undefined) Object.assign(bounds, deadline(bounds, waitFor, now));
  const record: PendingRecord = {
    schemaVersion: 1,
    ...input.identity,
    revision: 1,
    status: 'pending',
    origin: { turnId: input.originTurnId, outcome: input.outcome, stopReason: asked.stopReason, createdAt: now },
    lineage: [input.originTurnId],
    waitFor,
    continuation,
    suspension,
    delivery: input.delivery,
    bounds,
    answers: [],
    createdAt: now,
    updatedAt: now,
  };
  const invalid = (path: string, message: string): Refused => ({
    ok: false,
    refusal: { code: 'invalid_input', path, message },
  });
  if (isPast(bounds, now)) return invalid('bounds.expiresAt', `must be in the future, not ${bounds.expiresAt}`);
  if (bounds.resumeAttempts >= bounds.maxResumeAttempts)
    return invalid('bounds.resumeAttempts', 'leaves no attempt to use an answer');
  const wakeAt = waitFor.type === 'scheduled_wake' ? waitFor.wakeAt : undefined;
  if (wakeAt && isPast(bounds, wakeAt)) return invalid('bounds.expiresAt', `must be after the wake at ${wakeAt}`);
  return { ok: true, record };
}

/** Without members that are present but undefined, so that they do not hide defaults. */
function defined<T extends object>(value: { readonly [K in keyof T]?: T[K] | undefined }): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<T>;
}
