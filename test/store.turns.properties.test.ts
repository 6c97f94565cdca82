/**
 * Any interleaving of starts, crashes, ends, late ends, operators and stops, on a real PostgreSQL: a turn ends once (C6), is
 * started again only after a recorded end or an operator's word (C7), and an unknown outcome stays one until somebody decides (C8).
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { step } from '../src/continuation.ts';
import { digestText } from '../src/digest.ts';
import type { EndTurn, Grant, TurnState } from '../src/ports.ts';
import { receipt, reconciledReceipt } from '../src/receipts.ts';
import { isTerminal } from '../src/record.ts';
import type { Reconciliation, ResumingRecord } from '../src/schema.ts';
import { later, MINUTE, ok } from './support/builders.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { answered, beginning, chained, completing, ofTurn, paused, play, SCOPE } from './support/stored.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.close());

interface Execution {
  readonly grant: Grant;
  readonly fresh: boolean;
}
/** What must be true of the turn now. */
interface Model {
  state: TurnState | 'none';
  holder?: Execution;
  /** Every execution that was ever granted: a crashed one may come back at any time. */
  readonly executions: Execution[];
  readonly decided: Set<string>;
  starts: number;
}

const command = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ do: 'begin' } as const) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: fc.nat(5),
      how: fc.constantFrom('settled', 'ended', 'failed'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('reconcile' as const),
      action: fc.constantFrom('happened', 'did_not_happen', 'close_incomplete'),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'close' } as const) },
);
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

test('a turn ends once, is never started twice without a recorded end, and unknown stays unknown', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 14 }), async (commands) => {
      const record = answered(await paused(database.store));
      const model: Model = { state: 'none', executions: [], decided: new Set(), starts: 0 };
      for (const one of commands) await carryOut(one, record, model);
      await agree(record, model);
    }),
    { numRuns: Number(process.env.RUNS ?? 150), endOnFailure: true },
  );
}, 120_000);

async function carryOut(one: Command, accepted: ResumingRecord, model: Model): Promise<void> {
  switch (one.do) {
    case 'begin':
      return begin(accepted, model);
    case 'end': {
      const execution = model.executions[one.which % Math.max(1, model.executions.length)];
      return execution && end(execution, one.how as 'settled', model);
    }
    case 'reconcile':
      return reconcile(accepted, one.action as Reconciliation['action'], model);
    default:
      return close(accepted, model);
  }
}

async function begin(accepted: ResumingRecord, model: Model): Promise<void> {
  const begun = await database.store.beginTurn(beginning(accepted));
  const expected = { none: 'fresh', ended: 'fresh', running: 'lost' } as Record<string, string>;
  expect(begun.found, `begin while ${model.state}`).toBe(expected[model.state] ?? 'finished');
  if (begun.found !== 'fresh' && begun.found !== 'lost') return;
  const execution = { grant: begun, fresh: begun.found === 'fresh' };
  if (execution.fresh) model.starts += 1;
  Object.assign(model, { state: 'running', holder: execution });
  model.executions.push(execution);
}

async function end(execution: Execution, how: 'settled' | 'ended' | 'failed', model: Model): Promise<void> {
  const state = execution.fresh ? how : 'uncertain';
  const { accepted } = await database.store.endTurn(ending(execution.grant, state));
  const holds = model.holder === execution && (model.state === 'running' || model.state === state);
  expect(accepted, `${state} while ${model.state}`).toBe(holds);
  if (accepted && model.state === 'running') model.state = state;
}

function ending(grant: Grant, state: EndTurn['state']): EndTurn {
  if (state === 'settled') return completing(grant);
  const turn = ofTurn(grant);
  const error = { code: 'harness_error', message: '503' };
  const uncertain = { cause: 'lost', at: turn.at, message: 'gone' } as const;
  const event = {
    ended: { type: 'attemptEnded', ...turn, error } as const,
    failed: { type: 'turnFailed', ...turn, error } as const,
    uncertain: { type: 'turnUncertain', ...turn, uncertain } as const,
  }[state];
  const record = play(grant.record, event);
  const kind = ({ ended: 'attempt_ended', failed: 'settled', uncertain: 'uncertain' } as const)[state];
  return { turnId: turn.turnId, fence: grant.fence, state, record, spentMs: 0, receipt: receipt(kind, record) };
}

