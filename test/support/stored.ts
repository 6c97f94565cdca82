/** Continuations in a store, in every state, each with an id of its own. */
import { createHash } from 'node:crypto';
import { step } from '../../src/continuation.ts';
import { digestJson } from '../../src/digest.ts';
import type { ContinuationEvent } from '../../src/events.ts';
import { firstRecord } from '../../src/first-record.ts';
import { newContinuationId, newToken } from '../../src/ids.ts';
import type { BeginTurn, Begun, EndTurn, NewContinuation, Receipt, Store } from '../../src/ports.ts';
import { decisionReceipts, receipt } from '../../src/receipts.ts';
import type { ContinuationRecord, PendingRecord, ResumableResult, ResumingRecord, Trigger } from '../../src/schema.ts';
import { describePause, type Pause } from '../../src/suspend.ts';
import { later, MINUTE, NOON, ok, type TurnEventOptions } from './builders.ts';

export const SCOPE = 'tenant=acme';

export interface PauseOptions {
  id?: string;
  scope?: string;
  assistantId?: string;
  sessionId?: string;
  key?: string;
  at?: string;
  state?: unknown;
  outcome?: ResumableResult['outcome'];
  bounds?: Parameters<typeof firstRecord>[0]['bounds'];
  target?: NonNullable<PendingRecord['delivery']['target']>;
  supersede?: boolean;
}

/** The pause of turn `turnId`, as its result describes it. */
export function pauseOf(
  state: unknown,
  turnId: string,
  at: string,
  outcome: ResumableResult['outcome'] = 'needs_clarification',
): Pause {
  const pause = describePause({ outcome, continuation: { state } } as ResumableResult, { turnId, at });
  if (!('asked' in pause)) throw new Error(JSON.stringify(pause));
  return pause;
}

/** What `create` takes for a fresh pause. */
export function fresh(options: PauseOptions = {}): NewContinuation & { record: PendingRecord } {
  const {
    id = newContinuationId(),
    scope = SCOPE,
    assistantId = 'support',
    sessionId,
    at = NOON,
    outcome = 'needs_clarification',
  } = options;
  const turnId = `turn:${id}`;
  const pause = pauseOf(options.state ?? { question: `${id}?` }, turnId, at, outcome);
  const record = ok(
    firstRecord(
      {
        identity: { id, scope, assistantId, idempotencyKey: options.key ?? turnId, ...(sessionId && { sessionId }) },
        originTurnId: turnId,
        outcome,
        delivery: { status: 'pending_delivery', target: options.target ?? { surfaceIds: ['chat_1'] } },
        bounds: options.bounds ?? {},
        asked: pause.asked,
      },
      at,
    ),
  ) as PendingRecord;
  const inputDigest = digestJson({ id });
  return {
    record,
    inputDigest,
    contents: pause.contents,
    receipt: receipt('created', record),
    supersede: options.supersede ?? false,
  };
}

/** A stored pause. */
export async function paused(store: Store, options: PauseOptions = {}): Promise<PendingRecord> {
  const input = fresh(options);
  await store.create(input);
  return input.record;
}

export interface AnswerOptions {
  text?: string;
  at?: string;
  input?: NonNullable<ContinuationRecord['answers'][number]['input']>;
}

/** `record` after it was answered; nothing is stored. */
export function answered(
  record: ContinuationRecord,
  { text = 'the blue one', at = later(MINUTE), input }: AnswerOptions = {},
): ResumingRecord {
  const trigger: Trigger = { type: 'user_reply', message: { text } };
  const message = { messageId: `m_${text}`, suspensionId: record.suspension.id, trigger };
  return ok(
    step(record, {
      type: 'answered',
      at,
      message,
      verdicts: [],
      answer: {
        messageId: message.messageId,
        contentDigest: digestJson(message),
        subject: 'ann',
        verified: true,
        channel: 'api',
        receivedAt: at,
        input: input ?? { trigger },
      },
    }),
  ) as ResumingRecord;
}

/** The record after events that must be taken. */
export function play(record: ContinuationRecord, ...events: ContinuationEvent[]): ContinuationRecord {
  return events.reduce((now, event) => ok(step(now, event)), record);
}

/** Writes what happened to `record` as the workflow does, with its receipts. */
export async function happened(
  store: Store,
  record: ContinuationRecord,
  ...events: ContinuationEvent[]
): Promise<ContinuationRecord> {
  const next = play(record, ...events);
  await store.write(next, decisionReceipts(next));
  return next;
}

/** How `runTurn` begins the turn of `record`. */
export function beginning(record: ResumingRecord, options: Partial<BeginTurn> = {}): BeginTurn {
  return {
    record,
    token: newToken(),
    worker: 'worker-1',
    at: later(MINUTE + 1000),
    replayable: false,
    receipts: [receipt('admitted', record)],
    ...options,
  };
}

export function granted<B extends Begun>(begun: B): Extract<B, { found: 'fresh' }> {
  if (begun.found !== 'fresh') throw new Error(`was not granted: ${begun.found}`);
  return begun as Extract<B, { found: 'fresh' }>;
}

/** How `runTurn` ends a granted turn whose harness completed. */
export function completing(
  begun: { fence: number; attempt: number; record: ResumingRecord },
  text = 'done',
  at = later(2 * MINUTE),
): EndTurn {
  const record = play(begun.record, {
    type: 'turnSettled',
    result: { outcome: 'completed' },
    deliverable: true,
    ...ofTurn(begun, { at }),
  });
  return {
    turnId: begun.record.resume.turnId,
    fence: begun.fence,
    state: 'settled',
    record,
    spentMs: 0,
    result: { outcome: 'completed', assistantMessage: { text } },
    receipt: receipt('settled', record),
  };
}

export function ofTurn(
  begun: { attempt: number; record: ResumingRecord },
  { at = later(2 * MINUTE) }: TurnEventOptions = {},
) {
  return { turnId: begun.record.resume.turnId, attempt: begun.attempt, startedAt: at, at };
}

/** A stored continuation whose turn completed and whose follow-up is to be delivered. */
export async function delivering(store: Store, options: PauseOptions = {}): Promise<ResumingRecord> {
  const begun = granted(await store.beginTurn(beginning(answered(await paused(store, options)))));
  const ended = await store.endTurn(completing(begun));
  return ended.record as ResumingRecord;
}

/** A stored continuation that was stopped while it waited. */
export async function stopped(store: Store, options: PauseOptions = {}): Promise<ContinuationRecord> {
  const record = await paused(store, options);
  return happened(store, record, { type: 'stopped', reason: 'cancelled_by_user', at: options.at ?? NOON });
}

/** The digests that a chain of receipts must have, computed independently of the store. */
export function chained(receipts: readonly Receipt[]): string[] {
  const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');
  let previous = '';
  return receipts.map(({ sequence, body }) => {
    previous = sha256(`${previous}\n${sequence}\n${sha256(body)}`);
    return previous;
  });
}
