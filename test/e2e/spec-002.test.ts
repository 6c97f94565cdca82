/** What the continuation specification (source 002) asks for, on real servers: re-pends, failures, deliveries, trace, a consumer. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type ContinuationRecord,
  type ContinuationWorkerOptions,
  type CreateContinuationInput,
  type DeliveryResult,
  type HarnessResultInput,
  OutcomeUnknown,
  type ResumedTurn,
  TransientError,
  type Trigger,
} from '../../src/index.ts';
import { recordingTrace } from '../../src/testing.ts';
import { approve, deny, HOUR, later, MINUTE, reply, result } from '../support/builders.ts';
import {
  type Actors,
  agreedEnd,
  becomes,
  createActors,
  created,
  DONE,
  gate,
  PAUSES,
  pause,
  refusalOf,
  type Script,
  type Stack,
  startStack,
  taken,
  untilAborted,
} from '../support/stack.ts';
import { eventually, inMs } from '../support/time.ts';

let stack: Stack;
let actors: Actors;
const announced: ContinuationRecord[] = [];
const workerTrace = recordingTrace();
beforeAll(async () => {
  stack = await startStack();
  actors = createActors();
  await stack.startWorker({
    harness: actors.harness,
    delivery: {
      ...actors.delivery,
      async announce(record) {
        announced.push(record);
      },
    },
    trace: workerTrace,
  });
});
afterAll(() => stack?.close());

/** Plays one script for each turn, in order; the turns after them complete. */
function playsInOrder(id: string, ...scripts: Array<HarnessResultInput | Script>): void {
  actors.plays(id, (turn) => {
    const script = scripts[turn.continuation.bounds.resumeAttempts - 1];
    return typeof script === 'function' ? script(turn) : (script ?? DONE);
  });
}

const answer = (id: string, trigger: Trigger = reply(), suspensionId?: string) =>
  stack.client.resume({ continuationId: id, trigger, ...(suspensionId && { suspensionId }) }, { until: 'finished' });

