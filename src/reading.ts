/** Reads: from the store alone, so that they never need a worker. */
import type { Caller } from './caller.ts';
import { reaches } from './caller.ts';
import { textOf } from './content.ts';
import { ContinuationError } from './errors.ts';
import { textFault } from './json.ts';
import { parseInput } from './parse.ts';
import type { Execution, ListQuery, Page, Receipt, Store } from './ports.ts';
import { listen } from './progress.ts';
import { readable } from './readable.ts';
import { isTerminal } from './record.ts';
import {
  type CallVerdict,
  type ContentRef,
  ContinuationId,
  type ContinuationRecord,
  type HarnessResult,
  Instant,
  Scope,
  type Winner,
} from './schema.ts';
import { stateOf } from './suspend.ts';

export interface GetInput {
  readonly continuationId: string;
  readonly include?: ReadonlyArray<'asked' | 'state' | 'result' | 'executions'>;
}
/** What is asked in full, also where the record only refers to it. */
export interface Asked {
  readonly question: string;
  /** The arguments of the calls that wait, verbatim, in their order. */
  readonly arguments: readonly string[];
}
/** A record, with what `include` asked for. */
export type ContinuationView = ContinuationRecord & {
  readonly asked?: Asked;
  /** The harness's own state of the current suspension. */
  readonly state?: unknown;
  /** The result of the last turn that ended. */
  readonly result?: HarnessResult;
  /** What is known about the executions of its turns, late results of lost ones included. */
  readonly executions?: readonly Execution[];
};
export interface WatchInput {
  /** One continuation; without it, all in the caller's scope that change. */
  readonly continuationId?: string;
  readonly signal?: AbortSignal;
}

export interface Reading {
  get(input: GetInput): Promise<ContinuationView | null>;
  list(query?: Partial<ListQuery>): Promise<Page>;
  listBySession(sessionId: string): Promise<ContinuationRecord[]>;
  watch(input?: WatchInput): AsyncIterable<ContinuationRecord>;
  sessionActive(sessionId: string, at?: string | Date): Promise<void>;
  receipts(continuationId: string): Promise<Receipt[] | null>;
  admissions(continuationId: string, page?: { after?: number; limit?: number }): Promise<AdmissionPage | null>;
}

/** An accepted answer, as its receipt holds it (001 `ResumeAdmission`): which pause it was for, at which revision. */
export interface Admission {
  readonly sequence: number;
  readonly at: string;
  readonly suspensionId: string;
  readonly suspensionDigest: string;
  readonly revision: number;
  readonly answer: Winner;
  readonly calls?: ReadonlyArray<CallVerdict & { readonly name: string; readonly argumentsDigest: string }>;
}
export interface AdmissionPage {
  readonly admissions: readonly Admission[];
  readonly latest?: Admission;
  /** Pass as `after` for the next page; absent on the last one. */
  readonly next?: number;
}

interface ReadingDeps {
  readonly store: Store;
  readonly caller: Caller;
  readonly pollMs: number;
}

export function createReading({ store, caller, pollMs }: ReadingDeps): Reading {
  const { scope } = caller;
  const list = async (query: Partial<ListQuery> = {}): Promise<Page> => {
    const wanted = query.scope ?? scope;
    if (!Scope.safeParse(wanted).success || !reaches(caller, wanted)) return { records: [] };
    if (query.text !== undefined && textFault(query.text)) return { records: [] };
    return store.list({ ...query, scope: wanted });
  };
  return {
    list,
    get: (input) => view(store, scope, input),
    async listBySession(sessionId) {
      const records: ContinuationRecord[] = [];
      let after: string | undefined;
      do {
        const page = readable(await list({ sessionId, limit: 256, ...(after && { after }) }));
        records.push(...page.records);
        after = page.next;
      } while (after);
      return records;
    },
    watch: (input = {}) =>
      input.continuationId
        ? watchOne({ store, pollMs }, scope, input.continuationId, input.signal)
        : watchAll(store, scope, input.signal),
    async sessionActive(sessionId, at = new Date()) {
      const instant = parseInput(Instant, at);
      if (!instant.ok) throw new ContinuationError('invalid_configuration', `at ${instant.refusal.message}`);
      await store.sessionActive(scope, sessionId, instant.value);
    },
    receipts: (continuationId) => store.receipts(scope, continuationId),
    admissions: (continuationId, page) => admissionsOf(store, scope, continuationId, page),
  };
}

