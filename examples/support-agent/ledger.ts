/** The money side, as a payment provider behaves: one refund for each idempotency key, however often it is asked. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface Refund {
  readonly refundId: string;
  readonly key: string;
  readonly order: string;
  readonly amount: string;
  readonly at: string;
}
export interface Ledger {
  /** Pays once for each key; a repeat gets the first refund. */
  refund(request: Pick<Refund, 'key' | 'order' | 'amount'>): Refund;
  refunds(): readonly Refund[];
}

/** Kept in a file of JSON lines, or in memory. */
export function openLedger(file?: string): Ledger {
  const refunds = file && existsSync(file) ? readLines(file) : [];
  return {
    refund(request) {
      const earlier = refunds.find(({ key }) => key === request.key);
      if (earlier) return earlier;
      const refund = { refundId: `refund-${refunds.length + 1}`, ...request, at: new Date().toISOString() };
      if (file) {
        mkdirSync(dirname(file), { recursive: true });
        appendFileSync(file, `${JSON.stringify(refund)}\n`);
      }
      refunds.push(refund);
      return refund;
    },
    refunds: () => [...refunds],
  };
}

function readLines(file: string): Refund[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Refund);
}
