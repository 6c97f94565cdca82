/** Each type of wait: the right answer resumes the turn once, a wrong one costs nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ResumeContinuationInput, Trigger, WaitType } from '../../src/index.ts';
import { agentReply, approve, deny, reply, result, wake } from '../support/builders.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  PAUSES,
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

const ANSWERS: Record<Exclude<WaitType, 'scheduled_wake'>, Trigger> = {
  user_reply: reply(),
  approval_resolution: approve(),
  external_result: result(),
  agent_reply: agentReply(),
};

/** The one right answer of a fresh pause; a wake's id is minted at the pause. */
async function waiting(type: WaitType): Promise<{ id: string; right: Trigger }> {
  const { id, waitFor } = await created(stack.client, pause(type));
  return { id, right: waitFor.type === 'scheduled_wake' ? wake(waitFor.wakeUpId) : ANSWERS[waitFor.type] };
}

const TYPES = Object.keys(PAUSES) as WaitType[];

describe.concurrent('each type of wait', () => {
  test.for(TYPES)(
    '%s: the right answer resumes the turn once with its state, and the follow-up is delivered',
    async (type) => {
      const { id, right } = await waiting(type);
      const answered = taken(await stack.client.resume({ continuationId: id, trigger: right }, { until: 'finished' }));
      expect(answered).toMatchObject({
        outcome: 'accepted',
        answer: { type, subject: 'anonymous', channel: 'api' },
        harnessResult: DONE,
        delivery: { status: 'delivered' },
      });
      const { record, kinds } = await agreedEnd(stack, id);
      expect(record).toMatchObject({
        status: 'completed',
        terminalReason: 'completed',
        waitFor: { type },
        bounds: { resumeAttempts: 1 },
        lineage: [record.origin.turnId, `${id}:resume:1`],
      });
      expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
      const turns = actors.turns(id);
      expect(turns).toHaveLength(1);
      expect(turns[0]).toMatchObject({ trigger: right, resumedTurnId: `${id}:resume:1`, attempt: 1 });
      expect(turns[0]?.continuation.continuation.state).toEqual(PAUSES[type].continuation.state);
      const deliveries = actors.deliveries(id);
      expect(deliveries).toHaveLength(1);
      expect(deliveries[0]).toMatchObject({ harnessResult: DONE, deliveryId: `${id}:resume:1` });
    },
  );

  test.for(TYPES)('%s: every other type of answer is refused and nothing is consumed', async (type) => {
    const { id, right } = await waiting(type);
    const before = await stack.client.get({ continuationId: id });
    await stack.waits(id);
    const length = await stack.historyLength(id);
    for (const wrong of [...Object.values(ANSWERS), wake()].filter((trigger) => trigger.type !== type)) {
      expect(refusalOf(await stack.client.resume({ continuationId: id, trigger: wrong }))).toMatchObject({
        code: 'wrong_trigger',
        message: `this continuation waits for ${type}, not ${wrong.type}`,
        status: 'pending',
      });
    }
    expect(await stack.historyLength(id)).toBe(length);
    expect(await stack.client.get({ continuationId: id })).toEqual(before);
    expect(actors.turns(id)).toHaveLength(0);
    await stack.client.resume({ continuationId: id, trigger: right }, { until: 'finished' });
    expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
  });

  const others: Array<[WaitType, Trigger, string]> = [
    ['approval_resolution', approve('appr_2'), 'approvalId must be appr_1, not appr_2'],
    ['external_result', result('op_2'), 'operationId must be op_1, not op_2'],
    ['agent_reply', agentReply('rw_2'), 'replyWith must be rw_1, not rw_2'],
    ['scheduled_wake', wake('wake_2'), 'wakeUpId must be'],
  ];
  test.for(others)(
    '%s: an answer that belongs to something else is refused and nothing is consumed',
    async ([type, wrong, message]) => {
      const { id, right } = await waiting(type);
      await stack.waits(id);
      const length = await stack.historyLength(id);
      const refusal = refusalOf(await stack.client.resume({ continuationId: id, trigger: wrong }));
      expect(refusal).toMatchObject({ code: 'wrong_correlation', message: expect.stringContaining(message) });
      expect(await stack.historyLength(id)).toBe(length);
      await stack.client.resume({ continuationId: id, trigger: right }, { until: 'finished' });
      expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
    },
  );

  test('a reply with a correlation key needs that key', async () => {
    const { id } = await created(
      stack.client,
      pause('user_reply', {
        harnessResult: { outcome: 'needs_clarification', continuation: { state: { correlationKey: 'thread-7' } } },
      }),
    );
    const answer = (correlationKey?: string): ResumeContinuationInput => ({
      continuationId: id,
      trigger: { type: 'user_reply', message: { text: 'blue' }, ...(correlationKey && { correlationKey }) },
    });
    expect(refusalOf(await stack.client.resume(answer())).code).toBe('wrong_correlation');
    expect(refusalOf(await stack.client.resume(answer('thread-8'))).code).toBe('wrong_correlation');
    expect(taken(await stack.client.resume(answer('thread-7'))).outcome).toBe('accepted');
    await agreedEnd(stack, id);
  });
});

