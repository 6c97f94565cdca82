/** Who may do what: asked before anything is sent, and again when the turn starts, with what holds then (000, 001). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Action,
  type Authorization,
  type Caller,
  type ContinuationRecord,
  type Permission,
  type Policy,
  permissionPolicy,
  type Trigger,
  type WaitType,
} from '../../src/index.ts';
import { agentReply, approve, deny, reply, result, wake } from '../support/builders.ts';
import {
  type Actors,
  agreedEnd,
  createActors,
  created,
  pause,
  raced,
  refusalOf,
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';

let stack: Stack;
let actors: Actors;
/** What is asked of the policy when a turn starts, by continuation; without a script, the built-in table answers. */
const atStart = new Map<string, (caller: Caller) => Authorization>();
const asked: Array<{ id: string; action: Action; caller: Caller }> = [];
const policy: Policy = {
  authorize(action, caller, record) {
    asked.push({ id: record.id, action, caller });
    return atStart.get(record.id)?.(caller) ?? permissionPolicy.authorize(action, caller, record);
  },
};
beforeAll(async () => {
  stack = await startStack();
  actors = createActors();
  await stack.startWorker({ ...actors, policy });
});
afterAll(() => stack?.close());

const EVERY: readonly Permission[] = ['create', 'answer', 'approve', 'bus', 'operate', 'read'];
const NEEDED: Record<WaitType, Permission> = {
  user_reply: 'answer',
  external_result: 'answer',
  scheduled_wake: 'answer',
  approval_resolution: 'approve',
  agent_reply: 'bus',
};
function answerTo({ waitFor }: ContinuationRecord): Trigger {
  if (waitFor.type === 'scheduled_wake') return wake(waitFor.wakeUpId);
  return { user_reply: reply(), approval_resolution: approve(), external_result: result(), agent_reply: agentReply() }[
    waitFor.type
  ];
}

describe.concurrent('an answer', () => {
  test.for(Object.entries(NEEDED) as Array<[WaitType, Permission]>)(
    '%s takes the permission %s',
    async ([type, needed]) => {
      const record = await created(stack.client, pause(type));
      const answer = { continuationId: record.id, trigger: answerTo(record) };
      const without = stack.client.as({ permissions: EVERY.filter((one) => one !== needed) });
      for (const call of [without.resume(answer), without.take(answer)])
        expect(refusalOf(await call)).toEqual({ code: 'not_authorized', message: `needs the permission ${needed}` });
      expect(await stack.client.get({ continuationId: record.id })).toMatchObject({ status: 'pending', answers: [] });
      const caller = { subject: 'ann', verified: true, channel: 'http', permissions: [needed] };
      taken(await stack.client.as(caller).resume(answer, { until: 'finished' }));
      expect(asked.find(({ id, action }) => id === record.id && action === 'start')?.caller).toEqual({
        ...caller,
        scope: record.scope,
      });
      const { kinds } = await agreedEnd(stack, record.id);
      expect(kinds).toContain('settled');
    },
  );

  test('without authority is refused before anything else is told about the continuation', async () => {
    const record = await created(stack.client, pause('approval_resolution'));
    await stack.client.stop({ continuationId: record.id, reason: 'cancelled_by_user' });
    const reader = stack.client.as({ permissions: ['read'] });
    expect(refusalOf(await reader.resume({ continuationId: record.id, trigger: approve() }))).toEqual({
      code: 'not_authorized',
      message: 'needs the permission approve',
    });
  });

  test('receipts name a verified subject, or say that it is not', async () => {
    const admitted = async (caller: Partial<Caller>) => {
      const { id } = await created(stack.client);
      taken(await stack.client.as(caller).resume({ continuationId: id, trigger: reply() }, { until: 'finished' }));
      const found = (await stack.client.receipts(id))?.find(({ kind }) => kind === 'admitted');
      return JSON.parse(found?.body ?? '{}').answer;
    };
    expect(await admitted({ subject: 'ann', verified: true })).toMatchObject({ subject: 'ann', verified: true });
    expect(await admitted({ subject: 'bob' })).toMatchObject({ subject: 'bob', verified: false });
  });
});