async function view(
  store: Store,
  scope: string,
  { continuationId, include = [] }: GetInput,
): Promise<ContinuationView | null> {
  const row = ContinuationId.safeParse(continuationId).success ? await store.get(scope, continuationId) : null;
  if (!row) return null;
  const { record } = row;
  const asked = include.includes('asked') && (await askedOf(store, record));
  const content = include.includes('state') ? await store.content(record.scope, record.suspension.state) : null;
  const result = include.includes('result') ? await lastResult(store, record) : null;
  const executions = include.includes('executions') && (await store.executions(scope, continuationId));
  return {
    ...record,
    ...(asked && { asked }),
    ...(content && { state: stateOf(content) }),
    ...(result && { result }),
    ...(executions && { executions }),
  };
}

/** In exact scope: work is taken up where it belongs, not from above (001). */
async function admissionsOf(
  store: Store,
  scope: string,
  id: string,
  { after = 0, limit = 256 }: { after?: number; limit?: number } = {},
): Promise<AdmissionPage | null> {
  if (!ContinuationId.safeParse(id).success) return null;
  const page = { after, limit: Math.min(Math.max(Math.trunc(limit), 1), 256) };
  const found = await store.admittedReceipts(scope, id, page);
  if (!found) return null;
  const last = found.receipts.at(-1);
  return {
    admissions: found.receipts.map(admission),
    ...(found.latest && { latest: admission(found.latest) }),
    ...(last && found.more && { next: last.sequence }),
  };
}

function admission({ sequence, at, body }: Receipt): Admission {
  const { suspensionDigest, revision, answer, calls } = JSON.parse(body);
  return {
    sequence,
    at,
    suspensionId: answer.suspensionId,
    suspensionDigest,
    revision,
    answer,
    ...(calls && { calls }),
  };
}

async function askedOf(store: Store, { id, scope, suspension }: ContinuationRecord): Promise<Asked> {
  const whole = async (text: string | ContentRef): Promise<string> => {
    if (typeof text === 'string') return text;
    const content = await store.content(scope, text);
    if (!content) throw new ContinuationError('record_malformed', `content ${text.digest} of ${id} is missing.`);
    return textOf(content);
  };
  return {
    question: await whole(suspension.questionRef ?? suspension.question),
    arguments: await Promise.all(suspension.pending.map((call) => whole(call.arguments))),
  };
}

async function lastResult(store: Store, record: ContinuationRecord): Promise<HarnessResult | null> {
  const [, ...resumed] = record.lineage;
  for (const turnId of resumed.reverse()) {
    const result = await store.turnResult(record.scope, turnId);
    if (result) return result;
  }
  return null;
}

async function* watchOne(
  { store, pollMs }: Omit<ReadingDeps, 'caller'>,
  scope: string,
  id: string,
  signal?: AbortSignal,
): AsyncGenerator<ContinuationRecord> {
  const changes = listen(store, id);
  let revision = 0;
  try {
    while (!signal?.aborted) {
      const change = changes.next();
      const row = await store.get(scope, id);
      if (!row) return;
      if (row.record.revision > revision) yield row.record;
      revision = row.record.revision;
      if (isTerminal(row.record)) return;
      await change(pollMs, signal);
    }
  } finally {
    changes.close();
  }
}

/** Best effort: a change during a lost connection is seen by the next `list`. */
async function* watchAll(store: Store, scope: string, signal?: AbortSignal): AsyncGenerator<ContinuationRecord> {
  const queue = new Set<string>();
  let wake: () => void = () => undefined;
  const subscription = store.onChange((id) => {
    queue.add(id);
    wake();
  });
  signal?.addEventListener('abort', () => wake(), { once: true });
  try {
    while (!signal?.aborted) {
      const [id] = queue;
      if (id === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (queue.size > 0 || signal?.aborted) resolve();
        });
        continue;
      }
      queue.delete(id);
      const row = await store.get(scope, id);
      if (row) yield row.record;
    }
  } finally {
    subscription.close();
  }
}
