/** The money side, as a payment provider behaves: one refund for each idempotency key, however often it is asked. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export type Refund = {
  readonly refundId: string;
  readonly key: string;
  readonly order: string;
  readonly amount: string;
  readonly at: string;
};
export interface Ledger {
  /** Pays once for each key; a repeat gets the first refund. */
  refund(request: Pick<Refund, 'key' | 'order' | 'amount'>): Promise<Refund>;
  refunds(): readonly Refund[];
}

/** Kept in a file of JSON lines, or in memory. It pays at once, and says so after `answersAfterMs`. */
export function openLedger(file?: string, answersAfterMs = 0): Ledger {
  const refunds = file && existsSync(file) ? readLines(file) : [];
  return {
    async refund(request) {
      const earlier = refunds.find(({ key }) => key === request.key);
      if (earlier) return earlier;
      const refund = { refundId: `refund-${refunds.length + 1}`, ...request, at: new Date().toISOString() };
      if (file) {
        mkdirSync(dirname(file), { recursive: true });
        appendFileSync(file, `${JSON.stringify(refund)}\n`);
      }
      refunds.push(refund);
      await sleep(answersAfterMs);
      return refund;
    },
    refunds: () => [...refunds],
  };
}

function readLines(file: string): Refund[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Refund);
}
