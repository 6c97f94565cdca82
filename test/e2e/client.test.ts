/** What a user of the client relies on: creates, reads, scopes, waits, large inputs, codecs. */
import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContinuationRecord, CreateContinuationInput, HarnessResultInput } from '../../src/index.ts';
import { MAX_INPUT_BYTES } from '../../src/json.ts';
import { approve, deny, reply } from '../support/builders.ts';
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
  type Stack,
  startStack,
  taken,
} from '../support/stack.ts';
import { eventually, inMs } from '../support/time.ts';

let stack: Stack;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack();
  actors = createActors();
  await stack.startWorker(actors);
});
afterAll(() => stack?.close());

const stop = (record: ContinuationRecord) =>
  stack.client.stop({ continuationId: record.id, reason: 'cancelled_by_user' });
const unique = (prefix: string) => `${prefix}-${randomUUID()}`;

/** Lets the turns of a continuation wait until the test opens it. */
function held(id: string) {
  const running = gate();
  actors.plays(id, async () => {
    await running.opened;
    return DONE;
  });
  return running;
}

describe.concurrent('create', () => {
  test('again with the same input gets the first record, whatever became of it', async () => {
    const input = pause();
    const first = taken(await stack.client.create(input));
    expect(first.created).toBe(true);
    const again = taken(await stack.client.create(input));
    expect(again).toMatchObject({ created: false, record: first.record });
    await stack.client.resume({ continuationId: first.record.id, trigger: reply() }, { until: 'finished' });
    await agreedEnd(stack, first.record.id);
    expect(taken(await stack.client.create(input))).toMatchObject({
      created: false,
      record: { id: first.record.id, status: 'completed' },
    });
    expect(actors.turns(first.record.id)).toHaveLength(1);
  });

  test('with another input under the same key is a conflict, and changes nothing', async () => {
    const input = pause();
    const record = await created(stack.client, input);
    const others: CreateContinuationInput[] = [
      { ...input, harnessResult: PAUSES.approval_resolution },
      { ...input, metadata: { a: 1 } },
      { ...input, bounds: { maxResumeAttempts: 5 } },
      { ...input, delivery: false },
    ];
    for (const other of others) {
      expect(refusalOf(await stack.client.create(other))).toMatchObject({
        code: 'create_conflict',
        path: 'idempotencyKey',
      });
    }
    expect(await stack.client.get({ continuationId: record.id })).toEqual(record);
    await stop(record);
  });

  test('at once five times makes one continuation', async () => {
    const input = pause();
    const results = (await Promise.all(Array.from({ length: 5 }, () => stack.client.create(input)))).map(taken);
    expect(new Set(results.map((one) => one.record.id)).size).toBe(1);
    expect(results.filter((one) => one.created)).toHaveLength(1);
    expect(results.every((one) => one.started)).toBe(true);
    await stop(results[0]?.record as ContinuationRecord);
  });

  test('has keys of its own in each scope and for each assistant; a key of one’s own lets one turn pause twice', async () => {
    const input = pause();
    const others = await Promise.all([
      created(stack.client, input),
      created(stack.client, { ...input, assistantId: 'sales' }),
      created(stack.client, { ...input, scope: 'app=default/team=x' }),
      created(stack.client, { ...input, idempotencyKey: unique('key') }),
    ]);
    expect(new Set(others.map((one) => one.id)).size).toBe(4);
    await Promise.all(others.map(stop));
  });

  test('refuses what does not pause, or names nothing to wait for, and stores nothing', async () => {
    const session = unique('session');
    const results: Array<[HarnessResultInput, string]> = [
      [{ outcome: 'completed' }, 'harnessResult.outcome'],
      [{ outcome: 'failed' }, 'harnessResult.outcome'],
      [{ outcome: 'awaiting_approval', continuation: { state: {} } }, 'harnessResult.continuation.state.approvalId'],
      [{ outcome: 'deferred', continuation: { state: {} } }, 'harnessResult.continuation.state.operationId'],
      [{ outcome: 'needs_clarification' } as never, 'harnessResult.continuation'],
    ];
    for (const [harnessResult, path] of results) {
      const refused = refusalOf(await stack.client.create(pause('user_reply', { harnessResult, sessionId: session })));
      expect(refused).toMatchObject({ code: 'invalid_input', path });
    }
    const bounds: Array<[CreateContinuationInput['bounds'], string]> = [
      [{ expiresAt: inMs(-1000) }, 'bounds.expiresAt'],
      [{ expiresAt: 'soon' }, 'bounds.expiresAt'],
      [{ maxResumeAttempts: 0 }, 'bounds.maxResumeAttempts'],
      [{ maxResumeAttempts: 2, resumeAttempts: 2 }, 'bounds.resumeAttempts'],
      [{ neverExpires: true, expiresAt: inMs(1000) }, 'bounds.expiresAt'],
    ];
    for (const [given, path] of bounds) {
      const refused = refusalOf(await stack.client.create(pause('user_reply', { bounds: given, sessionId: session })));
      expect(refused).toMatchObject({ code: 'invalid_input', path });
    }
    const nul = pause('user_reply', { sessionId: session, metadata: { a: { b: 'x\u0000' } } });
    expect(refusalOf(await stack.client.create(nul))).toMatchObject({ code: 'invalid_input', path: 'metadata.a.b' });
    const superseding = refusalOf(await stack.client.create(pause('user_reply', { supersede: true })));
    expect(superseding.path).toBe('sessionId');
    expect(await stack.client.listBySession(session)).toEqual([]);
  });

  test('takes U+0000 inside the state, which is kept byte for byte', async () => {
    const state = { note: 'a\u0000b' };
    const record = await created(
      stack.client,
      pause('user_reply', { harnessResult: { outcome: 'needs_clarification', continuation: { state } } }),
    );
    expect((await stack.client.get({ continuationId: record.id, include: ['state'] }))?.state).toEqual(state);
    await stop(record);
  });
});

