/** Messages of a continuation: every answer is decided here, synchronously (C3). */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  currentUpdateInfo,
  log,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow';
import { step, winnerOf } from '../src/continuation.ts';
import type { Answered } from '../src/events.ts';
import { readMessage, senderOf, WAIT_TYPES } from '../src/message.ts';
import type { Answer, Refusal, WaitType } from '../src/schema.ts';
import { type Life, now } from './life.ts';
import {
  answerSignals,
  type ContinuationOptions,
  extendUpdate,
  recordQuery,
  resumeUpdate,
  statusQuery,
  stopSignal,
  stopUpdate,
} from './messages.ts';
import { failureOf, invalid, readDeadline, readStop } from './read.ts';

type Read<T> = ({ ok: true } & T) | { ok: false; refusal: Refusal };

export function registerHandlers(life: Life, options: ContinuationOptions): void {
  const fail = (refused: { ok: false; refusal: Refusal }) => failureOf(refused, life.record);

  const readAnswer = (given: unknown, signal?: WaitType): Read<{ event: Answered }> => {
    const message = readMessage(given, signal);
    if (!message.ok) return invalid(message.path, message.message);
    if (!message.value.stamp && !options.directMessages) {
      return { ok: false, refusal: { code: 'not_authorized', message: 'this continuation is answered through the client only' } };
    }
    const at = now();
    const answer = senderOf(message.value, at, currentUpdateInfo()?.id);
    return { ok: true, event: { type: 'answered', at, message: message.value, answer } };
  };

  setHandler(
    resumeUpdate,
    (given) => {
      const read = readAnswer(given);
      if (!read.ok) throw fail(read);
      const result = life.apply(read.event);
      if (!result.ok) throw failureOf(result, life.record);
      return { outcome: 'accepted', answer: winnerOf(result.record.answers.at(-1) as Answer), record: result.record };
    },
    {
      description: 'Answer with any trigger: {"trigger": {"type": "user_reply", "message": {"text": "…"}}}',
      validator(given) {
        const read = readAnswer(given);
        if (!read.ok) throw fail(read);
        const result = step(life.record, read.event);
        if (!result.ok) throw failureOf(result, life.record);
      },
    },
  );
  setHandler(
    stopUpdate,
    async (given) => {
      const read = readStop(given);
      if (!read.ok) throw fail(read);
      life.stop(read.stop);
      await CancellationScope.nonCancellable(() => condition(() => life.stopRequest === undefined));
      return { record: life.record };
    },
    {
      description: 'Stop with a terminal reason: {"reason": "cancelled_by_user"}',
      validator(given) {
        const read = readStop(given);
        if (!read.ok) throw fail(read);
      },
    },
  );
  setHandler(
    extendUpdate,
    (given) => {
      const read = readDeadline(given);
      if (!read.ok) throw fail(read);
      const result = life.apply({ type: 'extended', at: now(), expiresAt: read.expiresAt });
      if (!result.ok) throw failureOf(result, life.record);
      return { record: result.record };
    },
    {
      description: 'Move the deadline later: {"expiresAt": "2026-12-24T18:00:00Z"}',
      validator(given) {
        const read = readDeadline(given);
        if (!read.ok) throw fail(read);
        const result = step(life.record, { type: 'extended', at: now(), expiresAt: read.expiresAt });
        if (!result.ok) throw failureOf(result, life.record);
      },
    },
  );

  /** A signal has nobody to tell: what is refused is kept for the status query and the result (C15). */
  const refused = (signal: string, given: unknown, refusal: Refusal): void => {
    const messageId = (given as { messageId?: unknown } | null | undefined)?.messageId;
    log.warn('Signal refused', { signal, code: refusal.code });
    life.noteRefused({ signal, at: now(), refusal, ...(typeof messageId === 'string' && { messageId: messageId.slice(0, 128) }) });
  };
  for (const type of WAIT_TYPES) {
    setHandler(
      answerSignals[type],
      (given) => {
        const read = readAnswer(given, type);
        const result = read.ok ? life.apply(read.event) : read;
        if (!result.ok && result.refusal) refused(type, given, result.refusal);
      },
      { description: SIGNAL_DESCRIPTIONS[type] },
    );
  }
  setHandler(
    stopSignal,
    (given) => {
      const read = readStop(given);
      if (read.ok) life.stop(read.stop);
      else refused('stop', given, read.refusal);
    },
    { description: 'Stop with a terminal reason: {"reason": "cancelled_by_user"}' },
  );
  setDefaultSignalHandler((name) => {
    refused(name, undefined, { code: 'invalid_input', message: 'no such signal' });
  });

  setHandler(recordQuery, () => life.record, { description: 'The whole record' });
  setHandler(
    statusQuery,
    () => {
      const { status, suspension, waitFor, bounds } = life.record;
      const { refusedSignals } = life;
      return { status, question: suspension.question, waitFor, ...(bounds.expiresAt && { expiresAt: bounds.expiresAt }), refusedSignals };
    },
    { description: 'What it waits for, until when, and the last signals that were refused' },
  );
}

/** Every update has been answered; a workflow must not end before. */
export const drained = (): Promise<void> => condition(allHandlersFinished);

const SIGNAL_DESCRIPTIONS: Record<WaitType, string> = {
  user_reply: 'A reply: {"message": {"text": "…"}}',
  approval_resolution: 'A decision: {"approvalId": "…", "decision": "approved"} or "denied"',
  external_result: 'A result: {"operationId": "…", "payload": …}',
  agent_reply: 'Another agent\'s answer: {"replyWith": "…", "performative": "inform", "content": …}',
  scheduled_wake: 'A wake: {"wakeUpId": "…"}',
};
