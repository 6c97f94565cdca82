import { describe, expect, test } from 'vitest';
import type { Json } from '../src/json.ts';
import type { ResumableOutcome, WaitCondition } from '../src/schema.ts';
import { deriveWait } from '../src/wait.ts';

const PLACES = ['state', 'continuation.metadata', 'result.metadata', 'metadata'];
const derive = (outcome: ResumableOutcome, ...values: Array<Json | undefined>) =>
  deriveWait(
    outcome,
    values.map((value, place) => ({ path: PLACES[place]!, values: value })),
    { calls: [], suspensionId: 'sus_minted', wakeUpId: 'wake_minted' },
  );
const waitOf = (...given: Parameters<typeof derive>): WaitCondition => {
  const result = derive(...given);
  if (!result.ok) throw new Error(`no wait: ${result.refusal.message}`);
  return result.waitFor;
};
const refusalOf = (...given: Parameters<typeof derive>) => {
  const result = derive(...given);
  if (result.ok) throw new Error(`waits for ${JSON.stringify(result.waitFor)}`);
  return result.refusal;
};

describe('every key is found in every place, and the more specific place wins', () => {
  const keys: Array<[ResumableOutcome, string, (value: string) => Json, (value: string) => WaitCondition]> = [
    ['needs_clarification', 'correlationKey', (v) => v, (correlationKey) => ({ type: 'user_reply', correlationKey })],
    ['awaiting_approval', 'approvalId', (v) => v, (approvalId) => ({ type: 'approval_resolution', approvalId })],
    ['deferred', 'operationId', (v) => v, (operationId) => ({ type: 'external_result', operationId })],
    ['deferred', 'agent', (replyWith) => ({ replyWith }), (replyWith) => ({ type: 'agent_reply', replyWith })],
    [
      'deferred',
      'wakeAt',
      (v) => `2026-12-0${v === 'here' ? 2 : 3}T00:00:00Z`,
      (v) => ({
        type: 'scheduled_wake',
        wakeUpId: 'wake_minted',
        wakeAt: `2026-12-0${v === 'here' ? 2 : 3}T00:00:00.000Z`,
      }),
    ],
    ['deferred', 'scheduledWake', () => true, () => ({ type: 'scheduled_wake', wakeUpId: 'wake_minted' })],
  ];
  for (const [outcome, key, given, wait] of keys) {
    for (const [place, name] of PLACES.entries()) {
      test(`${key} in ${name}`, () => {
        const values: Json[] = PLACES.map((_, n) =>
          n < place ? { other: 1 } : n === place ? { [key]: given('here') } : { [key]: given('later') },
        );
        expect(waitOf(outcome, ...values)).toEqual(wait('here'));
      });
    }
    for (const [what, nothing] of [
      ['an empty string', ''],
      ['null', null],
    ] as const) {
      test(`${key}: ${what} counts as missing, so the next place is looked at`, () => {
        expect(waitOf(outcome, { [key]: nothing }, undefined, { [key]: given('here') })).toEqual(wait('here'));
      });
    }
  }
});

describe('a clarification', () => {
  test('waits for any reply when nothing correlates it', () => {
    expect(waitOf('needs_clarification', { question: 'which?' }, {}, undefined)).toEqual({ type: 'user_reply' });
    expect(waitOf('needs_clarification')).toEqual({ type: 'user_reply' });
    expect(waitOf('needs_clarification', { correlationKey: '' })).toEqual({ type: 'user_reply' });
  });

  test('with a correlation key that is no text is refused: it does not become a wait for any reply', () => {
    expect(refusalOf('needs_clarification', { correlationKey: 42 })).toMatchObject({
      code: 'invalid_input',
      path: 'state.correlationKey',
    });
  });

  test('is not turned into another wait by what else the state holds', () => {
    expect(
      waitOf('needs_clarification', { approvalId: 'a', operationId: 'o', wakeAt: '2026-12-02T00:00:00Z' }),
    ).toEqual({ type: 'user_reply' });
  });
});

describe('an approval', () => {
  test('takes state.approvalId, else the id of the request in the state, else metadata', () => {
    const request = { id: 'call_1', name: 'refund' };
    expect(waitOf('awaiting_approval', { approvalId: 'a', request }, { approvalId: 'b' })).toMatchObject({
      approvalId: 'a',
    });
    expect(waitOf('awaiting_approval', { request }, { approvalId: 'b' })).toMatchObject({ approvalId: 'call_1' });
    expect(waitOf('awaiting_approval', { approvalId: '', request }, { approvalId: 'b' })).toMatchObject({
      approvalId: 'call_1',
    });
    expect(waitOf('awaiting_approval', { request: { id: '' } }, { approvalId: 'b' })).toMatchObject({
      approvalId: 'b',
    });
  });

  test('does not take the id of a request that only metadata names', () => {
    expect(refusalOf('awaiting_approval', {}, { request: { id: 'call_1' } }).code).toBe('invalid_input');
  });

  test.for<[string, Json | undefined]>([
    ['nothing', undefined],
    ['an empty id', { approvalId: '' }],
    ['an empty id and an empty request', { approvalId: '', request: { id: '' } }],
    ['an id that is no text', { approvalId: 7 }],
    ['a list', ['approvalId']],
    ['text', 'approvalId'],
    ['what another wait needs', { operationId: 'o', correlationKey: 'k' }],
  ])('with %s is refused, with the path; it does not become a wait for any reply', ([, state]) => {
    expect(refusalOf('awaiting_approval', state)).toMatchObject({ code: 'invalid_input', path: 'state.approvalId' });
  });
});

