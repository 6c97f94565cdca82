/** What the surfaces need of the store: API keys, what repeated requests were answered, and the feed of events. */
import type { Receipt } from './ports.ts';
import type { Permission } from './schema.ts';

/** A key as it may be shown: never its secret. */
export interface ApiKey {
  readonly id: string;
  /** Who uses it; receipts name them. */
  readonly subject: string;
  readonly scope: string;
  readonly permissions: readonly Permission[];
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
}
/** At rest there is only a digest of the secret: `sha256` of a random one needs no salt. */
export interface StoredKey extends ApiKey {
  readonly secretDigest: string;
}

export interface Keys {
  addKey(key: StoredKey): Promise<void>;
  /** The key decides the scope, so it is looked up across all of them. */
  keyAcrossScopes(id: string): Promise<StoredKey | null>;
  keys(scope: string): Promise<ApiKey[]>;
  /** Revokes a key at `at`, the first time counts; null when there is none in the scope. */
  revokeKey(scope: string, id: string, at: string): Promise<ApiKey | null>;
  hasKeysAcrossScopes(): Promise<boolean>;
}

/** A write that its sender named, so that a repeat is answered as the first. */
export interface NamedRequest {
  /** Whose name it is: names of others do not meet. */
  readonly owner: string;
  readonly key: string;
  /** Digest of method, path and body. */
  readonly digest: string;
}
export interface RequestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
export type ClaimedRequest =
  | { readonly found: 'fresh' }
  | { readonly found: 'answered'; readonly answer: RequestAnswer }
  /** The name was used for something else. */
  | { readonly found: 'other' }
  /** The first one is still at work. */
  | { readonly found: 'running' };

export interface Requests {
  /** Takes the name; one whose first sender has not come to an answer for `leaseMs` may be taken again. */
  claimRequest(request: NamedRequest, limits: { leaseMs: number; keepMs: number }): Promise<ClaimedRequest>;
  /** Keeps the answer; without one the name is free again. */
  answerRequest(request: NamedRequest, answer?: RequestAnswer): Promise<void>;
}

/** A receipt in the order of all receipts. */
export interface ContinuationEvent extends Receipt {
  /** Where it is in that order: pass as `after`. */
  readonly position: string;
}
export interface EventPage {
  readonly events: readonly ContinuationEvent[];
  /** Go on after this; also moves on when nothing of the scope was there. */
  readonly next: string;
}
export interface Events {
  /**
   * What was committed after `after`, oldest first; without it, where the feed is now. Ends before the oldest transaction still
   * running, because what that one commits comes before what is committed already.
   */
  events(scope: string, after: string | undefined, limit: number): Promise<EventPage>;
}

export interface ScopeMetrics {
  readonly open: ReadonlyArray<{ readonly waitFor: string; readonly status: string; readonly count: number }>;
  readonly oldestSeconds: number;
  readonly neverExpires: number;
  readonly uncertain: number;
  readonly overdue: number;
  readonly ended: ReadonlyArray<{ readonly status: string; readonly reason: string; readonly count: number }>;
  /** Ended by maintenance, because their workflow was gone. */
  readonly repaired: number;
  /** From the acceptance of an answer to the start of its turn, the latest 2,000 of the last five minutes: 0.5, 0.95, 0.99. */
  readonly startSeconds: { readonly quantiles: readonly number[]; readonly count: number };
}
export interface Metrics {
  /** Of a scope and those below it. */
  metrics(scope: string): Promise<ScopeMetrics>;
}

export interface OutboxEntry {
  readonly id: string;
  readonly scope: string;
  readonly message: object;
}
/** What waits to be relayed to people; an entry stays until it is acknowledged. */
export interface Outbox {
  /** Once for an id, also after it was acknowledged. */
  addEntry(entry: OutboxEntry): Promise<void>;
  /** What is not acknowledged, oldest first. */
  entries(scope: string, limit: number): Promise<OutboxEntry[]>;
  acknowledge(scope: string, ids: readonly string[]): Promise<void>;
}
