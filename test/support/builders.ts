/** Records, messages and events in source 002's terms, built by the rules under test, with fixed ids and times. */
import { step } from '../../src/continuation.ts';
import { digestJson, digestText } from '../../src/digest.ts';
import type { Answered, ContinuationEvent, NewSuspension, Sender, Step } from '../../src/events.ts';
import { type FirstRecordInput, firstRecord } from '../../src/first-record.ts';
import type {
  ContentRef,
  ContinuationRecord,
  Message,
  PendingCall,
  PendingRecord,
  Refusal,
  ResumableOutcome,
  ResumingRecord,
  TerminalRecord,
  Trigger,
  WaitCondition,
  Winner,
} from '../../src/schema.ts';
import { statedVerdicts } from '../../src/verdicts.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** The moment of the first pause. */
export const NOON = '2026-12-01T12:00:00.000Z';
export const CONTINUATION = 'cont_01KBCDEFGHJKMNPQRSTVWXYZ01';
export const OTHER_CONTINUATION = 'cont_01KBCDEFGHJKMNPQRSTVWXYZ02';
/** The id of the first resumed turn. */
export const TURN_1 = `${CONTINUATION}:resume:1`;
export const TURN_2 = `${CONTINUATION}:resume:2`;

export function later(ms: number, from: string = NOON): string {
  return new Date(Date.parse(from) + ms).toISOString();
}

export function ref(text: string, mediaType = 'application/json'): ContentRef {
  return { digest: digestText(text), bytes: Buffer.byteLength(text), mediaType };
}

/* Pauses */

export const REPLY: WaitCondition = { type: 'user_reply' };
export const APPROVAL: WaitCondition = { type: 'approval_resolution', approvalId: 'appr_1' };
export const RESULT: WaitCondition = { type: 'external_result', operationId: 'op_1' };
export const AGENT: WaitCondition = { type: 'agent_reply', replyWith: 'rw_1' };
export const WAKE: WaitCondition = { type: 'scheduled_wake', wakeUpId: 'wake_1' };
export const TIMED_WAKE: WaitCondition = { type: 'scheduled_wake', wakeUpId: 'wake_1', wakeAt: later(2 * HOUR) };
export const EVERY_WAIT: readonly WaitCondition[] = [REPLY, APPROVAL, RESULT, AGENT, WAKE];

function outcomeOf(waitFor: WaitCondition): ResumableOutcome {
  if (waitFor.type === 'user_reply') return 'needs_clarification';
  return waitFor.type === 'approval_resolution' ? 'awaiting_approval' : 'deferred';
}

/** A pause as `describePause` describes it. */
function asked(waitFor: WaitCondition, suspensionId = 'sus_1', at = NOON, pending: PendingCall[] = []): NewSuspension {
  const question = `${suspensionId}?`;
  return {
    ok: true,
    waitFor,
    stopReason: outcomeOf(waitFor),
    continuation: {
      id: `turn:${suspensionId}`,
      type:
        waitFor.type === 'user_reply'
          ? 'clarification'
          : waitFor.type === 'approval_resolution'
            ? 'approval'
            : 'deferred',
      createdAt: at,
      turnId: 'turn_0',
      resumeToken: `token:${suspensionId}`,
    },
    suspension: {
      id: suspensionId,
      question,
      pending,
      state: ref(`{"of":"${suspensionId}"}`),
      digest: digestJson({ question, waitFor, pending }),
      createdAt: at,
    },
  };
}

/** A call that waits, with its arguments as the model wrote them. */
export function call(id: string, text = '{"amount":40}', name = 'refund'): PendingCall {
  return { id, name, arguments: text, argumentsDigest: digestText(text) };
}

export interface First {
  waitFor?: WaitCondition;
  pending?: PendingCall[];
  bounds?: FirstRecordInput['bounds'];
  delivery?: FirstRecordInput['delivery'];
  metadata?: PendingRecord['metadata'];
  at?: string;
}

export function firstStep({ waitFor = REPLY, pending, bounds = {}, delivery, metadata, at = NOON }: First = {}): Step {
  return firstRecord(
    {
      identity: {
        id: CONTINUATION,
        scope: 'tenant=acme',
        assistantId: 'support',
        idempotencyKey: 'turn_0',
        ...(metadata && { metadata }),
      },
      originTurnId: 'turn_0',
      outcome: outcomeOf(waitFor),
      delivery: delivery ?? { status: 'pending_delivery', target: { surfaceIds: ['chat_1'] } },
      bounds,
      asked: asked(waitFor, 'sus_1', at, pending),
    },
    at,
  );
}

