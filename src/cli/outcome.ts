/** From what came of a request to what is printed and how the process ends: the one table of exit codes. */
import type { ManageResult } from '../managing.ts';
import type { ResumeResult } from '../resuming.ts';
import type { ContinuationRecord, Refusal } from '../schema.ts';
import type { CliIo } from './io.ts';
import { paragraph, plain } from './text.ts';
import { howToAnswer, statusInWords, type ViewOptions, winnerInWords } from './view.ts';

export const EXIT = {
  /** Accepted, stored or done. */
  done: 0,
  /** A server could not be reached, or the command was used wrongly. */
  failed: 1,
  /** Refused: nothing was changed. */
  refused: 2,
} as const;

export interface Report extends ViewOptions {
  readonly json: boolean;
}

/** Prints what came of an answer. */
export function reportAnswer(result: ResumeResult, io: CliIo, report: Report): number {
  if (report.json) return printJson(result, io, result.ok);
  if (!result.ok) return reportRefusal(result.refusal, io);
  io.out(result.outcome === 'stored' ? STORED : answerText(result, report));
  return EXIT.done;
}

const STORED =
  'Stored: no worker has taken it yet. It is durable and will be applied once, when a worker does; look with `get`.';

function answerText(result: Extract<ResumeResult, { outcome: 'accepted' }>, report: Report): string {
  const { record, harnessResult } = result;
  const said = harnessResult?.assistantMessage?.text;
  const parts = [`Accepted: ${winnerInWords(result.answer)}.`, `${record.id} is ${statusInWords(record)}.`];
  if (record.status === 'pending') parts.push(`It asks again:\n${paragraph(record.suspension.question)}`);
  else if (said) parts.push(`Follow-up (${record.delivery.status}):\n${paragraph(said)}`);
  return [...parts, ...howToAnswer(record, report)].join('\n');
}

/** Prints what came of `stop` or `extend`. */
export function reportManaged(result: ManageResult, io: CliIo, report: Report): number {
  if (report.json) return printJson(result, io, result.ok);
  if (!result.ok) return reportRefusal(result.refusal, io);
  io.out(result.outcome === 'stored' ? STORED : doneText(result.record));
  return EXIT.done;
}

function doneText(record: ContinuationRecord): string {
  const until = record.status === 'pending' && record.bounds.expiresAt ? `, until ${record.bounds.expiresAt}` : '';
  return `Done: ${record.id} is ${statusInWords(record)}${until}.`;
}

export function reportRefusal(refusal: Refusal, io: CliIo): number {
  const winner = refusal.winner ? ` It was answered: ${winnerInWords(refusal.winner)}.` : '';
  io.error(`Refused (${refusal.code}): ${plain(refusal.message)}.${winner} Nothing was changed.`);
  return EXIT.refused;
}

export function printJson(value: unknown, io: CliIo, ok = true): number {
  io.out(JSON.stringify(value, null, 2));
  return ok ? EXIT.done : EXIT.refused;
}
