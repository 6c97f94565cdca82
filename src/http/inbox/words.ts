/** What the pages call things. */
import { isTerminal } from '../../record.ts';
import type { ContinuationRecord, RefusalCode, TerminalReason, WaitType, Winner } from '../../schema.ts';

/** What is wanted of the reader, as a heading in a list. */
export const WAITS: Readonly<Record<WaitType, string>> = {
  approval_resolution: 'Approval',
  user_reply: 'Reply',
  external_result: 'Result',
  agent_reply: 'Agent’s answer',
  scheduled_wake: 'Wake',
};

const REASONS: Readonly<Record<TerminalReason, string>> = {
  completed: 'Completed',
  cancelled_by_user: 'Stopped by a user',
  cancelled_by_product: 'Stopped by the product',
  expired_ttl: 'Expired: nobody answered in time',
  superseded_by_newer_turn: 'Superseded by a newer turn',
  approval_denied: 'Denied',
  invalid_resume_trigger: 'Failed: the answer could not be used',
  max_resume_attempts_reached: 'Failed: all attempts are used up',
  resume_runtime_error: 'Failed: the turn ended with an error',
  delivery_failed: 'Failed: the follow-up could not be delivered',
  session_no_longer_deliverable: 'Failed: the session is gone',
};

/** Where it stands, in a few words. */
export function statusWords(record: ContinuationRecord): string {
  if (isTerminal(record)) return REASONS[record.terminalReason];
  if (record.status === 'pending') return record.supersededBy ? 'Superseded by a newer turn' : 'Waits for an answer';
  if (record.resume.uncertain) return 'Outcome unknown';
  return record.resume.outcome ? 'Answered, the follow-up is being delivered' : 'Answered, the turn runs';
}

const DECISIONS: Readonly<Record<string, string>> = {
  approved: 'approved',
  denied: 'denied',
  mixed: 'approved in part',
  inform: 'answered',
  refuse: 'refused',
  failure: 'reported a failure',
  agreed: 'agreed',
};

/** What an answer decided, as a verb: `approved`. */
export function decisionWords({ type, decision }: Pick<Winner, 'type' | 'decision'>): string {
  if (decision !== undefined) return DECISIONS[decision] ?? decision;
  if (type === 'no_answer') return 'was told that nobody answered in time';
  if (type === 'scheduled_wake') return 'woke it';
  return type === 'external_result' ? 'gave the result' : 'replied';
}

const CHANNELS: Readonly<Record<string, string>> = {
  inbox: 'in the inbox',
  http: 'over the HTTP API',
  api: 'from a program',
  cli: 'on the command line',
  temporal: 'through Temporal',
};

/** `in the inbox`, of `inbox:key_01…`. */
export function channelWords(channel: string): string {
  const [kind = channel] = channel.split(':');
  return CHANNELS[kind] ?? `over ${channel}`;
}

/** For who does not see the page change. */
export function stateWords(record: ContinuationRecord): string {
  const answer = record.answers.findLast(({ suspensionId }) => suspensionId === record.suspension.id);
  const by = answer && `${answer.subject} ${decisionWords(answer)} ${channelWords(answer.channel)}`;
  return [by, statusWords(record)].filter(Boolean).join('. ');
}

/** Why an answer was not taken, as a title for whoever sent it. */
const REFUSALS: Readonly<Partial<Record<RefusalCode, string>>> = {
  already_terminal: 'Too late: this has ended',
  already_resumed: 'Too late: this was already answered',
  stale_suspension: 'Too late: this question was already answered',
  expired: 'Too late: the time to answer is over',
  message_conflict: 'You have already answered this, otherwise',
  digest_mismatch: 'What is asked has changed: look at it again',
  not_authorized: 'You may not do this',
  too_large: 'This is too large',
  attempts_exhausted: 'No attempts are left',
};

export function refusalTitle(code: RefusalCode): string {
  return REFUSALS[code] ?? 'This was not taken';
}