/** The record of a fresh pause. */
export function first(input: First = {}): PendingRecord {
  return ok(firstStep(input)) as PendingRecord;
}

/* Answers */

export const reply = (text = 'the blue one'): Trigger => ({ type: 'user_reply', message: { text } });
export const approve = (approvalId = 'appr_1'): Trigger => ({
  type: 'approval_resolution',
  approvalId,
  decision: 'approved',
});
export const deny = (approvalId = 'appr_1'): Trigger => ({
  type: 'approval_resolution',
  approvalId,
  decision: 'denied',
});
export const result = (operationId = 'op_1'): Trigger => ({
  type: 'external_result',
  operationId,
  payload: { rows: 3 },
});
export const agentReply = (replyWith = 'rw_1'): Trigger => ({ type: 'agent_reply', replyWith, performative: 'inform' });
export const wake = (wakeUpId = 'wake_1'): Trigger => ({ type: 'scheduled_wake', wakeUpId });

/** The answer that `waitFor` waits for. */
export function matching(waitFor: WaitCondition): Trigger {
  switch (waitFor.type) {
    case 'user_reply':
      return {
        ...reply(),
        ...(waitFor.correlationKey !== undefined && { correlationKey: waitFor.correlationKey }),
      } as Trigger;
    case 'approval_resolution':
      return approve(waitFor.approvalId);
    case 'external_result':
      return result(waitFor.operationId);
    case 'agent_reply':
      return agentReply(waitFor.replyWith);
    default:
      return wake(waitFor.wakeUpId);
  }
}

export interface Given extends Partial<Omit<Message, 'trigger'>> {
  at?: string;
  /** Default: when it is handled, as for a message without a stamp. */
  receivedAt?: string;
  subject?: string;
  channel?: string;
}

/** An answer as the workflow sees it; one minute after the pause unless told otherwise. */
export function answered(trigger: Trigger, given: Given = {}): Answered {
  const { at = later(MINUTE), receivedAt = at, subject = 'ann', channel = 'api', ...rest } = given;
  const message: Message = { messageId: 'm_1', ...rest, trigger };
  return {
    type: 'answered',
    at,
    message,
    answer: sender({ messageId: message.messageId ?? 'm_1', subject, channel, receivedAt, message }),
    verdicts: statedVerdicts(trigger),
  };
}

function sender(of: {
  messageId: string;
  subject: string;
  channel: string;
  receivedAt: string;
  message: Message;
}): Sender {
  const { message, ...rest } = of;
  return { ...rest, verified: true, contentDigest: digestJson(message), input: { trigger: message.trigger } };
}

/** A timer that fired; its answer is one of the system. */
export function timer(type: 'woke' | 'noAnswer' | 'expired', at: string): ContinuationEvent {
  if (type === 'expired') return { type, at };
  const trigger =
    type === 'woke'
      ? ({ type: 'scheduled_wake', wakeUpId: 'wake_1', firedAt: at } as const)
      : ({ type: 'no_answer', firedAt: at } as const);
  const answer: Sender = {
    messageId: `${type}:${at}`,
    contentDigest: digestJson(trigger),
    subject: 'system',
    verified: true,
    channel: 'timer',
    receivedAt: at,
    input: { trigger },
  };
  return { type, at, answer };
}

/* What happens to a turn and its follow-up */

export type TurnEventOptions = { turnId?: string; attempt?: number; at?: string };
function ofTurn({ turnId = TURN_1, attempt = 1, at = later(2 * MINUTE) }: TurnEventOptions = {}) {
  return { turnId, attempt, at, startedAt: at };
}

export function settled(
  outcome: 'completed' | 'failed',
  options: TurnEventOptions & { deliverable?: boolean } = {},
): ContinuationEvent {
  return { type: 'turnSettled', ...ofTurn(options), result: { outcome }, deliverable: options.deliverable ?? true };
}

/** The turn asks again. */
export function asksAgain(
  waitFor: WaitCondition,
  options: TurnEventOptions & { suspensionId?: string } = {},
): ContinuationEvent {
  const turn = ofTurn(options);
  const suspension = asked(waitFor, options.suspensionId ?? 'sus_2', turn.at);
  return { type: 'turnSettled', ...turn, result: { outcome: outcomeOf(waitFor) }, suspension, deliverable: true };
}

export function turnFailed(options: TurnEventOptions & { exhausted?: boolean } = {}): ContinuationEvent {
  const { exhausted } = options;
  const error = { code: 'harness_error', message: 'the model is gone' };
  return { type: 'turnFailed', ...ofTurn(options), error, ...(exhausted !== undefined && { exhausted }) };
}

