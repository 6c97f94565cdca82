/** The tables that are queried outside SQL functions, as Kysely knows them. */
import type { Execution, TurnState } from '../ports.ts';
import type { ContinuationRecord, HarnessResult, Permission } from '../schema.ts';

export interface ContinuationTable {
  id: string;
  scope: string;
  assistant_id: string;
  session_id: string | null;
  status: ContinuationRecord['status'];
  wait_type: ContinuationRecord['waitFor']['type'];
  expires_at: string | null;
  record: unknown;
  superseded_by: string | null;
  started: boolean;
  seen_at: string;
  uncertain: boolean;
  receipts_head: string;
  updated_at: string;
}
export interface ReceiptTable {
  continuation_id: string;
  sequence: number;
  kind: string;
  cause: string;
  at: string;
  body: string;
  digest: string;
}
export interface ContentTable {
  scope: string;
  digest: string;
  bytes: Buffer;
}
export interface TurnTable {
  turn_id: string;
  continuation_id: string;
  state: TurnState;
  attempt: number;
  worker: string | null;
  started_at: string | null;
  result: HarnessResult | null;
  evidence: Execution['late'];
}

export interface ApiKeyTable {
  id: string;
  subject: string;
  scope: string;
  permissions: Permission[];
  secret_digest: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
}

/** All of them live in the schema of `migrations.ts`. */
export interface Database {
  'continuations.continuations': ContinuationTable;
  'continuations.receipts': ReceiptTable;
  'continuations.contents': ContentTable;
  'continuations.turns': TurnTable;
  'continuations.api_keys': ApiKeyTable;
}