describe.concurrent('what is managed', () => {
  test('create, stop, extend and delete take their permissions, and change nothing without', async () => {
    const nobody = stack.client.as({ permissions: ['read', 'answer', 'approve', 'bus'] });
    expect(refusalOf(await nobody.create(pause('user_reply', { sessionId: 'nobody' }))).code).toBe('not_authorized');
    expect(await stack.client.listBySession('nobody')).toEqual([]);
    const { id, bounds } = await created(stack.client);
    const later = new Date(Date.now() + 10 * 3_600_000).toISOString();
    const calls = [
      nobody.stop({ continuationId: id, reason: 'cancelled_by_user' }),
      nobody.extend({ continuationId: id, expiresAt: later }),
      nobody.delete(id),
    ];
    for (const call of calls) expect(refusalOf(await call).code).toBe('not_authorized');
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ status: 'pending', bounds });
  });
});

describe.concurrent('when the turn starts', () => {
  test('authority that was revoked meanwhile is not used: cancelled, with a receipt, and nothing was run', async () => {
    const { id } = await created(stack.client, pause('approval_resolution'));
    atStart.set(id, ({ subject }) => ({ allowed: false, reason: `${subject} has left` }));
    const answer = { continuationId: id, trigger: approve() };
    taken(await stack.client.as({ subject: 'ann' }).resume(answer, { until: 'finished' }));
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({
      status: 'cancelled',
      terminalReason: 'cancelled_by_product',
      error: { code: 'not_authorized', message: 'ann has left' },
      answers: [{ subject: 'ann' }],
    });
    expect(kinds).toEqual(['created', 'admitted', 'stopped']);
    expect(actors.turns(id)).toEqual([]);
  });

  test('a policy that cannot be asked is waited for; the answer is kept', async () => {
    const { id } = await created(stack.client);
    let outages = 0;
    atStart.set(id, () => {
      outages += 1;
      if (outages === 1) throw new Error('the directory is down');
      return { allowed: true };
    });
    taken(await stack.client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' }));
    expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed', bounds: { resumeAttempts: 1 } });
    expect(actors.turns(id)).toHaveLength(1);
  });
});

const EXACT = '{"messages":[{"thinking":"","signature":"s=="}],"n":12345678901234567890}';
const exact = () =>
  pause('user_reply', {
    harnessResult: {
      outcome: 'needs_clarification',
      continuation: {
        state: { text: EXACT, mediaType: 'text/plain' },
        pending: [{ id: 'ask_1', name: 'ask_user', arguments: '{}' }],
      },
    },
  });

describe.concurrent('take', () => {
  test('hands out the exact state once and ends the continuation; a repeat gets nothing to run', async () => {
    const { id } = await created(stack.client, exact());
    const answer = { continuationId: id, messageId: 'm_1', trigger: reply('blue') };
    expect(taken(await stack.client.take(answer))).toMatchObject({
      outcome: 'taken',
      state: { text: EXACT, mediaType: 'text/plain' },
      calls: [{ id: 'ask_1', decision: 'result', result: 'blue' }],
      answer: { subject: 'anonymous', type: 'user_reply' },
    });
    const again = taken(await stack.client.take(answer));
    expect(again).toMatchObject({ outcome: 'repeated', answer: { messageId: 'm_1' } });
    expect(again).not.toHaveProperty('state');
    expect(refusalOf(await stack.client.take({ ...answer, messageId: 'm_2' }))).toMatchObject({
      code: 'already_terminal',
      winner: { messageId: 'm_1' },
    });
    const { record, kinds } = await agreedEnd(stack, id);
    expect(record).toMatchObject({ status: 'completed', delivery: { status: 'not_applicable' } });
    expect(kinds).toEqual(['created', 'admitted', 'stopped']);
    expect(actors.turns(id)).toEqual([]);
  });

  test('a denial that ends the continuation leaves nothing to run', async () => {
    const { id } = await created(stack.client, pause('approval_resolution'));
    expect(taken(await stack.client.take({ continuationId: id, trigger: deny() }))).toMatchObject({
      outcome: 'denied',
    });
    expect((await agreedEnd(stack, id)).record.terminalReason).toBe('approval_denied');
  });

  test('an answer that goes by reference and one while no worker runs', async () => {
    const byReference = stack.newClient({ inlineInputBytes: 0 });
    const { id } = await created(byReference, exact());
    expect(taken(await byReference.take({ continuationId: id, trigger: reply() }))).toMatchObject({ outcome: 'taken' });
    const lonely = stack.newClient({ taskQueue: 'nobody', answerTimeoutMs: 300 });
    const { id: waiting } = await created(lonely);
    await expect(lonely.take({ continuationId: waiting, trigger: reply() })).rejects.toMatchObject({
      code: 'temporal_unavailable',
    });
    expect(await lonely.get({ continuationId: waiting })).toMatchObject({ status: 'pending' });
  });
});

describe('at once, a hundred times', () => {
  test('the same message taken twice is handed out once', async () => {
    await raced(100, async () => {
      const id = (await created(stack.client)).id;
      const answer = { continuationId: id, messageId: 'm_1', trigger: reply() };
      const both = await Promise.all([stack.client.take(answer), stack.client.take(answer)]);
      expect(both.map((one) => taken(one).outcome).sort()).toEqual(['repeated', 'taken']);
    });
  }, 120_000);

  test('take against resume: the winner’s way is the only one that happens', async () => {
    await raced(100, async () => {
      const id = (await created(stack.client)).id;
      const [took, resumed] = await Promise.all([
        stack.client.as({ subject: 'ann' }).take({ continuationId: id, trigger: reply('a') }),
        stack.client.as({ subject: 'bob' }).resume({ continuationId: id, trigger: reply('b') }),
      ]);
      expect([took.ok, resumed.ok].filter(Boolean)).toHaveLength(1);
      const winner = took.ok ? 'ann' : 'bob';
      const loser = took.ok ? resumed : took;
      expect(refusalOf(loser as never).winner?.subject).toBe(winner);
      const { record, kinds } = await agreedEnd(stack, id);
      expect(record.answers.map(({ subject }) => subject)).toEqual([winner]);
      expect(actors.turns(id)).toHaveLength(took.ok ? 0 : 1);
      expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(1);
    });
  }, 120_000);

  test('approve against deny: state, effect, receipts and what each was told agree', async () => {
    await raced(100, async () => {
      const id = (await created(stack.client, pause('approval_resolution'))).id;
      const [yes, no] = await Promise.all([
        stack.client.as({ subject: 'ann' }).resume({ continuationId: id, trigger: approve() }),
        stack.client.as({ subject: 'bob' }).resume({ continuationId: id, trigger: deny() }),
      ]);
      expect([yes.ok, no.ok].filter(Boolean)).toHaveLength(1);
      const { record } = await agreedEnd(stack, id);
      const decision = yes.ok ? 'approved' : 'denied';
      expect(record.answers.map((one) => one.decision)).toEqual([decision]);
      expect(refusalOf((yes.ok ? no : yes) as never).winner).toMatchObject({ decision });
      expect(record.status).toBe(yes.ok ? 'completed' : 'cancelled');
      expect(actors.turns(id)).toHaveLength(yes.ok ? 1 : 0);
      const admitted = (await stack.client.receipts(id))?.filter(({ kind }) => kind === 'admitted') ?? [];
      expect(admitted.map(({ body }) => JSON.parse(body).answer.decision)).toEqual([decision]);
    });
  }, 120_000);

  test('an answer against a stop: what the caller of each was told is what happened', async () => {
    await raced(100, async () => {
      const id = (await created(stack.client)).id;
      const [answered, stopped] = await Promise.all([
        stack.client.resume({ continuationId: id, trigger: reply() }),
        stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' }),
      ]);
      taken(stopped);
      const { record, kinds } = await agreedEnd(stack, id);
      expect(record.answers).toHaveLength(answered.ok ? 1 : 0);
      if (!answered.ok) expect(refusalOf(answered as never).code).toBe('already_terminal');
      expect(['cancelled', 'completed']).toContain(record.status);
      expect(kinds.includes('settled')).toBe(record.status === 'completed');
      expect(actors.turns(id).length).toBeLessThanOrEqual(1);
    });
  }, 120_000);
});