describe.concurrent('a resumed turn that asks again', () => {
  test('opens a fresh pause of the same continuation, which only an answer to it can end', async () => {
    const ttl = { approval_resolution: 7 * MINUTE };
    const first = await created(stack.client, pause('user_reply', { bounds: { ttl } }));
    const { id } = first;
    playsInOrder(id, PAUSES.approval_resolution);
    const settled = taken(await answer(id));
    expect(settled).toMatchObject({
      record: { id, status: 'pending' },
      harnessResult: { outcome: 'awaiting_approval' },
    });
    const second = await becomes(stack.client, id, (record) => record.status === 'pending');
    expect(second).toMatchObject({
      waitFor: { type: 'approval_resolution', approvalId: 'appr_1' },
      origin: { turnId: `${id}:resume:1`, outcome: 'awaiting_approval' },
      lineage: [first.origin.turnId, `${id}:resume:1`],
      bounds: { resumeAttempts: 1, maxResumeAttempts: 3, ttl },
      suspension: { question: 'Refund order 42?' },
      delivery: { status: 'pending_delivery' },
    });
    expect(second.suspension.id).not.toBe(first.suspension.id);
    expect(second.bounds.expiresAt).toBe(later(7 * MINUTE, second.suspension.createdAt));
    expect(actors.deliveries(id)).toHaveLength(0);

    // Until the workflow has heard that the question is visible, its history grows by itself.
    await eventually(async () => {
      const { events = [] } = await stack.handle(id).fetchHistory();
      expect(events?.filter((event) => event.activityTaskCompletedEventAttributes)).toHaveLength(2);
      expect(events?.at(-1)?.workflowTaskCompletedEventAttributes).toBeTruthy();
    });
    const length = await stack.historyLength(id);
    expect(refusalOf(await answer(id, approve())).code).toBe('suspension_required');
    const stale = refusalOf(await answer(id, reply('red'), first.suspension.id));
    expect(stale).toMatchObject({
      code: 'stale_suspension',
      winner: { suspensionId: first.suspension.id, type: 'user_reply', subject: 'anonymous', channel: 'api' },
    });
    expect(refusalOf(await answer(id, reply('yes'), second.suspension.id)).code).toBe('wrong_trigger');
    expect(await stack.historyLength(id)).toBe(length);
    taken(await answer(id, approve(), second.suspension.id));
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'completed',
      bounds: { resumeAttempts: 2 },
      answers: [{ type: 'user_reply' }, { type: 'approval_resolution', decision: 'approved' }],
    });
    expect(kinds).toEqual([
      'created',
      'admitted',
      'started',
      'settled',
      'opened',
      'admitted',
      'started',
      'settled',
      'delivered',
    ]);
    const [one, two] = actors.turns(id);
    expect([one?.resumedTurnId, two?.resumedTurnId]).toEqual([`${id}:resume:1`, `${id}:resume:2`]);
    expect(two?.continuation.continuation.state).toEqual(PAUSES.approval_resolution.continuation.state);
    const late = refusalOf(await answer(id, reply('red'), first.suspension.id));
    expect(late).toMatchObject({
      code: 'already_terminal',
      winner: { suspensionId: first.suspension.id, type: 'user_reply' },
    });
  });

  test('takes an answer from the moment the question is visible, ten times five', async () => {
    const bot = async () => {
      const { id } = await created(stack.client, pause('user_reply', { bounds: { maxResumeAttempts: 6 } }));
      playsInOrder(id, ...Array.from({ length: 5 }, () => PAUSES.user_reply));
      const outcomes: string[] = [];
      for await (const record of stack.client.watch({ continuationId: id, signal: AbortSignal.timeout(50_000) })) {
        if (record.status !== 'pending') continue;
        const { id: suspensionId } = record.suspension;
        const given = await stack.client.resume({ continuationId: id, suspensionId, trigger: reply(suspensionId) });
        outcomes.push(given.ok ? given.outcome : given.refusal.code);
      }
      expect(outcomes).toEqual(Array.from({ length: 6 }, () => 'accepted'));
      const { record } = await agreedEnd(stack, id);
      expect(record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 6 } });
      const said = actors.turns(id).map(({ trigger }) => trigger.type === 'user_reply' && trigger.message.text);
      expect(said).toEqual(record.answers.map((one) => one.suspensionId));
    };
    for (let round = 0; round < 2; round++) await Promise.all(Array.from({ length: 5 }, bot));
  });

  test('is finished for the first answer though somebody answers the new question at once', async () => {
    const { id } = await created(stack.client);
    const second = gate();
    playsInOrder(id, PAUSES.user_reply, async () => {
      await second.opened;
      return DONE;
    });
    const first = answer(id);
    const again = await becomes(
      stack.client,
      id,
      (record) => record.status === 'pending' && record.answers.length === 1,
    );
    const { id: suspensionId } = again.suspension;
    await stack.client.resume({ continuationId: id, suspensionId, trigger: reply('again') });
    expect(taken(await first)).toMatchObject({ harnessResult: { outcome: 'needs_clarification' } });
    second.open();
    await agreedEnd(stack, id);
  });

  test('with no attempt left fails at once, and nobody is asked', async () => {
    const { id } = await created(stack.client, pause('user_reply', { bounds: { maxResumeAttempts: 2 } }));
    playsInOrder(id, PAUSES.user_reply, PAUSES.user_reply);
    const first = taken(await answer(id));
    if (first.outcome !== 'accepted') throw new Error('was stored');
    await answer(id, reply('two'), first.record.suspension.id);
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'failed',
      terminalReason: 'max_resume_attempts_reached',
      resume: { error: { code: 'attempts_exhausted' } },
      delivery: { status: 'not_applicable' },
    });
    expect(kinds.filter((kind) => kind === 'opened')).toHaveLength(1);
    expect(actors.turns(id)).toHaveLength(2);
  });

  test('but names nothing to wait for fails; the wait never becomes weaker, whatever the answer’s metadata says', async () => {
    const results: HarnessResultInput[] = [
      { outcome: 'awaiting_approval', continuation: { state: {} } },
      { outcome: 'deferred', continuation: { state: {} } },
      { outcome: 'deferred', continuation: { state: { operationId: 'op_1', wakeAt: inMs(HOUR) } } },
    ];
    for (const weak of results) {
      const { id } = await created(
        stack.client,
        pause('approval_resolution', { metadata: { approvalId: 'appr_9', operationId: 'op_9' } }),
      );
      playsInOrder(id, weak);
      const metadata = { approvalId: 'appr_9', operationId: 'op_9' };
      await stack.client.resume({ continuationId: id, trigger: approve(), metadata }, { until: 'finished' });
      const { record } = await agreedEnd(stack, id);
      expect(record).toMatchObject({
        status: 'failed',
        terminalReason: 'resume_runtime_error',
        resume: { error: { code: 'invalid_input' } },
        waitFor: { type: 'approval_resolution' },
      });
    }
  });

  test('for a later moment is woken by its timer', async () => {
    const { id } = await created(stack.client);
    const wakeAt = inMs(1500);
    playsInOrder(id, { outcome: 'deferred', continuation: { state: { wakeAt } } });
    await answer(id);
    const { record } = await agreedEnd(stack, id);
    expect(record.answers.map((one) => one.type)).toEqual(['user_reply', 'scheduled_wake']);
    expect(actors.turns(id)[1]?.trigger).toMatchObject({ type: 'scheduled_wake', firedAt: wakeAt });
  });

  test('is announced once, when it can be answered; the first question only where that was asked for', async () => {
    for (const first of [false, true]) {
      const client = stack.newClient({ announce: first });
      const { id } = await created(client);
      playsInOrder(id, PAUSES.approval_resolution);
      // An ask that is answered before it was announced is not announced any more.
      if (first) await eventually(() => expect(announced.map((record) => record.id)).toContain(id));
      const settled = taken(await client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' }));
      if (settled.outcome !== 'accepted') throw new Error('was stored');
      const suspensionId = settled.record.suspension.id;
      taken(await answer(id, approve(), suspensionId));
      await agreedEnd(stack, id);
      const types = announced.filter((record) => record.id === id).map((record) => record.waitFor.type);
      expect(types.filter((type) => type === 'user_reply')).toHaveLength(first ? 1 : 0);
      expect(types.filter((type) => type === 'approval_resolution').length).toBeLessThanOrEqual(1);
    }
    const { id } = await created(stack.client);
    playsInOrder(id, PAUSES.approval_resolution);
    await answer(id);
    await eventually(() =>
      expect(announced.filter((record) => record.id === id)).toMatchObject([
        { waitFor: { type: 'approval_resolution' } },
      ]),
    );
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });

  test('meets a stop that came while it ran with its end', async () => {
    const { id } = await created(stack.client);
    const running = gate();
    playsInOrder(id, async () => {
      await running.opened;
      return PAUSES.user_reply;
    });
    await stack.client.resume({ continuationId: id, trigger: reply() });
    await actors.running(id);
    const stopping = stack.client.stop({ continuationId: id, reason: 'cancelled_by_product' });
    running.open();
    expect(taken(await stopping)).toMatchObject({ record: { status: 'cancelled' } });
    expect((await agreedEnd(stack, id)).record.terminalReason).toBe('cancelled_by_product');
  });
});

