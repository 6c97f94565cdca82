/** What a person reads: one record, a list of them, receipts. Words only; nothing is decided here. */
import type { Receipt } from '../ports.ts';
import type { ContinuationView } from '../reading.ts';
import type { ContinuationRecord, PendingCall, Winner } from '../schema.ts';
import { waitInWords } from '../summary.ts';
import { answerLines, type LineOptions } from './answer-lines.ts';
import { paragraph, plain, relative, table } from './text.ts';

export interface ViewOptions extends LineOptions {
  readonly now: Date;
  readonly width: number;
}

export function listView(records: readonly ContinuationRecord[], { now, width }: ViewOptions): string {
  const rows = records.map((record) => [
    record.id,
    record.status,
    record.waitFor.type,
    deadline(record, now),
    plain(record.assistantId),
    plain(record.suspension.question),
  ]);
  return table(['ID', 'STATUS', 'WAITS FOR', 'EXPIRES', 'ASSISTANT', 'QUESTION'], rows, width);
}

function deadline({ status, bounds }: ContinuationRecord, now: Date): string {
  if (status !== 'pending' && status !== 'resuming') return '-';
  return bounds.expiresAt ? relative(bounds.expiresAt, now) : 'never';
}

/** Effects that an operator can decide one by one. */
function inQuestion({ resume, executions = [] }: ContinuationView): string[] {
  if (!resume?.uncertain) return [];
  const effects = executions.filter(({ turnId }) => turnId === resume.turnId).flatMap((execution) => execution.effects);
  const keys = effects.filter(({ state }) => state === 'started').map(({ key }) => `  ${plain(key)}`);
  return keys.length === 0 ? [] : [`In question (reconcile --effect):\n${keys.join('\n')}`];
}

/** Everything that decides an answer, and the commands that give it. */
export function recordView(record: ContinuationView, options: ViewOptions): string {
  const { now } = options;
  const { suspension, bounds, delivery, result } = record;
  const facts: Array<[string, string] | undefined> = [
    ['status', statusInWords(record)],
    ['assistant', plain(record.assistantId)],
    record.sessionId === undefined ? undefined : ['session', plain(record.sessionId)],
    ['asked', `${relative(suspension.createdAt, now)} (${suspension.createdAt})`],
    record.status === 'pending' ? ['waits for', plain(waitInWords(record.waitFor))] : undefined,
    ['answer before', bounds.expiresAt ? `${bounds.expiresAt} (${relative(bounds.expiresAt, now)})` : 'no deadline'],
    ['suspension', suspension.id],
    ['digest', suspension.digest],
    ['follow-up', delivery.error ? `${delivery.status}: ${plain(delivery.error)}` : delivery.status],
  ];
  const parts = [
    record.id,
    facts
      .filter((fact) => fact !== undefined)
      .map(([name, value]) => `  ${name.padEnd(14)}${value}`)
      .join('\n'),
    `Question:\n${paragraph(suspension.question)}`,
    ...(suspension.pending.length > 0 ? [`Calls:\n${suspension.pending.map(callLine).join('\n')}`] : []),
    ...(record.answers.length > 0 ? [`Answers:\n${record.answers.map(answerLine).join('\n')}`] : []),
    ...inQuestion(record),
    ...(result?.assistantMessage ? [`What the last turn said:\n${paragraph(result.assistantMessage.text)}`] : []),
    ...howToAnswer(record, options),
  ];
  return parts.join('\n\n');
}

/** The commands that answer a record, or nothing when it does not wait. */
export function howToAnswer(record: ContinuationRecord, options: LineOptions): string[] {
  if (record.status !== 'pending') return [];
  return [
    `Answer it:\n${answerLines(record, options)
      .map((line) => `  ${line}`)
      .join('\n')}`,
  ];
}

/** `resuming: the turn … runs`, `completed`, `cancelled (approval_denied)`. */
export function statusInWords(record: ContinuationRecord): string {
  const { status, terminalReason, resume } = record;
  if (terminalReason && terminalReason !== status) {
    const why = resume?.error ?? ('error' in record ? record.error : undefined);
    return `${status} (${terminalReason}${why ? `: ${plain(why.message)}` : ''})`;
  }
  if (status !== 'resuming') return status;
  if (resume.uncertain) return `${status}: the outcome of turn ${resume.turnId} is unknown (${resume.uncertain.cause})`;
  if (resume.outcome) return `${status}: the turn ${resume.outcome}, its follow-up is being delivered`;
  return `${status}: turn ${resume.turnId} runs or is about to`;
}

function callLine({ id, name, arguments: given }: PendingCall): string {
  return `  ${plain(id)}  ${plain(name)} ${typeof given === 'string' ? plain(given) : `(${given.bytes} bytes, ${given.digest})`}`;
}

/** `approved by ada over cli at 2026-…`. */
export function winnerInWords(answer: Winner): string {
  const who = `${plain(answer.subject)}${answer.verified ? '' : ' (not verified)'}`;
  return `${answer.decision ?? answer.type} by ${who} over ${plain(answer.channel)} at ${answer.receivedAt}`;
}

function answerLine(answer: Winner, index: number): string {
  return `  ${index + 1}. ${winnerInWords(answer)}, for ${answer.suspensionId}`;
}

export function receiptsView(receipts: readonly Receipt[], width: number): string {
  const rows = receipts.map((one) => [
    String(one.sequence),
    one.kind,
    one.at,
    one.digest.slice(0, 16),
    plain(one.body),
  ]);
  return table(['#', 'KIND', 'AT', 'DIGEST', 'BODY'], rows, width);
}

/** One line for each change, for `watch`. */
export function changeLine(record: ContinuationRecord): string {
  const last = record.answers.at(-1);
  const what = record.status === 'pending' ? `pending: ${plain(record.suspension.question)}` : statusInWords(record);
  const by = last ? ` [${winnerInWords(last)}]` : '';
  return `${record.updatedAt}  ${record.id}  ${what}${by}`;
}
