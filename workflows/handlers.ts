/** Messages of a continuation. Every answer is decided here, synchronously, on the record of that moment (C3). */
import { CancellationScope, condition, log, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import { step } from '../src/continuation.ts';
import type { ContinuationEvent, Step } from '../src/events.ts';
import { WAIT_TYPES } from '../src/message-shape.ts';
import { winnerOf } from '../src/record.ts';
import type { Answer, ContinuationRecord, Refusal, WaitType } from '../src/schema.ts';
import { type Life, now } from './life.ts';
import {
  type Accepted,
  answerSignals,
  type ContinuationOptions,
  type ContinuationStatusView,
  extendUpdate,
  reconcileUpdate,
  recordQuery,
  resumeUpdate,
  statusQuery,
  stopSignal,
  stopUpdate,
  takeUpdate,
} from './messages.ts';
import { failureOf, isRunning, type Read, readAnswer, readExtension, readReconciliation, readStop } from './read.ts';

export function registerHandlers(life: Life, options: ContinuationOptions): void {
  const answer = decidedAtOnce(life, (given) => readAnswer(given, options, 'answered'));
  setHandler(resumeUpdate, (given) => accepted(answer.handler(given)), {
    description: 'Answer with any trigger: {"trigger": {"type": "user_reply", "message": {"text": "…"}}}',
    validator: answer.validator,
  });
  const take = decidedAtOnce(life, (given) => readAnswer(given, options, 'taken'));
  setHandler(takeUpdate, (given) => accepted(take.handler(given)), {
    description: 'Answer, and run the turn yourself: a message as for resume; ends the continuation',
    validator: take.validator,
  });
  const extension = decidedAtOnce(life, readExtension);
  setHandler(extendUpdate, (given) => ({ record: extension.handler(given) }), {
    description: 'Move the deadline later: {"expiresAt": "2026-12-24T18:00:00Z"}',
    validator: extension.validator,
  });
  setHandler(stopUpdate, (given) => stopAndWait(life, given), {
    description: STOP_DESCRIPTION,
    validator: (given) => {
      const stop = readStop(given, life.record);
      if (!stop.ok) throw failureOf(stop, life.record);
    },
  });
  setHandler(reconcileUpdate, (given) => reconcileAndWait(life, given), {
    description:
      'Decide an unknown outcome: {"turnId": "…", "attempt": 1, "action": "did_not_happen", "proof": …, "observedAt": …}',
    validator: (given) => {
      const request = readReconciliation(given, life);
      if (!request.ok) throw failureOf(request, life.record);
    },
  });
  registerSignals(life, options);
  setHandler(recordQuery, () => life.record, { description: 'The whole record' });
  setHandler(statusQuery, () => statusOf(life), {
    description: 'What it waits for, until when, and the last signals that were refused',
  });
}

/** An update that is decided at once: its validator refuses without a trace, its handler decides again. */
function decidedAtOnce(life: Life, read: (given: unknown) => Read<ContinuationEvent>) {
  const decide = (given: unknown, by: (event: ContinuationEvent) => Step): ContinuationRecord => {
    const event = read(given);
    const result = event.ok ? by(event.value) : event;
    if (!result.ok) throw failureOf(result, life.record);
    return result.record;
  };
  return {
    handler: (given: unknown) => decide(given, (event) => life.apply(event)),
    validator: (given: unknown): void => {
      decide(given, (event) => step(life.record, event));
    },
  };
}

function accepted(record: ContinuationRecord): Accepted {
  return { outcome: 'accepted', answer: winnerOf(record.answers.at(-1) as Answer), record };
}

/** A running turn is first closed under its lock (C6). */
async function stopAndWait(life: Life, given: unknown): Promise<{ record: ContinuationRecord }> {
  const stop = readStop(given, life.record);
  if (!stop.ok) throw failureOf(stop, life.record);
  life.stop(stop.value);
  await CancellationScope.nonCancellable(() => condition(() => life.stopRequest === undefined));
  return { record: life.record };
}

/** Asynchronous as a stop: what became of the turn is heard first, then it is decided under its lock (C6). */
async function reconcileAndWait(life: Life, given: unknown): Promise<{ record: ContinuationRecord }> {
  await CancellationScope.nonCancellable(() => condition(() => !isRunning(life.record)));
  const request = readReconciliation(given, life);
  if (!request.ok) throw failureOf(request, life.record);
  life.reconcile(request.value);
  await CancellationScope.nonCancellable(() => condition(() => life.reconciliation === undefined));
  return { record: life.record };
}

/** A signal handler never throws: that would fail the workflow. What it refuses is kept where people can see it (C15). */
function registerSignals(life: Life, options: ContinuationOptions): void {
  const refused = (signal: string, given: unknown, refusal: Refusal): void => {
    log.warn('Signal refused', { signal, code: refusal.code });
    const messageId = (given as { messageId?: unknown } | null | undefined)?.messageId;
    const named = typeof messageId === 'string' && { messageId: messageId.slice(0, 128) };
    life.noteRefused({ signal, at: now(), refusal, ...named });
  };
  for (const type of WAIT_TYPES) {
    const answer = (given: unknown): void => {
      const event = readAnswer(given, options, 'answered', type);
      const result = event.ok ? life.apply(event.value) : event;
      if (!result.ok && result.refusal) refused(type, given, result.refusal);
    };
    setHandler(answerSignals[type], answer, { description: ANSWER_DESCRIPTIONS[type] });
  }
  const stop = (given: unknown): void => {
    const request = readStop(given, life.record);
    if (request.ok) life.stop(request.value);
    else refused('stop', given, request.refusal);
  };
  setHandler(stopSignal, stop, { description: STOP_DESCRIPTION });
  setDefaultSignalHandler((name) => refused(name, undefined, { code: 'invalid_input', message: 'no such signal' }));
}

function statusOf({ record, refusedSignals }: Life): ContinuationStatusView {
  const { status, suspension, waitFor, bounds } = record;
  const expiry = bounds.expiresAt && { expiresAt: bounds.expiresAt };
  return { status, question: suspension.question, waitFor, ...expiry, refusedSignals };
}

const STOP_DESCRIPTION = 'Stop with a terminal reason: {"reason": "cancelled_by_user"}';
const ANSWER_DESCRIPTIONS: Record<WaitType, string> = {
  user_reply: 'A reply: {"message": {"text": "…"}}',
  approval_resolution: 'A decision: {"approvalId": "…", "decision": "approved"} or "denied"',
  external_result: 'A result: {"operationId": "…", "payload": …}',
  agent_reply: 'Answer of another agent: {"replyWith": "…", "performative": "inform", "content": …}',
  scheduled_wake: 'A wake: {"wakeUpId": "…"}',
};