describe.concurrent('a harness that fails', () => {
  test('for a passing reason runs again with the same answer, and nobody is asked again', async () => {
    const { id } = await created(stack.client, pause('external_result'));
    actors.plays(id, ({ attempt }) => {
      if (attempt === 1) throw new TransientError('503 from the model');
      return DONE;
    });
    await stack.client.resume({ continuationId: id, trigger: result() });
    const between = await becomes(stack.client, id, (record) => record.resume?.error !== undefined);
    expect(between).toMatchObject({ status: 'resuming', resume: { attempt: 1, error: { code: 'transient' } } });
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 }, resume: { attempt: 2 } });
    expect(record.resume).not.toHaveProperty('error');
    expect(kinds).toEqual(['created', 'admitted', 'started', 'attempt_ended', 'started', 'settled', 'delivered']);
    const [first, second] = actors.turns(id);
    expect(second).toMatchObject({ attempt: 2, resumedTurnId: first?.resumedTurnId, trigger: first?.trigger });
  });

  test('for a passing reason too long fails, with the cause', async () => {
    const { id } = await created(stack.client, pause('user_reply', { bounds: { resumeBudgetMs: 500 } }));
    actors.plays(id, () => {
      throw new TransientError('503 from the model');
    });
    await answer(id);
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      resume: { error: { code: 'transient', message: '503 from the model' } },
      delivery: { status: 'not_applicable' },
    });
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('for a passing reason too long asks an operator, where its creator wants that; a stop ends it', async () => {
    const { id } = await created(
      stack.client,
      pause('user_reply', { bounds: { resumeBudgetMs: 500, onExhausted: 'hold' } }),
    );
    actors.plays(id, () => {
      throw new TransientError('503 from the model');
    });
    expect(taken(await answer(id))).toMatchObject({
      record: { status: 'resuming', resume: { uncertain: { cause: 'exhausted', message: '503 from the model' } } },
    });
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_product' });
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'cancelled', answers: [{ type: 'user_reply' }] });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'uncertain', 'stopped']);
  });

  const permanent: Array<[string, Script, { code: string; message: unknown }]> = [
    [
      'with any other error',
      () => {
        throw Object.assign(new Error('no such tool\u0000'), { code: 'tool_unavailable' });
      },
      { code: 'tool_unavailable', message: expect.stringContaining('no such tool') },
    ],
    [
      'with something that is no error',
      () => {
        throw 'a text';
      },
      { code: 'error', message: 'a text' },
    ],
    [
      'with a result that is none',
      () => ({ outcome: 'finished' }) as never,
      { code: 'invalid_input', message: expect.stringContaining('outcome') },
    ],
    [
      'with a result that cannot be stored',
      () => ({ ...DONE, assistantMessage: { text: 'a\u0000b' } }),
      { code: 'invalid_input', message: expect.stringContaining('assistantMessage.text') },
    ],
  ];
  test.for(permanent)(
    '%s fails the continuation with the cause, and is not called again',
    async ([, script, error]) => {
      const { id } = await created(stack.client);
      actors.plays(id, script);
      const answered = taken(await answer(id));
      expect(answered).toMatchObject({ record: { status: 'failed', resume: { error } } });
      const { record, kinds } = await agreedEnd(stack, id);
      expect(record).toMatchObject({ terminalReason: 'resume_runtime_error', delivery: { status: 'not_applicable' } });
      expect(kinds).toEqual(['created', 'admitted', 'started', 'settled']);
      expect(actors.turns(id)).toHaveLength(1);
      expect(actors.deliveries(id)).toHaveLength(0);
    },
  );

  test('without knowing what it did stops and shows that, is never run again, and takes no other answer', async () => {
    const { id, suspension } = await created(stack.client);
    actors.plays(id, () => {
      throw new OutcomeUnknown('the payment gateway did not answer');
    });
    expect(taken(await answer(id))).toMatchObject({
      outcome: 'accepted',
      record: {
        status: 'resuming',
        resume: { uncertain: { cause: 'unknown', message: 'the payment gateway did not answer' } },
        delivery: { status: 'pending_delivery' },
      },
    });
    expect(await stack.client.get({ continuationId: id })).toMatchObject({
      resume: { uncertain: { cause: 'unknown' } },
    });
    expect((await stack.store.censusAcrossScopes()).uncertain).toBeGreaterThan(0);
    await eventually(async () => {
      const { typedSearchAttributes } = await stack.handle(id).describe();
      const values = typedSearchAttributes.getAll().map(({ value }) => value);
      expect(values).toContain('uncertain');
    });
    const late = refusalOf(await answer(id, reply('red'), suspension.id));
    expect(late).toMatchObject({ code: 'already_resumed', winner: { type: 'user_reply' } });
    expect(actors.turns(id)).toHaveLength(1);
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_product' });
    expect((await agreedEnd(stack, id)).kinds).toEqual(['created', 'admitted', 'started', 'uncertain', 'stopped']);
  });

  test('to end in time is told to, and fails when it does', async () => {
    const { id } = await created(stack.client, pause('user_reply', { bounds: { turnTimeoutMs: 300 } }));
    actors.plays(id, untilAborted);
    await answer(id);
    expect((await agreedEnd(stack, id)).record).toMatchObject({
      status: 'failed',
      resume: { error: { code: 'turn_timeout', message: 'The turn took longer than 300 ms.' } },
    });
  });

  test('to end in time and does not listen has an unknown outcome', async () => {
    const { id } = await created(stack.client, pause('user_reply', { bounds: { turnTimeoutMs: 300 } }));
    const late = gate();
    actors.plays(id, async () => {
      await late.opened;
      return DONE;
    });
    expect(taken(await answer(id))).toMatchObject({ record: { resume: { uncertain: { cause: 'unknown' } } } });
    late.open();
    await stack.client.stop({ continuationId: id, reason: 'cancelled_by_product' });
    expect((await agreedEnd(stack, id)).record.status).toBe('cancelled');
  });

  test('honestly, as a failed result, has a follow-up like a completed one', async () => {
    const { id } = await created(stack.client);
    actors.plays(id, () => ({
      outcome: 'failed',
      stopReason: 'model_refused',
      assistantMessage: { text: 'I cannot.' },
    }));
    await answer(id);
    expect((await agreedEnd(stack, id)).record).toMatchObject({
      status: 'failed',
      terminalReason: 'resume_runtime_error',
      delivery: { status: 'delivered' },
    });
    expect(actors.deliveries(id)).toMatchObject([
      { harnessResult: { outcome: 'failed', assistantMessage: { text: 'I cannot.' } } },
    ]);
  });
});