async function reconcile(accepted: ResumingRecord, action: Reconciliation['action'], model: Model): Promise<void> {
  const now = (await database.store.getAcrossScopes(accepted.id))?.record;
  const { turnId } = accepted.resume;
  const attempt = now?.resume?.attempt ?? 1;
  const at = later(5 * MINUTE);
  const proof = { ref: 'ledger', digest: digestText('x') };
  const decided = { action, requestDigest: digestText(action), actor: 'olga', verified: true, channel: 'cli', proof };
  const reconciliation: Reconciliation = { ...decided, observedAt: at, at };
  const settled = { result: { outcome: 'completed' }, deliverable: false } as const;
  const known = now?.status === 'resuming' && now.resume.uncertain !== undefined;
  expect(known, `row while ${model.state}`).toBe(model.state === 'uncertain');
  // Somebody who believes that it is in question tries it anyway.
  const asked = known ? now : playUncertain(accepted, attempt);
  const after = ok(
    step(asked, { type: 'reconciled', at, turnId, attempt, reconciliation, ...(action === 'happened' && { settled }) }),
  );
  const state = ({ happened: 'settled', did_not_happen: 'ended', close_incomplete: 'failed' } as const)[action];
  const fact = reconciledReceipt(after, { turnId, attempt, reconciliation });
  const written = await database.store.reconcileTurn({ turnId, attempt, state, record: after, receipts: [fact] });
  const inQuestion = model.state === 'uncertain';
  // The same decision again is told that it stands.
  if (inQuestion || !model.decided.has(action))
    expect(written.accepted, `${action} while ${model.state}`).toBe(inQuestion);
  if (!inQuestion) return;
  model.decided.add(action);
  model.state = state;
}

function playUncertain(record: ResumingRecord, attempt: number): ResumingRecord {
  const grant = { fence: 1, attempt, startedAt: record.updatedAt, spentMs: 0, record };
  const uncertain = { cause: 'lost', at: later(2 * MINUTE), message: 'gone' } as const;
  return play(record, { type: 'turnUncertain', ...ofTurn(grant), uncertain }) as ResumingRecord;
}

async function close(accepted: ResumingRecord, model: Model): Promise<void> {
  const now = (await database.store.getAcrossScopes(accepted.id))?.record;
  const base = now?.status === 'resuming' && !now.resume.outcome ? now : accepted;
  const { turnId } = accepted.resume;
  const record = play(base, { type: 'turnClosed', turnId, reason: 'cancelled_by_user', at: later(9 * MINUTE) });
  const fact = receipt('stopped', record);
  const request = { turnId, record, basedOn: base.revision, onlyIfNotStarted: false, receipt: fact };
  const { closed } = await database.store.closeTurn(request);
  const open = ['none', 'running', 'ended', 'uncertain'].includes(model.state);
  // The same close again is told that it stands.
  if (model.state !== 'closed') expect(closed, `close while ${model.state}`).toBe(open);
  if (open) model.state = 'closed';
}

/** Row, receipts and model say the same. */
async function agree({ id }: ResumingRecord, { state, starts }: Model): Promise<void> {
  const row = (await database.store.getAcrossScopes(id))?.record;
  const receipts = (await database.store.receipts(SCOPE, id)) ?? [];
  const count = (kind: string) => receipts.filter((one) => one.kind === kind).length;
  expect(receipts.map(({ digest }) => digest)).toEqual(chained(receipts));
  expect(count('started')).toBe(starts);
  expect(count('settled') + count('stopped')).toBeLessThanOrEqual(1);
  if (state === 'closed' || state === 'failed') expect(row && isTerminal(row)).toBe(true);
  if (state === 'uncertain')
    expect(row).toMatchObject({ status: 'resuming', resume: { uncertain: { cause: 'lost' } } });
}
