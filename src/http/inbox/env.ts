/** What the pages' handlers share. */
import type { ContinuationClient } from '../../client.ts';
import type { Access } from '../access.ts';
import type { Viewer } from './page.tsx';
import type { Place } from './session.ts';

export interface InboxOptions {
  /** Its caller is replaced by whoever is logged in. */
  readonly client: ContinuationClient;
  readonly access: Access;
  /** How people reach the server; its path comes before `/inbox`, and `https` makes the cookie a secure one. */
  readonly publicUrl?: string;
  /** Aborted when the server ends: streams end. */
  readonly closing?: AbortSignal;
  /** How long a form may take to arrive, milliseconds. Default 30 s. */
  readonly bodyTimeoutMs?: number;
  /** Told what an operator should know. Default: `console.error`. */
  readonly warn?: (message: string, error?: unknown) => void;
}

export interface InboxEnv {
  Variables: {
    place: Place;
    viewer: Viewer;
    client: ContinuationClient;
    /** Whether the login still holds. */
    holds: () => Promise<boolean>;
    form: URLSearchParams;
  };
}