describe.concurrent('large inputs', () => {
  test('a reply above 16 KiB travels by reference: the harness gets all of it, Temporal none', async () => {
    const { id } = await created(stack.client);
    const text = 'Lorem ipsum dolor. '.repeat(2000);
    const answered = taken(await stack.client.resume({ continuationId: id, trigger: reply(text) }));
    expect(answered).toMatchObject({ record: { answers: [{ input: { ref: { mediaType: 'application/json' } } }] } });
    await agreedEnd(stack, id);
    expect(actors.turns(id)[0]?.trigger).toMatchObject({ type: 'user_reply', message: { text } });
    const { events } = await stack.handle(id).fetchHistory();
    const payloads = [...JSON.stringify(events).matchAll(/"data":"([^"]*)"/g)].map(([, data = '']) =>
      Buffer.from(data, 'base64').toString(),
    );
    expect(payloads.join()).toContain('Which colour?');
    expect(payloads.join()).not.toContain('Lorem');
    // The same again is the same message, though it is no longer in the record.
    expect(taken(await stack.client.resume({ continuationId: id, trigger: reply(text) })).outcome).toBe('accepted');
  });

  test('with inlineInputBytes 0 every reply does', async () => {
    const client = stack.newClient({ inlineInputBytes: 0 });
    const { id } = await created(client);
    const answered = taken(await client.resume({ continuationId: id, trigger: reply('the secret one') }));
    expect(answered).toMatchObject({ record: { answers: [{ input: { ref: { bytes: expect.any(Number) } } }] } });
    await agreedEnd(stack, id);
    expect(actors.turns(id)[0]?.trigger).toMatchObject({ message: { text: 'the secret one' } });
  });

  test('an answer of exactly 8 MiB is taken, one byte more is refused and costs nothing', async () => {
    const { id } = await created(stack.client);
    const frame = JSON.stringify({ continuationId: id, trigger: reply('') }).length;
    const text = 'x'.repeat(MAX_INPUT_BYTES - frame);
    const over = refusalOf(await stack.client.resume({ continuationId: id, trigger: reply(`${text}x`) }));
    expect(over.code).toBe('too_large');
    const answered = await stack.client.resume({ continuationId: id, trigger: reply(text) }, { until: 'finished' });
    expect(taken(answered).outcome).toBe('accepted');
    const trigger = actors.turns(id)[0]?.trigger;
    expect(trigger?.type === 'user_reply' && trigger.message.text === text).toBe(true);
  });

  test('a state of megabytes is kept as content, and none of it goes through Temporal', async () => {
    const transcript = 'y'.repeat(5_000_000);
    const input = (state: unknown) =>
      pause('user_reply', { harnessResult: { outcome: 'needs_clarification', continuation: { state } } });
    const { id } = await created(stack.client, input({ question: 'Which?', transcript }));
    await stack.client.resume({ continuationId: id, trigger: reply() }, { until: 'finished' });
    expect(actors.turns(id)[0]?.continuation.continuation.state).toEqual({ question: 'Which?', transcript });
    expect((await stack.handle(id).describe()).historySize).toBeLessThan(64 * 1024);
    const over = refusalOf(await stack.client.create(input({ transcript: 'y'.repeat(MAX_INPUT_BYTES) })));
    expect(over.code).toBe('too_large');
  });
});