describe.concurrent('what an answer is checked against', () => {
  test('an answer to a changed question is refused by its digest, with the shown digest it is taken', async () => {
    const record = await created(stack.client, pause('approval_resolution'));
    const answer = { continuationId: record.id, suspensionId: record.suspension.id, trigger: approve() };
    const other = `sha256:${'0'.repeat(64)}` as const;
    expect(refusalOf(await stack.client.resume({ ...answer, suspensionDigest: other })).code).toBe('digest_mismatch');
    const right = await stack.client.resume({ ...answer, suspensionDigest: record.suspension.digest });
    expect(taken(right).outcome).toBe('accepted');
    await agreedEnd(stack, record.id);
  });

  test('a suspension that never was is refused as stale, without a winner', async () => {
    const { id } = await created(stack.client);
    const refusal = refusalOf(
      await stack.client.resume({ continuationId: id, suspensionId: 'sus_0', trigger: reply() }),
    );
    expect(refusal).toMatchObject({ code: 'stale_suspension' });
    expect(refusal).not.toHaveProperty('winner');
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });

  test('a malformed answer is refused with the place of the fault', async () => {
    const { id } = await created(stack.client);
    const bad: Array<[unknown, string]> = [
      [{ type: 'user_reply' }, 'trigger.message'],
      [{ type: 'user_reply', message: { text: 7 } }, 'trigger.message.text'],
      [{ type: 'user_reply', message: { text: 'a\u0000b' } }, 'trigger.message.text'],
      [{ type: 'user_reply', message: { text: '\ud800' } }, 'trigger.message.text'],
      [{ type: 'user_reply', message: { text: 'x' }, sender: 'me' }, 'trigger'],
      [{ type: 'no_answer', firedAt: '2026-12-01T12:00:00.000Z' }, 'trigger.type'],
      [undefined, 'trigger'],
    ];
    for (const [trigger, path] of bad) {
      const refusal = refusalOf(await stack.client.resume({ continuationId: id, trigger } as never));
      expect(refusal).toMatchObject({ code: 'invalid_input', path });
    }
    expect((await stack.client.get({ continuationId: id }))?.bounds.resumeAttempts).toBe(0);
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });
});

describe.concurrent('approvals', () => {
  test('a denial ends the continuation without calling the harness and without using an attempt', async () => {
    const { id } = await created(stack.client, pause('approval_resolution'));
    const answered = taken(
      await stack.client.as({ subject: 'ann', verified: true, channel: 'http' }).resume(
        {
          continuationId: id,
          trigger: { type: 'approval_resolution', approvalId: 'appr_1', decision: 'denied', reason: 'too much' },
        },
        { until: 'finished' },
      ),
    );
    expect(answered).toMatchObject({ answer: { decision: 'denied', subject: 'ann', verified: true, channel: 'http' } });
    expect(answered).not.toHaveProperty('harnessResult');
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'cancelled',
      terminalReason: 'approval_denied',
      bounds: { resumeAttempts: 0 },
      delivery: { status: 'not_applicable' },
      answers: [{ decision: 'denied', subject: 'ann' }],
    });
    expect(kinds).toEqual(['created', 'admitted', 'stopped']);
    expect(actors.turns(id)).toHaveLength(0);
    expect(actors.deliveries(id)).toHaveLength(0);
    expect(await stack.handle(id).result()).toMatchObject({
      status: 'cancelled',
      decision: 'denied',
      answeredBy: 'ann',
    });
  });

  test('with onDenied tell_model a denial resumes the turn, which sees the decision and the reviewer’s words', async () => {
    const { id } = await created(stack.client, pause('approval_resolution', { bounds: { onDenied: 'tell_model' } }));
    const trigger = { ...deny(), reason: 'ask finance first' } as Trigger;
    await stack.client.resume({ continuationId: id, trigger }, { until: 'finished' });
    expect(actors.turns(id)[0]?.trigger).toMatchObject({ decision: 'denied', reason: 'ask finance first' });
    expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
  });

  test('free text to an approval is refused and infers no approval', async () => {
    const { id } = await created(stack.client, pause('approval_resolution'));
    expect(refusalOf(await stack.client.resume({ continuationId: id, trigger: reply('yes') })).code).toBe(
      'wrong_trigger',
    );
    expect((await stack.client.get({ continuationId: id }))?.status).toBe('pending');
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });
});

describe.concurrent('what the harness is given', () => {
  test('a sender that leaves out ids and times gets those of its envelope', async () => {
    const { id } = await created(stack.client);
    const answered = taken(await stack.client.resume({ continuationId: id, messageId: 'm_7', trigger: reply('blue') }));
    if (answered.outcome !== 'accepted') throw new Error('was stored');
    const { receivedAt } = answered.answer;
    await becomes(stack.client, id);
    expect(actors.turns(id)[0]?.trigger).toEqual({
      type: 'user_reply',
      receivedAt,
      message: { id: 'm_7', receivedAt, text: 'blue' },
    });
  });

  test('state that is text or bytes comes back exactly as it was given', async () => {
    const bytes = Uint8Array.from([0, 255, 195, 40]);
    const text = '{"a":1.10,"a":2}\n';
    const resumable = (state: unknown) =>
      pause('user_reply', { harnessResult: { outcome: 'needs_clarification', continuation: { state } } });
    for (const state of [
      { text, mediaType: 'text/plain' },
      { bytes, mediaType: 'application/octet-stream' },
    ]) {
      const { id } = await created(stack.client, resumable(state));
      await stack.client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
      const given = actors.turns(id)[0]?.continuation.continuation.state as typeof state;
      if ('bytes' in state) expect(given).toEqual({ ...state, bytes: Buffer.from(bytes) });
      else expect(given).toEqual(state);
      expect((await stack.client.get({ continuationId: id, include: ['state'] }))?.state).toEqual(given);
    }
  });
});