describe.concurrent('a follow-up', () => {
  test('goes to its target with the result, and is told as delivered before the end is reported', async () => {
    const target = { surfaceIds: ['chat_1'], fanoutMode: 'originating_surface' as const };
    const { id } = await created(stack.client, pause('user_reply', { delivery: target }));
    const deliveredAt = '2026-12-01T12:00:00.000Z';
    actors.delivers(id, () => ({ status: 'delivered', deliveredAt, metadata: { ts: '1.2' } }));
    const answered = taken(await answer(id));
    expect(answered).toMatchObject({ delivery: { status: 'delivered', deliveredAt, target, metadata: { ts: '1.2' } } });
    expect(actors.deliveries(id)).toMatchObject([
      { continuation: { delivery: { target } }, deliveryId: `${id}:resume:1` },
    ]);
    await agreedEnd(stack, id);
  });

  const told: DeliveryResult['status'][] = [
    'suppressed_session_reengaged',
    'suppressed_superseded',
    'suppressed_expired',
    'delivery_failed',
  ];
  test.for(told)('that its adapter reports as %s is recorded so, and the turn keeps its status', async (status) => {
    const { id } = await created(stack.client);
    actors.delivers(id, () => ({ status }));
    await answer(id);
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', terminalReason: 'completed', delivery: { status } });
    expect(record.delivery).not.toHaveProperty('deliveredAt');
    expect(kinds.at(-1)).toBe('delivered');
    expect(actors.deliveries(id)).toHaveLength(1);
  });

  test('that throws is tried again after a while, as the same delivery', async () => {
    const { id } = await created(stack.client);
    const tried: number[] = [];
    actors.delivers(id, () => {
      tried.push(performance.now());
      if (actors.deliveries(id).length === 1) throw new Error('502');
      return { status: 'delivered' };
    });
    await answer(id);
    expect((await agreedEnd(stack, id)).record).toMatchObject({
      status: 'completed',
      delivery: { status: 'delivered' },
    });
    expect(actors.deliveries(id).map((one) => one.deliveryId)).toEqual([`${id}:resume:1`, `${id}:resume:1`]);
    const [first = 0, second = 0] = tried;
    expect(second - first).toBeGreaterThan(900);
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('that throws too long has failed; the turn keeps its status', async () => {
    const { id } = await created(stack.client, pause('user_reply', { bounds: { deliveryBudgetMs: 500 } }));
    actors.delivers(id, () => {
      throw new Error('channel_not_found');
    });
    await answer(id);
    const { record } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'completed',
      delivery: { status: 'delivery_failed', error: 'channel_not_found', lastDeliveryAttemptAt: expect.any(String) },
    });
    expect(record.delivery).not.toHaveProperty('uncertain');
  });

  test('whose arrival is unknown, or whose adapter answers nonsense, has failed and is marked uncertain; it is not sent twice', async () => {
    for (const script of [
      () => {
        throw new OutcomeUnknown('the mail server hung up');
      },
      () => ({ status: 'sent' }) as never,
    ]) {
      const { id } = await created(stack.client);
      actors.delivers(id, script);
      await answer(id);
      expect((await agreedEnd(stack, id)).record).toMatchObject({
        status: 'completed',
        delivery: { status: 'delivery_failed', uncertain: true },
      });
      expect(actors.deliveries(id)).toHaveLength(1);
    }
  });

  test('is not applicable where there is none to deliver, or nobody who could', async () => {
    const off = await created(stack.client, pause('user_reply', { delivery: false }));
    expect(off.delivery).toEqual({ status: 'not_applicable' });
    await answer(off.id);
    const { record, kinds } = await agreedEnd(stack, off.id);
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'not_applicable' } });
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled']);
    expect(actors.deliveries(off.id)).toHaveLength(0);

    const taskQueue = `mute-${randomUUID()}`;
    await stack.startWorker({ harness: actors.harness, taskQueue });
    const client = stack.newClient({ taskQueue });
    const { id } = await created(client);
    await client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
    expect((await agreedEnd(stack, id)).record).toMatchObject({
      status: 'completed',
      delivery: { status: 'not_applicable' },
    });
  });
});