describe('a deferred turn', () => {
  const wakeAt = '2026-12-02T09:30:00.000Z';

  test('waits for an agent before anything else', () => {
    const state = { agent: { replyWith: 'rw_1', responder: 'billing' }, wakeAt, scheduledWake: true, operationId: 'o' };
    expect(waitOf('deferred', state)).toEqual({ type: 'agent_reply', replyWith: 'rw_1', responder: 'billing' });
  });

  test('leaves out a responder that is empty or no text', () => {
    for (const responder of ['', 7, null]) {
      expect(waitOf('deferred', { agent: { replyWith: 'rw_1', responder } })).toEqual({
        type: 'agent_reply',
        replyWith: 'rw_1',
      });
    }
  });

  test.for<[string, Json[]]>([
    ['in one place', [{ wakeAt, operationId: 'o' }]],
    ['in two places', [{ wakeAt }, { operationId: 'o' }]],
    ['as a flag', [{ operationId: 'o' }, {}, { scheduledWake: true }]],
  ])('that names a wake and an operation %s is refused: nobody could say which ends it', ([, values]) => {
    expect(refusalOf('deferred', ...values)).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('not for both'),
    });
  });

  test.for<[string, Json | undefined]>([
    ['nothing', undefined],
    ['an empty operation', { operationId: '' }],
    ['a wake that is switched off', { scheduledWake: false }],
    ['an agent without an address', { agent: {} }],
    ['an agent with an empty address', { agent: { replyWith: '' } }],
    ['a list', []],
  ])('with %s to wait for is refused', ([, state]) => {
    expect(refusalOf('deferred', state)).toMatchObject({ code: 'invalid_input', path: 'state.operationId' });
  });

  test('wakes under the minted id; a time is kept in UTC with milliseconds', () => {
    expect(waitOf('deferred', { wakeAt: '2026-12-02T10:30:00+01:00' })).toEqual({
      type: 'scheduled_wake',
      wakeUpId: 'wake_minted',
      wakeAt,
    });
    expect(waitOf('deferred', { scheduledWake: true })).toEqual({ type: 'scheduled_wake', wakeUpId: 'wake_minted' });
    expect(waitOf('deferred', { scheduledWake: true, wakeAt })).toMatchObject({ wakeAt });
  });

  test('may wake in the past: it wakes at once', () => {
    expect(waitOf('deferred', { wakeAt: '1999-01-01T00:00:00Z' })).toMatchObject({
      wakeAt: '1999-01-01T00:00:00.000Z',
    });
  });

  test.for<Json>([
    'soon',
    'tomorrow 9:30',
    1_764_667_800_000,
    {},
    true,
    '2026-12-02',
    '2026-12-02T09:30:00',
    '2026-02-30T09:30:00Z',
    '2026-12-02T25:00:00Z',
    'Wed, 02 Dec 2026 09:30:00 GMT',
    '1',
    '+275760-09-13T00:00:00.000Z',
    '9999-12-31T23:59:59-01:00',
  ])('refuses the wake time %j, which is no ISO 8601 time or not the same instant everywhere', (wakeAt) => {
    expect(refusalOf('deferred', { wakeAt })).toMatchObject({ code: 'invalid_input', path: 'state.wakeAt' });
  });
});

test.for<[ResumableOutcome, string, (id: string) => Json]>([
  ['needs_clarification', 'correlationKey', (correlationKey) => ({ correlationKey })],
  ['awaiting_approval', 'approvalId', (approvalId) => ({ approvalId })],
  ['awaiting_approval', 'approvalId', (id) => ({ request: { id } })],
  ['deferred', 'operationId', (operationId) => ({ operationId })],
  ['deferred', 'replyWith', (replyWith) => ({ agent: { replyWith } })],
  ['deferred', 'responder', (responder) => ({ agent: { replyWith: 'rw_1', responder } })],
])('%s: a %s that cannot be stored as an id is refused, with the path', ([outcome, key, state]) => {
  expect(derive(outcome, state('x'.repeat(128))).ok).toBe(true);
  for (const id of ['x'.repeat(129), 'a\u0000b', '\ud800']) {
    expect(refusalOf(outcome, state(id))).toMatchObject({ code: 'invalid_input', path: `state.${key}` });
  }
});