describe.concurrent('reading', () => {
  test('get tells the record, its state, and the result of the last turn; null for what there is not', async () => {
    const record = await created(stack.client, pause('approval_resolution'));
    const { id } = record;
    expect(await stack.client.get({ continuationId: id })).toEqual(record);
    expect(await stack.client.get({ continuationId: id, include: ['state', 'result'] })).toEqual({
      ...record,
      state: PAUSES.approval_resolution.continuation.state,
    });
    await stack.client.resume({ continuationId: id, trigger: approve() }, { until: 'finished' });
    expect(await stack.client.get({ continuationId: id, include: ['result'] })).toMatchObject({ result: DONE });
    for (const unknown of ['cont_01KBCDEFGHJKMNPQRSTVWXYZ01', 'cont_1', '', "' or true --"]) {
      expect(await stack.client.get({ continuationId: unknown })).toBeNull();
      expect(await stack.client.receipts(unknown)).toBeNull();
      expect(refusalOf(await stack.client.resume({ continuationId: unknown, trigger: reply() })).code).toBe(
        'not_found',
      );
    }
  });

  test('needs neither a worker nor Temporal', async () => {
    const record = await created(stack.client, pause('user_reply', { sessionId: unique('session') }));
    await stop(record);
    const connection = Connection.lazy({ address: '127.0.0.1:1' });
    const client = stack.newClient({ connection });
    const { id, sessionId = '' } = record;
    expect(await client.get({ continuationId: id, include: ['state'] })).toMatchObject({ status: 'cancelled' });
    expect((await client.receipts(id))?.map((one) => one.kind)).toEqual(['created', 'stopped']);
    expect(await client.listBySession(sessionId)).toHaveLength(1);
    expect((await becomes(client, id)).status).toBe('cancelled');
    await client.sessionActive(sessionId);
    expect(taken(await client.delete(id))).toEqual({ ok: true });
    await connection.close();
  });

  test('list filters, pages by an exclusive cursor, oldest first', async () => {
    const client = stack.client.as({ scope: `app=default/list=${randomUUID().slice(0, 8)}` });
    const types = ['user_reply', 'approval_resolution', 'user_reply', 'external_result', 'user_reply'] as const;
    const ids: string[] = [];
    for (const type of types) ids.push((await created(client, pause(type))).id);
    const pages: string[][] = [];
    let after: string | undefined;
    do {
      const page = await client.list({ limit: 2, ...(after && { after }) });
      pages.push(page.records.map((one) => one.id));
      after = page.next;
    } while (after);
    expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    expect((await client.list({ waitFor: 'user_reply' })).records.map((one) => one.id)).toEqual([
      ids[0],
      ids[2],
      ids[4],
    ]);
    expect((await client.list({ status: 'completed' })).records).toEqual([]);
    expect((await client.list({ assistantId: 'sales' })).records).toEqual([]);
    for (const id of ids) await client.stop({ continuationId: id, reason: 'cancelled_by_user' });
    expect((await client.list({ status: 'cancelled' })).records).toHaveLength(5);
  });

  test('watch shows every state once, in order, and ends with the continuation', async () => {
    const { id } = await created(stack.client);
    const running = held(id);
    const seen: string[] = [];
    const watching = (async () => {
      for await (const record of stack.client.watch({ continuationId: id })) seen.push(record.status);
    })();
    await eventually(() => expect(seen).toEqual(['pending']));
    await stack.client.resume({ continuationId: id, trigger: reply() });
    await eventually(() => expect(seen).toEqual(['pending', 'resuming']));
    running.open();
    await watching;
    expect(seen.filter((status, index) => status !== seen[index - 1])).toEqual(['pending', 'resuming', 'completed']);
  });

  test('watch without an id shows what changes in the scope and below, and nothing else', async () => {
    const scope = `app=default/watch=${randomUUID().slice(0, 8)}`;
    const client = stack.client.as({ scope });
    const abort = new AbortController();
    const seen = new Set<string>();
    const watching = (async () => {
      for await (const record of client.watch({ signal: abort.signal })) seen.add(`${record.id} ${record.status}`);
    })();
    const record = await created(client, pause());
    const below = await created(client, pause('user_reply', { scope: `${scope}/team=x` }));
    const elsewhere = await created(stack.client);
    // Listening begins a moment later: later changes are certain to be seen.
    await eventually(async () => {
      const next = await created(client, pause());
      await client.stop({ continuationId: next.id, reason: 'cancelled_by_user' });
      expect(seen.size).toBeGreaterThan(0);
    });
    for (const { id } of [record, below, elsewhere])
      await stack.client.stop({ continuationId: id, reason: 'cancelled_by_user' });
    await eventually(() =>
      expect([...seen]).toEqual(expect.arrayContaining([`${record.id} cancelled`, `${below.id} cancelled`])),
    );
    expect([...seen].filter((one) => one.startsWith(elsewhere.id))).toEqual([]);
    abort.abort();
    await watching;
  });

  test('receipts tell who decided what, over which channel', async () => {
    const { id, suspension } = await created(stack.client, pause('approval_resolution'));
    const ann = stack.client.as({ subject: 'ann', verified: true, channel: 'slack' });
    await ann.resume({ continuationId: id, messageId: 'm_1', trigger: approve() }, { until: 'finished' });
    const { kinds } = await agreedEnd(stack, id);
    expect(kinds).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    const receipts = (await stack.client.receipts(id)) ?? [];
    expect(receipts.map((one) => one.sequence)).toEqual([1, 2, 3, 4, 5]);
    const [first, admitted, , settled, delivered] = receipts.map((one) => JSON.parse(one.body));
    expect(first).toMatchObject({ kind: 'created', suspensionId: suspension.id, suspensionDigest: suspension.digest });
    expect(admitted).toMatchObject({
      suspensionDigest: suspension.digest,
      answer: { messageId: 'm_1', subject: 'ann', verified: true, channel: 'slack', decision: 'approved' },
    });
    expect(settled).toMatchObject({ turnId: `${id}:resume:1`, outcome: 'completed' });
    expect(delivered).toMatchObject({ deliveryId: `${id}:resume:1`, delivery: { status: 'delivered' } });
  });
});