describe.concurrent('the ten trace events', () => {
  /** Events of client and worker about one continuation, in the order of their happening. */
  function traced() {
    const trace = recordingTrace();
    const client = stack.newClient({ trace });
    const eventsOf = (id: string) =>
      [...trace.events, ...workerTrace.events].filter((one) => one.continuationId === id);
    const typesOf = (id: string) => eventsOf(id).map((one) => one.type.replace('continuation_', ''));
    return { trace, client, eventsOf, typesOf };
  }

  test('of a paused, answered and delivered turn, each with who and what it is about', async () => {
    const { client, eventsOf, typesOf } = traced();
    const { id, origin } = await created(client, pause('approval_resolution', { sessionId: 'session-1' }));
    await client.resume({ continuationId: id, trigger: approve() }, { until: 'finished' });
    await agreedEnd(stack, id);
    await eventually(() =>
      expect(typesOf(id)).toEqual([
        'created',
        'resume_requested',
        'resumed_turn_started',
        'resumed_turn_finished',
        'delivery_attempted',
        'delivery_finalized',
        'terminated',
      ]),
    );
    const events = eventsOf(id);
    for (const event of events) {
      expect(event).toMatchObject({
        continuationId: id,
        assistantId: 'support',
        sessionId: 'session-1',
        originTurnId: origin.turnId,
        waitFor: 'approval_resolution',
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      });
    }
    expect(events.map((one) => one.status)).toEqual([
      ...['pending', 'pending', 'resuming', 'resuming', 'resuming', 'completed', 'completed'],
    ]);
    expect(events.slice(2).every((one) => one.resumedTurnId === `${id}:resume:1`)).toBe(true);
    expect(events.at(-1)?.terminalReason).toBe('completed');
  });

  test('of what is refused: creation and resume, with the code', async () => {
    const { client, trace, typesOf } = traced();
    await client.create(pause('user_reply', { harnessResult: { outcome: 'completed' } }));
    const { id } = await created(client);
    await client.resume({ continuationId: id, trigger: approve() });
    await client.resume({ continuationId: 'cont_01KBCDEFGHJKMNPQRSTVWXYZ01', trigger: reply() });
    expect(typesOf(id)).toEqual(['created', 'resume_requested', 'resume_rejected']);
    const refused = trace.events.filter((one) => one.code);
    expect(refused.map((one) => [one.type, one.code, one.continuationId])).toEqual([
      ['continuation_creation_rejected', 'invalid_input', undefined],
      ['continuation_resume_rejected', 'wrong_trigger', id],
      ['continuation_resume_rejected', 'not_found', undefined],
    ]);
    await client.stop({ continuationId: id, reason: 'cancelled_by_user' });
    await eventually(() => expect(typesOf(id).at(-1)).toBe('terminated'));
  });

  test('of ends without a turn: expired and terminated, or terminated alone', async () => {
    const { client, typesOf } = traced();
    const expired = await created(client, pause('user_reply', { bounds: { expiresAt: inMs(500) } }));
    const denied = await created(client, pause('approval_resolution'));
    await client.resume({ continuationId: denied.id, trigger: deny() });
    await Promise.all([agreedEnd(stack, expired.id), agreedEnd(stack, denied.id)]);
    expect(typesOf(expired.id)).toEqual(['created', 'expired', 'terminated']);
    expect(typesOf(denied.id)).toEqual(['created', 'resume_requested', 'terminated']);
  });

  test('of a turn that asks again: finished, not terminated', async () => {
    const { client, typesOf } = traced();
    const { id } = await created(client);
    playsInOrder(id, PAUSES.user_reply);
    await client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
    expect(typesOf(id)).toEqual(['created', 'resume_requested', 'resumed_turn_started', 'resumed_turn_finished']);
    await client.stop({ continuationId: id, reason: 'cancelled_by_user' });
  });

  test('may fail without any harm', async () => {
    const taskQueue = `trace-${randomUUID()}`;
    const warnings: string[] = [];
    const trace = {
      emit() {
        throw new Error('the collector is down');
      },
    };
    const client = stack.newClient({ taskQueue, trace, warn: (message) => warnings.push(message) });
    const console = vi.spyOn(globalThis.console, 'warn').mockImplementation((message) => void warnings.push(message));
    await stack.startWorker({ ...actors, taskQueue, trace: { emit: async () => Promise.reject(new Error('down')) } });
    const { id } = await created(client);
    const answered = await client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
    expect(taken(answered)).toMatchObject({ record: { status: 'completed', delivery: { status: 'delivered' } } });
    await eventually(() => expect(warnings).toHaveLength(7));
    expect(warnings[0]).toContain('continuation_created: Error: the collector is down');
    console.mockRestore();
  });
});

