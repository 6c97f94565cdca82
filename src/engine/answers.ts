/** The pause as the core knows it: calls that wait become its pending calls, its answers go back onto them. */
import { toldError } from '../decision.ts';
import type { Json } from '../json.ts';
import type { ResumedTurn } from '../ports.ts';
import type { HarnessResultInput } from '../schema.ts';
import { answerable } from './delegate.ts';
import type { Budgets } from './resume.ts';
import { textKind, textOfState } from './text-kind.ts';
import type { CallAnswer, TurnEnd, WaitingCall } from './turn.ts';
import { type EngineCheckpoint, loadResumeContext, type ResumeContext } from './types.ts';

/** Media type of the state that an engine turn pauses with: a `ResumeContext` as JSON. */
export const CHECKPOINT_TYPE = 'application/vnd.temporal-continuations.checkpoint+json';

type Resumable = Extract<HarnessResultInput, { continuation: unknown }>;
const OUTCOMES = {
  approval_resolution: 'awaiting_approval',
  user_reply: 'needs_clarification',
  external_result: 'deferred',
  agent_reply: 'deferred',
  scheduled_wake: 'deferred',
} as const satisfies Record<WaitingCall['gate']['wait'], Resumable['outcome']>;

export function pauseOf({ waiting, checkpoint }: TurnEnd & { end: 'pause' }, budgets: Budgets): HarnessResultInput {
  const [first] = waiting;
  if (!first) throw new Error('a turn pauses for a call');
  const { gate } = first;
  const context: ResumeContext = {
    checkpoint,
    maxIterations: budgets.maxIterations,
    maxModelAttempts: budgets.maxModelAttempts,
    // `checkpoint_created` is the event after the checkpoint's last one.
    lastJournalSequence: checkpoint.lastSequence + 1,
  };
  const questions = waiting.flatMap((call) => call.gate.question ?? []);
  const metadata = waitOf(first);
  return {
    outcome: OUTCOMES[gate.wait],
    ...(questions.length > 0 && { assistantMessage: { text: questions.join('\n') } }),
    continuation: {
      state: { text: JSON.stringify(context), mediaType: CHECKPOINT_TYPE },
      pending: waiting.map(({ request }) => ({
        id: request.id,
        name: request.name,
        arguments: request.arguments ?? {},
        reason: gate.wait,
      })),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    },
  };
}

/** What names the wait; without it the call that waits does. */
function waitOf({ gate, request }: WaitingCall): Record<string, Json> {
  switch (gate.wait) {
    case 'scheduled_wake':
      return gate.wakeAt ? { wakeAt: gate.wakeAt } : { scheduledWake: true };
    case 'agent_reply': {
      const { replyWith = request.id, responder } = gate;
      return { agent: { replyWith, ...(responder && { responder }) } };
    }
    default:
      return {};
  }
}

/** The stored state of a pause; throws `record_malformed` with the path of what is wrong. */
export function contextOf(state: unknown): ResumeContext {
  return loadResumeContext(JSON.parse(textOfState(state, CHECKPOINT_TYPE, 'an engine turn')));
}

export const checkpointKind = textKind(CHECKPOINT_TYPE, contextOf);

/** What was decided, by request id, where `checkpoint` still has to carry it out. */
export function answersOf(
  { calls, trigger }: Pick<ResumedTurn, 'calls' | 'trigger'>,
  checkpoint: EngineCheckpoint,
  paused: EngineCheckpoint,
): Map<string, CallAnswer> {
  const known = answerable(checkpoint, paused);
  return new Map(
    calls.filter(({ id }) => known.includes(id)).map((call) => [call.id, answerOf(call, trigger.type === 'no_answer')]),
  );
}

function answerOf(call: ResumedTurn['calls'][number], noAnswer: boolean): CallAnswer {
  const { decision, reason, result } = call;
  switch (decision) {
    case 'approved':
    case 'execute':
      return { decision: 'run', ...(call.edited && { arguments: call.arguments }) };
    case 'denied':
      return { decision: 'denied', ...(reason !== undefined && { reason }) };
    case 'result':
      return { decision: 'result', result: { outcome: 'success', ...(result !== undefined && { output: result }) } };
    case 'error': {
      const errorKind = noAnswer ? 'no_answer' : 'tool_error';
      return { decision: 'result', result: { outcome: 'failed', output: toldError(call), errorKind } };
    }
    default:
      return decision satisfies never;
  }
}
