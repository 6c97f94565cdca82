/** What an answer decides about each call that waits, in short: the record keeps this, the harness gets the whole. Workflow-safe. */
import { digestText } from './digest.ts';
import type { CallDecision, CallOutcome, StatedVerdict, Trigger } from './schema.ts';

export function statedVerdicts(trigger: Trigger): readonly StatedVerdict[] {
  switch (trigger.type) {
    case 'approval_resolution':
      if (trigger.calls) return trigger.calls.map(decided);
      return trigger.decision ? [{ decision: trigger.decision, ...edited(trigger.arguments) }] : [];
    case 'external_result':
      return trigger.calls ? trigger.calls.map(cameOut) : [{ decision: 'result' }];
    default:
      return [];
  }
}

function decided(call: CallDecision): StatedVerdict {
  const { callId: id, argumentsDigest, decision } = call;
  return { id, argumentsDigest, decision, ...(call.decision === 'approved' && edited(call.arguments)) };
}

function cameOut(call: CallOutcome): StatedVerdict {
  const { callId: id, argumentsDigest } = call;
  if ('execute' in call) return { id, argumentsDigest, decision: 'execute' };
  return { id, argumentsDigest, decision: 'error' in call ? 'error' : 'result' };
}

function edited(text: string | undefined): Pick<StatedVerdict, 'editedDigest'> {
  return text === undefined ? {} : { editedDigest: digestText(text) };
}