describe.concurrent('delete', () => {
  test('is refused while it is open; at the end takes all with it and frees the key', async () => {
    const input = pause();
    const record = await created(stack.client, input);
    const { id } = record;
    expect(refusalOf(await stack.client.delete(id))).toMatchObject({ code: 'invalid_input', status: 'pending' });
    const running = held(id);
    await stack.client.resume({ continuationId: id, trigger: reply() });
    await actors.running(id);
    expect(refusalOf(await stack.client.delete(id))).toMatchObject({ code: 'invalid_input', status: 'resuming' });
    running.open();
    await agreedEnd(stack, id);
    expect(await stack.client.delete(id)).toEqual({ ok: true });
    expect(await stack.client.get({ continuationId: id })).toBeNull();
    expect(await stack.client.receipts(id)).toBeNull();
    expect(refusalOf(await stack.client.delete(id)).code).toBe('not_found');
    expect(refusalOf(await stack.client.resume({ continuationId: id, trigger: reply() })).code).toBe('not_found');
    const again = taken(await stack.client.create(input));
    expect(again.created).toBe(true);
    expect(again.record.id).not.toBe(id);
    await stop(again.record);
  });
});

describe.concurrent('sessions', () => {
  test('an answer to a session reaches what waits there; two that wait are ambiguous; none is not found', async () => {
    const sessionId = unique('session');
    const answer = { sessionId, trigger: reply() };
    expect(refusalOf(await stack.client.resumeBySession(answer)).code).toBe('not_found');
    const first = await created(stack.client, pause('user_reply', { sessionId }));
    const second = await created(stack.client, pause('user_reply', { sessionId }));
    expect(refusalOf(await stack.client.resumeBySession(answer)).code).toBe('ambiguous_session');
    expect((await stack.client.listBySession(sessionId)).map((one) => one.id)).toEqual([first.id, second.id]);
    await stop(second);
    const answered = taken(await stack.client.resumeBySession(answer, { until: 'finished' }));
    expect(answered).toMatchObject({ outcome: 'accepted', record: { id: first.id, status: 'completed' } });
    expect(refusalOf(await stack.client.resumeBySession(answer)).code).toBe('not_found');
  });

  test('what a newer turn supersedes is no longer meant, even before its workflow knows', async () => {
    const sessionId = unique('session');
    const lonely = stack.newClient({ taskQueue: unique('lonely'), answerTimeoutMs: 300 });
    const older = await created(lonely, pause('user_reply', { sessionId }));
    const newer = await created(stack.client, pause('user_reply', { sessionId, supersede: true }));
    expect(await stack.client.get({ continuationId: older.id })).toMatchObject({
      status: 'pending',
      supersededBy: newer.id,
    });
    const answered = taken(await stack.client.resumeBySession({ sessionId, trigger: reply() }, { until: 'finished' }));
    expect(answered).toMatchObject({ record: { id: newer.id } });
  });

  test('the same message again gets the first outcome and does not answer the next question', async () => {
    const sessionId = unique('session');
    const first = await created(stack.client, pause('user_reply', { sessionId }));
    const answer = { sessionId, messageId: 'm_1', trigger: reply('yes') };
    const running = held(first.id);
    taken(await stack.client.resumeBySession(answer));
    expect(taken(await stack.client.resumeBySession(answer))).toMatchObject({ record: { id: first.id } });
    running.open();
    await agreedEnd(stack, first.id);
    const next = await created(stack.client, pause('user_reply', { sessionId }));
    expect(taken(await stack.client.resumeBySession(answer))).toMatchObject({ record: { id: first.id } });
    expect(refusalOf(await stack.client.resumeBySession({ ...answer, trigger: reply('no') })).code).toBe(
      'message_conflict',
    );
    expect(await stack.client.get({ continuationId: next.id })).toMatchObject({ status: 'pending', answers: [] });
    await stop(next);
  });

  test('activity after the answer suppresses the follow-up where that was asked for; before it does not', async () => {
    const follow = async (suppressIfSessionReengaged: boolean, active: 'before' | 'after') => {
      const sessionId = unique('session');
      const { id } = await created(
        stack.client,
        pause('user_reply', { sessionId, delivery: { suppressIfSessionReengaged } }),
      );
      const running = held(id);
      if (active === 'before') await stack.client.sessionActive(sessionId);
      await stack.client.resume({ continuationId: id, trigger: reply() });
      await actors.running(id);
      if (active === 'after') await stack.client.sessionActive(sessionId);
      running.open();
      const { record } = await agreedEnd(stack, id);
      expect(actors.deliveries(id)).toHaveLength(record.delivery.status === 'delivered' ? 1 : 0);
      return `${record.status} ${record.delivery.status}`;
    };
    expect(await Promise.all([follow(true, 'after'), follow(true, 'before'), follow(false, 'after')])).toEqual([
      'completed suppressed_session_reengaged',
      'completed delivered',
      'completed delivered',
    ]);
  });
});

