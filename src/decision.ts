/** What was decided about the calls of a pause, as the harness gets it: what was seen is what runs. */
import { type Content, textOf } from './content.ts';
import { digestText } from './digest.ts';
import { ContinuationError } from './errors.ts';
import type { Json } from './json.ts';
import type { CallVerdict, ContentRef, ContinuationRecord, PendingCall, ResumeTrigger } from './schema.ts';
import { statedVerdicts } from './verdicts.ts';

/** One call that waited, and what became of it. */
export interface DecidedCall {
  readonly id: string;
  readonly name: string;
  /** The text to run with: the model's, verbatim, or what replaces it. */
  readonly arguments: string;
  readonly argumentsDigest: string;
  /** `result` and `error` are final; `approved` and `execute` ask for the call to be run, `denied` for it not to be. */
  readonly decision: CallVerdict['decision'];
  /** The arguments are not those that the model wrote. */
  readonly edited: boolean;
  /** Words for the model: why it was denied, or what went wrong. */
  readonly reason?: string;
  readonly result?: Json;
}

/** What a model is told of a call that came to an error: the words for it, with what came besides. */
export function toldError({ reason = '', result }: Pick<DecidedCall, 'reason' | 'result'>): Json {
  return result === undefined || result === null ? reason : { error: reason, content: result };
}

/**
 * For a tool runner, right before the effect: throws `decision_mismatch` unless `call` was approved with exactly this tool and
 * these arguments.
 */
export function verifyDecision(call: DecidedCall, about: { name: string; arguments: string }): void {
  const runs = call.decision === 'approved' || call.decision === 'execute';
  if (runs && call.name === about.name && call.argumentsDigest === digestText(about.arguments)) return;
  const why = runs ? 'was approved with another tool or other arguments' : `was not approved: ${call.decision}`;
  throw new ContinuationError('decision_mismatch', `Call ${call.id} ${why}. Do not run it.`);
}

/**
 * The calls of the last accepted answer's pause with what `trigger`, that answer, decides about them, in the model's order; `contentAt` finds
 * arguments that are kept outside the record. Throws `record_malformed` when what is stored is not what was decided on.
 */
export async function decidedCalls(
  record: ContinuationRecord,
  trigger: ResumeTrigger,
  contentAt: (ref: ContentRef) => Promise<Content | null>,
): Promise<DecidedCall[]> {
  const verdicts = record.answers.at(-1)?.calls;
  if (verdicts && trigger.type !== 'no_answer') checkVerdicts(record, verdicts, trigger);
  return Promise.all(
    record.suspension.pending.map(async (call) => {
      const text = typeof call.arguments === 'string' ? call.arguments : textIn(await contentAt(call.arguments));
      if (text === undefined || digestText(text) !== call.argumentsDigest)
        throw malformed(record, `the arguments of call ${call.id}`);
      const { edited, ...became } = becameOf(call, trigger);
      const runs = edited ?? text;
      const argumentsDigest = edited === undefined ? call.argumentsDigest : digestText(edited);
      return {
        id: call.id,
        name: call.name,
        arguments: runs,
        argumentsDigest,
        edited: edited !== undefined,
        ...became,
      };
    }),
  );
}

function textIn(content: Content | null): string | undefined {
  return content ? textOf(content) : undefined;
}

/** The whole answer says what its summary says, by which it was accepted. */
function checkVerdicts(
  record: ContinuationRecord,
  kept: readonly CallVerdict[],
  trigger: Exclude<ResumeTrigger, { type: 'no_answer' }>,
) {
  const stated = statedVerdicts(trigger);
  for (const { id, decision, editedDigest } of kept) {
    const verdict = stated.find((one) => (one.id ?? id) === id);
    if (verdict?.decision !== decision || verdict.editedDigest !== editedDigest)
      throw malformed(record, `the decision about call ${id}`);
  }
}

function malformed(record: ContinuationRecord, what: string): ContinuationError {
  return new ContinuationError('record_malformed', `${what} of ${record.id} is not what was accepted.`);
}

type Became = Pick<DecidedCall, 'decision' | 'reason' | 'result'> & { edited?: string | undefined };

function becameOf({ id }: PendingCall, trigger: ResumeTrigger): Became {
  switch (trigger.type) {
    case 'approval_resolution': {
      const { decision, reason, arguments: edited } = trigger;
      const own = trigger.calls?.find(({ callId }) => callId === id);
      if (!own) return decision === 'denied' ? denied(reason) : { decision: 'approved', edited };
      return own.decision === 'denied' ? denied(own.reason ?? reason) : { decision: 'approved', edited: own.arguments };
    }
    case 'external_result': {
      const own = trigger.calls?.find(({ callId }) => callId === id);
      if (!own) return { decision: 'result', result: trigger.payload ?? null };
      if ('execute' in own) return { decision: 'execute' };
      return 'error' in own ? { decision: 'error', reason: own.error } : { decision: 'result', result: own.result };
    }
    case 'user_reply':
      return { decision: 'result', result: trigger.message.text };
    case 'agent_reply': {
      const content = trigger.content ?? null;
      if (trigger.performative === 'inform') return { decision: 'result', result: content };
      return { decision: 'error', reason: `the other agent answered ${trigger.performative}`, result: content };
    }
    case 'scheduled_wake':
      return { decision: 'result', result: { firedAt: trigger.firedAt ?? null } };
    case 'no_answer':
      return { decision: 'error', reason: 'no answer in time' };
    default:
      return trigger satisfies never;
  }
}

function denied(reason: string | undefined): Became {
  return { decision: 'denied', ...(reason !== undefined && { reason }) };
}
