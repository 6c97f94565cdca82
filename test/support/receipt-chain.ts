/** Receipts as the database links them, made without one (a store test holds that it does). */
import { createHash } from 'node:crypto';
import type { Receipt } from '../../src/index.ts';

export const CHAIN_ID = 'cont_01KBCDEFGHJKMNPQRSTVWXYZ01';
const sha = (text: string) => createHash('sha256').update(text).digest('hex');

export function receiptChain(length: number, id = CHAIN_ID): Receipt[] {
  let previous = '';
  return Array.from({ length }, (_, index) => {
    const sequence = index + 1;
    const kind = index === 0 ? 'created' : 'admitted';
    const at = `2026-12-01T12:00:0${index % 10}.000Z`;
    const body = JSON.stringify({ at, continuationId: id, kind, n: index });
    previous = sha(`${previous}\n${sequence}\n${sha(body)}`);
    return { continuationId: id, sequence, kind, cause: `${kind}:${index}`, at, body, digest: previous };
  });
}
