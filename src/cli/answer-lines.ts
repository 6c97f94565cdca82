/** The exact commands that answer what waits: printed wherever a question is shown, so that nobody has to put one together. */
import type { PendingRecord } from '../schema.ts';
import { commandLine } from './text.ts';

export interface LineOptions {
  /** Words that start the command line. */
  readonly program?: readonly string[];
  /** Options that every line needs, such as `--data DIR`. */
  readonly flags?: readonly string[];
}

const PROGRAM = ['npx', 'continuations'];

/** Command lines of this package's own tool; each names the suspension that was shown (C1). */
export function answerLines(record: PendingRecord, { program = PROGRAM, flags = [] }: LineOptions = {}): string[] {
  const rest = ['--suspension', record.suspension.id, ...flags];
  return answers(record).map((words) => commandLine([...program, ...words, ...rest]));
}

function answers({ id, waitFor }: PendingRecord): string[][] {
  switch (waitFor.type) {
    case 'user_reply':
      return [['reply', id, 'your reply']];
    case 'approval_resolution':
      return [
        ['approve', id],
        ['deny', id, '--reason', 'why not'],
      ];
    case 'external_result':
      return [['result', id, '{"status":"done"}']];
    case 'agent_reply':
      return [['agent-reply', id, 'your answer']];
    case 'scheduled_wake':
      return [['wake', id]];
    default:
      return waitFor satisfies never;
  }
}

/** The same answer as a signal of Temporal's command line, which has operator authority. */
export function signalLine(
  record: PendingRecord,
  { program = 'temporal', flags = [] }: { program?: string; flags?: readonly string[] } = {},
): string {
  const input = JSON.stringify({ suspensionId: record.suspension.id, trigger: trigger(record) });
  const words = ['workflow', 'signal', '--workflow-id', record.id, '--name', record.waitFor.type, '--input', input];
  return commandLine([program, ...words, ...flags]);
}

function trigger({ waitFor }: PendingRecord): object {
  switch (waitFor.type) {
    case 'user_reply': {
      const { correlationKey } = waitFor;
      return { type: waitFor.type, message: { text: 'your reply' }, ...(correlationKey && { correlationKey }) };
    }
    case 'approval_resolution':
      return { type: waitFor.type, approvalId: waitFor.approvalId, decision: 'approved' };
    case 'external_result':
      return { type: waitFor.type, operationId: waitFor.operationId, payload: { status: 'done' } };
    case 'agent_reply':
      return { type: waitFor.type, replyWith: waitFor.replyWith, performative: 'inform', content: 'your answer' };
    case 'scheduled_wake':
      return { type: waitFor.type, wakeUpId: waitFor.wakeUpId };
    default:
      return waitFor satisfies never;
  }
}
