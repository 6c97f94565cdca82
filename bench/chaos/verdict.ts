/** Compares what callers were told, what is recorded, and what happened in the world. */
import type { ContinuationRecord } from '../../src/index.ts';
import type { Ask, Played } from './asks.ts';
import type { Ledger } from './ledger.ts';

export interface Counts {
  /** Accepted answers without effect, finished turns without follow-up, continuations that never ended. */
  readonly lost: number;
  /** Effects and deliveries that happened more than once. */
  readonly doubled: number;
  /** Callers who were told something else than what happened. */
  readonly wronglyTold: number;
  /** Turns and deliveries whose outcome was left to an operator. */
  readonly unknown: number;
  /** Those of them that no killed worker explains. */
  readonly unjustifiedUnknown: number;
  /** From an accepted answer to its effect, for all that were not left to an operator. */
  readonly recoverySecondsP99: number;
}

/** A continuation at the end of its pass. */
export interface Outcome {
  readonly played: Played;
  readonly record: ContinuationRecord;
  /** Whether it reached an end, or an operator. */
  readonly ended: boolean;
  /** The turns that were left to an operator, with the workers that ran them. */
  readonly unknown: readonly { readonly turnId: string; readonly worker?: string | undefined }[];
}

/** Something that must not be, and the continuation that shows it. */
export interface Problem {
  readonly id: string;
  readonly what: string;
}

export function judge(outcomes: readonly Outcome[], ledger: Ledger, killed: ReadonlySet<string>) {
  const problems: Problem[] = [];
  const counts = { lost: 0, doubled: 0, wronglyTold: 0, unknown: 0, unjustifiedUnknown: 0 };
  const recoveries: number[] = [];
  for (const outcome of outcomes) {
    const { id } = outcome.record;
    const count: Count = (what, why) => {
      counts[what] += 1;
      if (what !== 'unknown') problems.push({ id, what: `${what}: ${why}` });
    };
    judgeEnd(outcome, count);
    for (const { turnId, worker } of outcome.unknown) {
      count('unknown', turnId);
      if (!worker || !killed.has(worker)) count('unjustifiedUnknown', `${turnId}, run by ${worker}`);
    }
    for (const ask of outcome.played.asks) judgeAsk(ask, outcome, { ledger, count, recoveries });
    judgeDelivery(outcome, { ledger, killed, count });
  }
  return { counts: { ...counts, recoverySecondsP99: p99(recoveries) } satisfies Counts, problems };
}

type Count = (what: 'lost' | 'doubled' | 'wronglyTold' | 'unknown' | 'unjustifiedUnknown', why: string) => void;

/** Everything is answered, so everything completes; but one that an operator had to decide may ask nobody once more. */
function judgeEnd({ record, ended, unknown }: Outcome, count: Count): void {
  const { id, status, terminalReason } = record;
  if (!ended) count('lost', `${id} is still ${status}`);
  else if (status !== 'completed' && !(status === 'cancelled' && unknown.length > 0))
    count('lost', `${id} is ${status}: ${terminalReason}`);
}

function judgeAsk(
  ask: Ask,
  { record, unknown, ended }: Outcome,
  { ledger, count, recoveries }: { ledger: Ledger; count: Count; recoveries: number[] },
): void {
  const index = record.answers.findIndex(({ suspensionId }) => suspensionId === ask.suspensionId);
  const winner = record.answers[index];
  for (const { messageId, accepted, winner: told, code } of ask.told) {
    if (accepted === (winner?.messageId === messageId) && told === winner?.messageId) continue;
    count(
      'wronglyTold',
      `${messageId} was told ${accepted ? 'accepted' : code}, won by ${told}; it was ${winner?.messageId}`,
    );
  }
  if (!winner) {
    count('lost', `${ask.suspensionId} has no winner`);
    return;
  }
  const turnId = record.lineage[index + 1] ?? '';
  const effects = ledger.of('effect', turnId);
  const wasUnknown = unknown.some((one) => one.turnId === turnId);
  if (effects.length > 1) count('doubled', `effect of ${turnId}`);
  const [effect] = effects;
  if (!effect) {
    if (ended) count('lost', `effect of ${turnId}`);
    return;
  }
  if (effect.text !== winner.messageId) count('wronglyTold', `${turnId} ran ${effect.text}, not ${winner.messageId}`);
  const accepted = ask.told.find(({ accepted }) => accepted);
  if (accepted && !wasUnknown) recoveries.push(Math.max(0, effect.at - accepted.at) / 1000);
}

function judgeDelivery(
  { record }: Outcome,
  { ledger, killed, count }: { ledger: Ledger; killed: ReadonlySet<string>; count: Count },
): void {
  const turnId = record.lineage.at(-1) ?? '';
  const deliveries = ledger.of('delivery', turnId).length;
  if (deliveries > 1) count('doubled', `delivery of ${turnId}`);
  if (record.status !== 'completed' && record.delivery.status !== 'delivery_failed') {
    if (deliveries > 0) count('wronglyTold', `${turnId} was delivered, and is told as ${record.delivery.status}`);
    return;
  }
  if (record.delivery.status === 'delivered') {
    if (deliveries === 0) count('lost', `delivery of ${turnId}`);
  } else if (record.delivery.uncertain) {
    count('unknown', `delivery of ${turnId}`);
    const begun = ledger.of('delivering', turnId);
    const explained = begun.length > 0 ? begun.every(({ worker }) => killed.has(worker)) : killed.size > 0;
    if (!explained) count('unjustifiedUnknown', `delivery of ${turnId}`);
  } else count('wronglyTold', `${turnId} was told as ${record.delivery.status}: ${record.delivery.error}`);
}

function p99(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? 0;
  return Math.round(value * 1000) / 1000;
}
