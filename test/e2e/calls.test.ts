/** Several calls in one pause on the real stack: one answer decides them all, and the harness gets exactly what was decided. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DecidedCall, type Trigger, verifyDecision } from '../../src/index.ts';
import {
  type Actors,
  agreedEnd,
  createActors,
  created,
  pause,
  refusalOf,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';

let stack: Stack;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack();
  actors = createActors();
  await stack.startWorker(actors);
});
afterAll(() => stack?.close());

/** Spaces, digits beyond 2^53 and a repeated key: nothing of it survives being parsed and written again. */
const VERBATIM = '{ "amount": 12345678901234567890, "amount": 1.00 }';
const LONG = JSON.stringify({ text: '7'.repeat(5000) });
const CALLS = [
  { id: 'c1', name: 'refund', arguments: VERBATIM },
  { id: 'c2', name: 'refund', arguments: VERBATIM },
  { id: 'c3', name: 'mail', arguments: LONG },
];
const asks = (outcome = 'awaiting_approval') =>
  pause('approval_resolution', {
    harnessResult: {
      outcome: outcome as 'awaiting_approval',
      assistantMessage: { text: 'Two refunds and a mail?' },
      continuation: { state: { step: 1 }, pending: CALLS },
    },
  });
const decided = (approvalId: string, ...calls: unknown[]) =>
  ({ type: 'approval_resolution', approvalId, calls }) as Trigger;
const EDITED = '{ "amount": 20.00 }';
const RIGHT = [
  { callId: 'c3', decision: 'approved' },
  { callId: 'c1', decision: 'denied', reason: 'paid twice already' },
  { callId: 'c2', decision: 'approved', arguments: EDITED },
];
const WRONG: Array<[string, unknown[]]> = [
  ['one is missing', RIGHT.slice(1)],
  ['one is unknown', [...RIGHT, { callId: 'c4', decision: 'approved' }]],
  ['one is decided twice', [...RIGHT, { callId: 'c1', decision: 'approved' }]],
];

describe.concurrent('one answer for several calls', () => {
  test.for<[string, number | undefined]>([
    ['that travels with the message', undefined],
    ['that travels by reference', 0],
  ])('%s: wrong ones cost nothing, the right one reaches the harness call by call', async ([, inlineInputBytes]) => {
    const client = stack.newClient(inlineInputBytes === undefined ? {} : { inlineInputBytes });
    const { id, waitFor, suspension } = await created(client, asks());
    expect(waitFor).toEqual({ type: 'approval_resolution', approvalId: suspension.id });
    await stack.waits(id);
    const length = await stack.historyLength(id);
    for (const [what, calls] of WRONG) {
      const refused = refusalOf(await client.resume({ continuationId: id, trigger: decided(suspension.id, ...calls) }));
      expect(refused, what).toMatchObject({ code: 'calls_mismatch', status: 'pending' });
    }
    expect(await stack.historyLength(id)).toBe(length);

    const answer = taken(
      await client.resume({ continuationId: id, trigger: decided(suspension.id, ...RIGHT) }, { until: 'finished' }),
    );
    expect(answer).toMatchObject({ answer: { decision: 'mixed' }, record: { bounds: { resumeAttempts: 1 } } });
    await agreedEnd(stack, id);
    const [turn, ...others] = actors.turns(id);
    expect(others).toEqual([]);
    expect(turn?.calls).toMatchObject([
      {
        id: 'c1',
        name: 'refund',
        arguments: VERBATIM,
        decision: 'denied',
        reason: 'paid twice already',
        edited: false,
      },
      { id: 'c2', name: 'refund', arguments: EDITED, decision: 'approved', edited: true },
      { id: 'c3', name: 'mail', arguments: LONG, decision: 'approved', edited: false },
    ]);
    const admitted = (await client.receipts(id))?.find(({ kind }) => kind === 'admitted');
    const seen = suspension.pending.map(({ argumentsDigest }) => argumentsDigest);
    expect(JSON.parse(admitted?.body ?? '{}').calls).toMatchObject([
      { id: 'c1', decision: 'denied', argumentsDigest: seen[0] },
      { id: 'c2', decision: 'approved', argumentsDigest: seen[1], editedDigest: turn?.calls[1]?.argumentsDigest },
      { id: 'c3', decision: 'approved', argumentsDigest: seen[2] },
    ]);
  });

  test('results, errors and "run it after all" of calls that another system makes', async () => {
    const { id, waitFor } = await created(stack.client, asks('deferred'));
    if (waitFor.type !== 'external_result') throw new Error('not external');
    const { operationId } = waitFor;
    const trigger: Trigger = {
      type: 'external_result',
      operationId,
      calls: [
        { callId: 'c2', error: 'the bank is closed' },
        { callId: 'c1', result: { refunded: true } },
        { callId: 'c3', execute: true },
      ],
    };
    taken(await stack.client.resume({ continuationId: id, trigger }, { until: 'finished' }));
    expect(actors.turns(id)[0]?.calls).toMatchObject([
      { id: 'c1', decision: 'result', result: { refunded: true } },
      { id: 'c2', decision: 'error', reason: 'the bank is closed' },
      { id: 'c3', decision: 'execute', arguments: LONG },
    ]);
  });

  test('a reply is the result of the question that asked for it', async () => {
    const call = { id: 'ask_1', name: 'ask_user', arguments: '{"question":"Which?"}' };
    const { id } = await created(
      stack.client,
      pause('user_reply', {
        harnessResult: { outcome: 'needs_clarification', continuation: { state: {}, pending: [call] } },
      }),
    );
    const trigger: Trigger = { type: 'user_reply', message: { text: 'the blue one' } };
    taken(await stack.client.resume({ continuationId: id, trigger }, { until: 'finished' }));
    expect(actors.turns(id)[0]?.calls).toMatchObject([{ id: 'ask_1', decision: 'result', result: 'the blue one' }]);
  });

  test('a batch for two reasons is refused with both tools named, and nothing of it is stored', async () => {
    const sessionId = 'two-reasons';
    const input = {
      ...asks(),
      sessionId,
      harnessResult: {
        outcome: 'awaiting_approval' as const,
        continuation: {
          state: {},
          pending: [
            { id: 'c1', name: 'refund', arguments: '{}', reason: 'approval_resolution' as const },
            { id: 'c2', name: 'track_parcel', arguments: '{}', reason: 'external_result' as const },
          ],
        },
      },
    };
    expect(refusalOf(await stack.client.create(input)).message).toMatch(/refund .* track_parcel/);
    expect(await stack.client.listBySession(sessionId)).toEqual([]);
  });
});

test('a tool runner can check right before the effect that this is what was decided', () => {
  const call = { id: 'c1', name: 'refund', arguments: '{}', edited: false } as const;
  const digest = 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a';
  const approved: DecidedCall = { ...call, argumentsDigest: digest, decision: 'approved' };
  expect(() => verifyDecision(approved, { name: 'refund', arguments: '{}' })).not.toThrow();
  const others: Array<[DecidedCall, string, string]> = [
    [approved, 'refund', '{ }'],
    [approved, 'refund_all', '{}'],
    [{ ...approved, decision: 'denied' }, 'refund', '{}'],
    [{ ...approved, argumentsDigest: 'sha256:0' }, 'refund', '{}'],
  ];
  for (const [decision, name, text] of others)
    expect(() => verifyDecision(decision, { name, arguments: text })).toThrow(
      expect.objectContaining({ code: 'decision_mismatch' }),
    );
});