describe.concurrent('scopes', () => {
  test('nobody outside reaches a continuation, or learns that it is there', async () => {
    const root = `tenant=t${randomUUID().slice(0, 8)}`;
    const owner = stack.client.as({ scope: `${root}/workspace=w1-a` });
    const sessionId = unique('session');
    const input = pause('user_reply', { sessionId });
    const record = await created(owner, input);
    const { id } = record;
    const outsiders = [
      `${root}/workspace=w2`,
      `${root}/workspace=w1-a/team=x`,
      `${root}/workspace=w1`,
      `${root}x`,
      'app=default',
    ];
    for (const scope of outsiders) {
      const client = stack.client.as({ scope });
      expect(await client.get({ continuationId: id, include: ['state', 'result'] })).toBeNull();
      expect(await client.receipts(id)).toBeNull();
      expect(await client.listBySession(sessionId)).toEqual([]);
      expect(await client.list({ sessionId })).toEqual({ records: [] });
      expect(await client.list({ scope: `${root}/workspace=w1-a`, sessionId })).toEqual({ records: [] });
      const refused = await Promise.all([
        client.resume({ continuationId: id, trigger: reply() }),
        client.resumeBySession({ sessionId, trigger: reply() }),
        client.stop({ continuationId: id, reason: 'cancelled_by_user' }),
        client.extend({ continuationId: id, expiresAt: '2027-01-01T00:00:00Z' }),
        client.delete(id),
      ]);
      for (const one of refused) {
        expect(refusalOf(one)).toEqual({ code: 'not_found', message: 'there is no such continuation' });
      }
      const seen: unknown[] = [];
      for await (const one of client.watch({ continuationId: id, signal: AbortSignal.timeout(5000) })) seen.push(one);
      expect(seen).toEqual([]);
      expect(refusalOf(await client.create({ ...input, scope: root })).code).toBe('not_authorized');
    }
    expect(await owner.get({ continuationId: id })).toEqual(record);
    const parent = stack.client.as({ scope: root });
    expect(await parent.get({ continuationId: id })).toEqual(record);
    expect((await parent.list({ sessionId })).records).toHaveLength(1);
    expect(taken(await parent.resumeBySession({ sessionId, trigger: reply() }, { until: 'finished' }))).toMatchObject({
      record: { id, status: 'completed' },
    });
  });

  test('the same key and content in two scopes are two continuations with contents of their own', async () => {
    const input = pause();
    const [a, b] = await Promise.all(
      ['tenant=a', 'tenant=b'].map(async (scope) => {
        const client = stack.client.as({ scope });
        return { client, record: await created(client, input) };
      }),
    );
    if (!a || !b) throw new Error('nothing was created');
    expect(a.record.id).not.toBe(b.record.id);
    expect(a.record.suspension.state.digest).toBe(b.record.suspension.state.digest);
    await a.client.stop({ continuationId: a.record.id, reason: 'cancelled_by_user' });
    await a.client.delete(a.record.id);
    expect(await b.client.get({ continuationId: b.record.id, include: ['state'] })).toMatchObject({
      state: PAUSES.user_reply.continuation.state,
    });
    await b.client.stop({ continuationId: b.record.id, reason: 'cancelled_by_user' });
  });
});