describe('a realistic consumer', () => {
  type Transcript = Array<{ role: string; text: string }>;

  /** A support agent that keeps nothing in memory: everything it knows comes back with the state. */
  function supportAgent(refunds: string[]): ContinuationWorkerOptions['harness'] {
    return {
      async runResumedTurn({ continuation, trigger, resumedTurnId }: ResumedTurn): Promise<HarnessResultInput> {
        const { transcript } = continuation.continuation.state as { transcript: Transcript };
        if (trigger.type === 'user_reply') {
          const said = [...transcript, { role: 'user', text: trigger.message.text }];
          const request = { id: `${resumedTurnId}:refund`, name: 'refund', arguments: '{"order":42,"amount":1e2}' };
          return {
            outcome: 'awaiting_approval',
            assistantMessage: { text: 'I ask a colleague whether I may refund order 42.' },
            continuation: { state: { request, transcript: said } },
          };
        }
        if (trigger.type !== 'approval_resolution' || trigger.decision !== 'approved') throw new Error('not approved');
        refunds.push(continuation.suspension.pending[0]?.arguments as string);
        const heard = transcript.map(({ role, text }) => `${role}: ${text}`).join(' / ');
        return { outcome: 'completed', assistantMessage: { text: `Refunded. (${heard}; ${trigger.reason})` } };
      },
    };
  }

  test('pauses, is answered after its process is gone, asks a second person, and delivers the follow-up', async () => {
    const taskQueue = `consumer-${randomUUID()}`;
    const client = stack.newClient({ taskQueue, caller: { scope: 'app=default/tenant=acme' } });
    const refunds: string[] = [];
    const mails: string[] = [];
    const start = () =>
      stack.startWorker({
        taskQueue,
        harness: supportAgent(refunds),
        delivery: {
          async deliver({ harnessResult }) {
            mails.push(harnessResult.assistantMessage?.text ?? '');
            return { status: 'delivered' };
          },
        },
      });
    const stopped: CreateContinuationInput = {
      assistantId: 'support',
      sessionId: 'chat-7',
      userId: 'kim',
      originTurnId: 'turn-1',
      harnessResult: {
        outcome: 'needs_clarification',
        stopReason: 'clarification_required',
        assistantMessage: { text: 'Which order do you mean?' },
        continuation: { state: { transcript: [{ role: 'user', text: 'I want my money back' }] } },
      },
      delivery: { surfaceIds: ['mail'] },
    };
    const first = await start();
    const { id, suspension } = await created(client, stopped);
    expect(suspension.question).toBe('Which order do you mean?');
    await stack.waits(id);
    await first.stop();

    const second = await start();
    const kim = client.as({ subject: 'kim', verified: true, channel: 'chat' });
    taken(await kim.resumeBySession({ sessionId: 'chat-7', trigger: reply('order 42') }, { until: 'settled' }));
    await stack.waits(id);
    await second.stop();

    await start();
    const [ask] = (await client.list({ status: 'pending', waitFor: 'approval_resolution' })).records;
    expect(ask).toMatchObject({
      id,
      suspension: {
        question: 'I ask a colleague whether I may refund order 42.',
        pending: [{ name: 'refund', arguments: '{"order":42,"amount":1e2}' }],
      },
      waitFor: { approvalId: `${id}:resume:1:refund` },
    });
    const lee = client.as({ subject: 'lee', verified: true, channel: 'slack' });
    const approved = await lee.resume(
      {
        continuationId: id,
        suspensionId: ask?.suspension.id,
        suspensionDigest: ask?.suspension.digest,
        trigger: {
          type: 'approval_resolution',
          approvalId: `${id}:resume:1:refund`,
          decision: 'approved',
          reason: 'seen it',
        },
      },
      { until: 'finished' },
    );
    expect(taken(approved)).toMatchObject({ record: { status: 'completed' }, delivery: { status: 'delivered' } });
    expect(refunds).toEqual(['{"order":42,"amount":1e2}']);
    expect(mails).toEqual(['Refunded. (user: I want my money back / user: order 42; seen it)']);
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record.answers).toMatchObject([
      { subject: 'kim', channel: 'chat', type: 'user_reply' },
      { subject: 'lee', channel: 'slack', decision: 'approved' },
    ]);
    expect(kinds).toEqual([
      'created',
      'admitted',
      'started',
      'settled',
      'opened',
      'admitted',
      'started',
      'settled',
      'delivered',
    ]);
  });
});