export function attemptEnded(options: TurnEventOptions = {}): ContinuationEvent {
  return { type: 'attemptEnded', ...ofTurn(options), error: { code: 'transient', message: '503' } };
}

export function turnUncertain(options: TurnEventOptions = {}): ContinuationEvent {
  const turn = ofTurn(options);
  return { type: 'turnUncertain', ...turn, uncertain: { cause: 'lost', at: turn.at, message: 'the worker died' } };
}

type Reason = Extract<ContinuationEvent, { type: 'stopped' }>['reason'];
export function stopped(reason: Reason, at = later(3 * MINUTE)): Extract<ContinuationEvent, { type: 'stopped' }> {
  return { type: 'stopped', reason, at };
}

export function turnClosed(
  reason: Reason,
  options: TurnEventOptions = {},
): Extract<ContinuationEvent, { type: 'turnClosed' }> {
  const { turnId, at } = ofTurn(options);
  return { type: 'turnClosed', turnId, reason, at };
}

export function extended(expiresAt: string, at = later(MINUTE)): ContinuationEvent {
  return { type: 'extended', expiresAt, at };
}

type Delivered = Extract<ContinuationEvent, { type: 'delivered' }>;
export function delivered(
  status: Delivered['status'] = 'delivered',
  options: Partial<Omit<Delivered, 'type' | 'status'>> = {},
): Delivered {
  return { type: 'delivered', deliveryId: TURN_1, status, at: later(4 * MINUTE), ...options };
}

export function deliveryUncertain(options: { deliveryId?: string; at?: string } = {}): ContinuationEvent {
  return { type: 'deliveryUncertain', deliveryId: TURN_1, error: 'the worker died', at: later(4 * MINUTE), ...options };
}

/* Records in every state */

/** `record` after `events`, each of which must be taken. */
export function play(record: ContinuationRecord, ...events: ContinuationEvent[]): ContinuationRecord {
  return events.reduce((now, event) => ok(step(now, event)), record);
}

/** An answered continuation whose turn runs. */
export function resuming(input: First = {}): ResumingRecord {
  const record = first(input);
  return play(record, answered(matching(record.waitFor))) as ResumingRecord;
}

/** A continuation that was answered by `m_1` and asks again as `sus_2`. */
export function repended(waitFor: WaitCondition = APPROVAL, input: First = {}): PendingRecord {
  return play(resuming(input), asksAgain(waitFor)) as PendingRecord;
}

/** One whose turn has ended and whose follow-up is being delivered. */
export function delivering(outcome: 'completed' | 'failed' = 'completed'): ResumingRecord {
  return play(resuming(), settled(outcome)) as ResumingRecord;
}

/** One whose turn has no known outcome. */
export function uncertain(): ResumingRecord {
  return play(resuming(), turnUncertain()) as ResumingRecord;
}

/** One record of every terminal status, each of which had been answered by `m_1` before. */
export function ends(): { [S in TerminalRecord['status']]: TerminalRecord } {
  const end = (...events: ContinuationEvent[]) => play(repended(REPLY), ...events) as TerminalRecord;
  return {
    completed: play(delivering(), delivered()) as TerminalRecord,
    cancelled: end(stopped('cancelled_by_user')),
    expired: end(timer('expired', later(DAY))),
    superseded: end(stopped('superseded_by_newer_turn')),
    failed: play(resuming(), turnFailed()) as TerminalRecord,
  };
}

/* Reading steps */

export function ok(result: Step): ContinuationRecord {
  if (result.ok) return result.record;
  throw new Error(`was not taken: ${JSON.stringify(result.refusal ?? result)}`);
}

export function refused(result: Step): Refusal {
  if (!result.ok && result.refusal) return result.refusal;
  throw new Error(`was not refused: ${JSON.stringify(result)}`);
}

export function repeated(result: Step): Winner {
  if (!result.ok && !result.refusal) return result.repeated;
  throw new Error(`was not recognised as a repeat: ${JSON.stringify(result)}`);
}

/** What became of an event, in a word: the status after it, the code of its refusal, `repeated`, or `unchanged`. */
export function verdict(record: ContinuationRecord, event: ContinuationEvent): string {
  const result = step(record, event);
  if (result.ok) return result.record === record ? 'unchanged' : result.record.status;
  return result.refusal?.code ?? 'repeated';
}

/** Freezes `value` all the way down, so that whoever changes it throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