describe.concurrent('waiting for what comes of an answer', () => {
  test('settled comes with the end of the turn, finished with that of the delivery', async () => {
    const { id } = await created(stack.client);
    const delivering = gate();
    actors.delivers(id, async () => {
      await delivering.opened;
      return { status: 'delivered' };
    });
    const answer = { continuationId: id, messageId: 'm_1', trigger: reply() };
    const settled = taken(await stack.client.resume(answer, { until: 'settled' }));
    expect(settled).toMatchObject({
      record: { status: 'resuming', resume: { outcome: 'completed' } },
      harnessResult: DONE,
      delivery: { status: 'pending_delivery' },
    });
    const finishing = stack.client.resume(answer, { until: 'finished' });
    delivering.open();
    expect(taken(await finishing)).toMatchObject({
      record: { status: 'completed' },
      harnessResult: DONE,
      delivery: { status: 'delivered' },
    });
  });

  test('that takes too long throws wait_timed_out, or the reason of its signal; the answer stands', async () => {
    const { id } = await created(stack.client);
    const running = held(id);
    const answer = { continuationId: id, messageId: 'm_1', trigger: reply() };
    await expect(stack.client.resume(answer, { until: 'finished', timeoutMs: 200 })).rejects.toMatchObject({
      code: 'wait_timed_out',
    });
    const abort = new AbortController();
    const aborted = stack.client.resume(answer, { until: 'settled', signal: abort.signal });
    setTimeout(() => abort.abort(new Error('went home')), 100);
    await expect(aborted).rejects.toThrow('went home');
    running.open();
    expect((await agreedEnd(stack, id)).record).toMatchObject({ status: 'completed' });
    expect(actors.turns(id)).toHaveLength(1);
  });

  test('of a denial comes without a turn', async () => {
    const { id } = await created(stack.client, pause('approval_resolution'));
    const answered = taken(await stack.client.resume({ continuationId: id, trigger: deny() }, { until: 'settled' }));
    expect(answered).toMatchObject({
      record: { terminalReason: 'approval_denied' },
      delivery: { status: 'not_applicable' },
    });
    expect(answered).not.toHaveProperty('harnessResult');
  });
});

describe('workers', () => {
  test('one worker serves two assistants, each with its own harness; a third waits for a worker that has one', async () => {
    const taskQueue = unique('assistants');
    const client = stack.newClient({ taskQueue });
    const say = (text: string) => ({
      runResumedTurn: async () => ({ outcome: 'completed' as const, assistantMessage: { text } }),
    });
    const harness = { support: say('support'), sales: say('sales') };
    const worker = await stack.startWorker({ harness, taskQueue });
    const answer = async (assistantId: string) => {
      const { id } = await created(client, pause('user_reply', { assistantId }));
      const answered = taken(await client.resume({ continuationId: id, trigger: reply() }));
      if (assistantId === 'legal') return { id, answered };
      return { id, record: await becomes(client, id) };
    };
    const [support, sales, legal] = await Promise.all(['support', 'sales', 'legal'].map(answer));
    for (const [one, text] of [
      [support, 'support'],
      [sales, 'sales'],
    ] as const) {
      const view = await client.get({ continuationId: one?.id ?? '', include: ['result'] });
      expect(view).toMatchObject({
        status: 'completed',
        result: { assistantMessage: { text } },
        delivery: { status: 'not_applicable' },
      });
    }
    expect(await client.get({ continuationId: legal?.id ?? '' })).toMatchObject({ status: 'resuming' });
    await worker.stop();
    await stack.startWorker({ harness: { ...harness, legal: say('legal') }, taskQueue });
    expect((await becomes(client, legal?.id ?? '')).status).toBe('completed');
  });

  test('a payload codec on client and worker keeps Temporal from reading, and everything works', async () => {
    const encoding = new TextEncoder().encode('binary/reversed');
    const reversed = (data: Uint8Array | null | undefined) => Uint8Array.from(data ?? []).reverse();
    const codec: PayloadCodec = {
      encode: async (payloads) =>
        payloads.map(
          (inner): Payload => ({
            metadata: { encoding, inner: inner.metadata?.encoding ?? new Uint8Array() },
            data: reversed(inner.data),
          }),
        ),
      decode: async (payloads) =>
        payloads.map((outer): Payload => {
          if (Buffer.from(outer.metadata?.encoding ?? []).toString() !== 'binary/reversed') return outer;
          return { metadata: { encoding: outer.metadata?.inner ?? new Uint8Array() }, data: reversed(outer.data) };
        }),
    };
    const taskQueue = unique('codec');
    const payloadCodecs = [codec];
    const client = stack.newClient({ taskQueue, payloadCodecs });
    await stack.startWorker({ ...actors, taskQueue, payloadCodecs });
    const { id } = await created(client, pause('approval_resolution'));
    await stack.waits(id);
    // A client without the codec can still send what the worker reads as it is.
    await stack.handle(id).signal('user_reply', { message: { text: 'x' } });
    const wrong = refusalOf(await client.resume({ continuationId: id, trigger: approve('appr_2') }));
    expect(wrong.code).toBe('wrong_correlation');
    const answered = taken(await client.resume({ continuationId: id, trigger: approve() }, { until: 'finished' }));
    expect(answered).toMatchObject({ outcome: 'accepted', harnessResult: DONE, delivery: { status: 'delivered' } });
    const late = refusalOf(await client.resume({ continuationId: id, trigger: deny() }));
    expect(late.winner).toMatchObject({ decision: 'approved' });
    const { events } = await stack.handle(id).fetchHistory();
    const started = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
    expect(Buffer.from(started?.metadata?.encoding ?? []).toString()).toBe('binary/reversed');
    expect(Buffer.from(started?.data ?? []).toString()).not.toContain('Refund');
  });
});
