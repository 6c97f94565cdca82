/** The command line against real servers, in this process: `runCli` gets words and answers with an exit code. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import type { CliIo } from '../src/cli/io.ts';
import { EXIT, type Report, reportAnswer } from '../src/cli/outcome.ts';
import { commands, runCli } from '../src/cli/run.ts';
import { commandLine, duration, plain, table } from '../src/cli/text.ts';
import { freePort } from '../src/dev/tcp-port.ts';
import { clockFinding } from '../src/diagnosis.ts';
import {
  type ContinuationRecord,
  type CreateContinuationInput,
  ensureSearchAttributes,
  type HarnessResultInput,
  OutcomeUnknown,
  type ResumedTurn,
} from '../src/index.ts';
import { type Stack, startStack } from './support/stack.ts';

let stack: Stack;
const turns: ResumedTurn[] = [];
const done = (): HarnessResultInput => ({ outcome: 'completed', assistantMessage: { text: 'All done.\u001b[31m' } });
let script: (turn: ResumedTurn) => HarnessResultInput = done;
beforeAll(async () => {
  stack = await startStack();
  await stack.startWorker({
    harness: {
      async runResumedTurn(turn) {
        turns.push(turn);
        return script(turn);
      },
    },
    delivery: { deliver: async () => ({ status: 'delivered' }) },
  });
});
afterAll(() => stack?.close());
beforeEach(() => {
  script = done;
});

interface Said {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}
/** What a command says and how it ends, for a program that reads it. */
async function cli(words: readonly string[], more: Partial<CliIo> = {}): Promise<Said> {
  const [out, error]: [string[], string[]] = [[], []];
  const io: CliIo = {
    env: {
      DATABASE_URL: stack.databaseUrl,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      CONTINUATIONS_TASK_QUEUE: stack.taskQueue,
    },
    cwd: '/',
    userName: 'tester',
    isTerminal: false,
    width: 120,
    now: () => new Date(),
    out: (text) => out.push(text),
    error: (text) => error.push(text),
    ended: async () => undefined,
    input: async () => '',
    ...more,
  };
  return { code: await runCli(words, io), out: out.join('\n'), error: error.join('\n') };
}

let count = 0;
async function pause(
  outcome: 'needs_clarification' | 'awaiting_approval' | 'deferred',
  state: Record<string, unknown>,
  more: Partial<CreateContinuationInput> = {},
): Promise<ContinuationRecord> {
  return created({ outcome, continuation: { state } }, more);
}
async function created(
  harnessResult: CreateContinuationInput['harnessResult'],
  more: Partial<CreateContinuationInput> = {},
): Promise<ContinuationRecord> {
  const result = await stack.client.create({
    assistantId: 'bot',
    originTurnId: `turn-${++count}`,
    harnessResult,
    ...more,
  });
  if (!result.ok) throw new Error(result.refusal.message);
  return result.record;
}
const turnOf = (id: string) => turns.filter(({ continuation }) => continuation.id === id);

describe('an answer of each kind', () => {
  test('reply: the words arrive, the follow-up is printed, the caller is named', async () => {
    const { id, suspension } = await pause('needs_clarification', { question: 'Which order?', correlationKey: 'k-1' });
    const said = await cli([
      'reply',
      id,
      'Order 42',
      '--suspension',
      suspension.id,
      '--until',
      'finished',
      '--as',
      'ada',
    ]);
    expect(said).toMatchObject({ code: 0, error: '' });
    expect(said.out).toMatch(/^Accepted: user_reply by ada \(not verified\) over cli at /);
    expect(said.out).toContain(`${id} is completed.`);
    expect(said.out).toContain('Follow-up (delivered):\n  All done.');
    expect(said.out).not.toContain('\u001b');
    expect(turnOf(id)[0]?.trigger).toMatchObject({ message: { text: 'Order 42' }, correlationKey: 'k-1' });
  });

  test('reconcile decides an unknown outcome on the proof in a file, once', async () => {
    script = ({ attempt }) => {
      if (attempt === 1) throw new OutcomeUnknown('the bank did not answer');
      return done();
    };
    const { id } = await pause('needs_clarification', { question: 'Which?' });
    await cli(['reply', id, 'this', '--until', 'finished']);
    expect(JSON.parse((await cli(['list', '--status', 'uncertain', '--json'])).out).records).toMatchObject([{ id }]);
    const proof = fileURLToPath(new URL('../LICENSE', import.meta.url));
    expect(await cli(['reconcile', id, 'perhaps', '--proof', proof])).toMatchObject({ code: 1 });
    expect(await cli(['reconcile', id, 'happened', '--proof', '/nowhere'])).toMatchObject({ code: 1 });
    const decide = [
      'reconcile',
      id,
      'did_not_happen',
      '--proof',
      proof,
      '--observed',
      '2026-12-03T09:00:00Z',
      '--as',
      'olga',
    ];
    expect(await cli(decide)).toMatchObject({ code: 0, out: expect.stringContaining('Decided: did_not_happen.') });
    await cli(['watch', id]);
    const receipts = (await cli(['receipts', id, '--json'])).out.split('\n').map((line) => JSON.parse(line));
    const { body } = receipts.find(({ kind }) => kind === 'reconciled');
    const { digest } = JSON.parse(body).proof;
    expect(JSON.parse(body)).toMatchObject({ actor: 'olga', channel: 'cli', proof: { ref: proof } });
    expect(digest).toBe(`sha256:${createHash('sha256').update(readFileSync(proof)).digest('hex')}`);
    const otherwise = await cli(['reconcile', id, 'close_incomplete', '--proof', proof]);
    expect(otherwise).toMatchObject({ code: 2, error: expect.stringContaining('Refused (') });
  });

  test('reply --session finds what waits there', async () => {
    await pause('needs_clarification', { question: 'Which one?' }, { sessionId: 'chat-1' });
    expect(await cli(['reply', '--session', 'chat-1', 'the red one'])).toMatchObject({ code: 0 });
    expect(await cli(['reply', '--session', 'chat-none', 'hello'])).toMatchObject({
      code: 2,
      error: expect.stringContaining('Refused (not_found)'),
    });
  });

  test('approve and deny take the approval from the record; the loser is told who won', async () => {
    const request = { id: 'call-1', name: 'refund', arguments: '{"amount": 5}' };
    const { id, suspension } = await pause('awaiting_approval', { question: 'Refund 5?', request });
    const words = [id, '--suspension', suspension.id, '--reason', 'as agreed'];
    expect(await cli(['approve', ...words, '--until', 'settled'])).toMatchObject({ code: 0 });
    expect(turnOf(id)[0]?.trigger).toMatchObject({ approvalId: 'call-1', decision: 'approved', reason: 'as agreed' });
    const late = await cli(['deny', ...words, '--as', 'otto']);
    expect(late).toMatchObject({ code: 2, out: '' });
    expect(late.error).toMatch(
      /^Refused \(already_\w+\): .* It was answered: approved by tester .* Nothing was changed\.$/,
    );

    const calls = ['c1', 'c2', 'c3'].map((callId) => ({ id: callId, name: 'refund', arguments: `{"of":"${callId}"}` }));
    const several = await created({ outcome: 'awaiting_approval', continuation: { state: {}, pending: calls } });
    expect((await cli(['get', several.id])).out).toContain('c2  refund {"of":"c2"}');
    expect(await cli(['approve', several.id, '--except', 'c9'])).toMatchObject({ code: 1 });
    const mixed = ['approve', several.id, '--except', 'c2', '--reason', 'paid twice', '--until', 'settled'];
    expect(await cli(mixed)).toMatchObject({ code: 0, out: expect.stringMatching(/^Accepted: mixed by tester/) });
    expect(turnOf(several.id)[0]?.calls).toMatchObject([
      { id: 'c1', decision: 'approved' },
      { id: 'c2', decision: 'denied', reason: 'paid twice' },
      { id: 'c3', decision: 'approved' },
    ]);

    const edited = await pause('awaiting_approval', { request: { ...request, id: 'call-3' } });
    await cli(['approve', edited.id, '--arguments', '{"amount": 2}', '--until', 'settled']);
    expect(turnOf(edited.id)[0]?.calls).toMatchObject([{ id: 'call-3', arguments: '{"amount": 2}', edited: true }]);

    const other = await pause('awaiting_approval', { request: { ...request, id: 'call-2' } });
    const denied = await cli(['deny', other.id, '--until', 'finished', '--json']);
    expect(denied.code).toBe(0);
    expect(JSON.parse(denied.out)).toMatchObject({ ok: true, record: { terminalReason: 'approval_denied' } });
  });

  test('result: JSON from the line or from standard input', async () => {
    const first = await pause('deferred', { operationId: 'op-1' });
    expect(await cli(['result', first.id, '{"status":"done"}', '--until', 'settled'])).toMatchObject({ code: 0 });
    expect(turnOf(first.id)[0]?.trigger).toMatchObject({ operationId: 'op-1', payload: { status: 'done' } });
    const second = await pause('deferred', { operationId: 'op-2' });
    const piped = await cli(['result', second.id, '-', '--until', 'settled'], { input: async () => '[1,2]' });
    expect(piped.code).toBe(0);
    expect(turnOf(second.id)[0]?.trigger).toMatchObject({ operationId: 'op-2', payload: [1, 2] });
    const third = await pause('deferred', { operationId: 'op-3' });
    expect(await cli(['result', third.id, 'delivered'])).toEqual({
      code: 1,
      out: '',
      error: `The result is not JSON; text is JSON only in double quotes, such as '"delivered"'. See continuations result --help.`,
    });
  });

  test('agent-reply and wake take their ids from the record', async () => {
    const asked = await pause('deferred', { agent: { replyWith: 'ask-1', responder: 'parts' } });
    expect(await cli(['agent-reply', asked.id, 'It fits.', '--until', 'settled'])).toMatchObject({ code: 0 });
    expect(turnOf(asked.id)[0]?.trigger).toMatchObject({
      replyWith: 'ask-1',
      performative: 'inform',
      content: 'It fits.',
    });
    const asleep = await pause('deferred', { scheduledWake: true });
    expect(await cli(['wake', asleep.id, '--until', 'settled'])).toMatchObject({ code: 0 });
    expect(turnOf(asleep.id)[0]?.trigger).toMatchObject({ type: 'scheduled_wake' });
  });

  test('the same message id gets the first outcome; another content with it is refused', async () => {
    const { id } = await pause('needs_clarification', { question: 'Which?' });
    const words = ['reply', id, 'this', '--message-id', 'm-1', '--json'];
    const [first, second] = [await cli(words), await cli(words)];
    expect(JSON.parse(second.out).answer).toEqual(JSON.parse(first.out).answer);
    expect(await cli(['reply', id, 'that', '--message-id', 'm-1'])).toMatchObject({
      code: 2,
      error: expect.stringContaining('message_conflict'),
    });
    expect(turnOf(id).length).toBeLessThanOrEqual(1);
  });
});

describe('an agent at the command line', () => {
  const input = (more = {}) => ({
    assistantId: 'bot',
    originTurnId: `turn-${++count}`,
    harnessResult: { outcome: 'needs_clarification', continuation: { state: { question: 'Which?', step: 7 } } },
    ...more,
  });

  test('create keeps a turn from a file or standard input, once, and says how to answer', async () => {
    const text = JSON.stringify(input());
    const first = await cli(['create', '-'], { input: async () => text });
    expect(first).toMatchObject({ code: 0, error: '' });
    const [, id = ''] = /^Created: (cont_\w+) is pending\./.exec(first.out) ?? [];
    expect(first.out).toContain(`continuations reply ${id} `);
    const again = await cli(['create', '-', '--json'], { input: async () => text });
    expect(JSON.parse(again.out)).toMatchObject({ ok: true, created: false, record: { id } });
    const other = JSON.stringify({ ...JSON.parse(text), sessionId: 'another' });
    expect(await cli(['create', '-'], { input: async () => other })).toMatchObject({
      code: 2,
      error: expect.stringMatching(/^Refused \(create_conflict\)/),
    });
    expect(
      await cli(['create', '-'], { input: async () => JSON.stringify(input({ bounds: { nope: 1 } })) }),
    ).toMatchObject({
      code: 2,
      error: expect.stringMatching(/^Refused \(invalid_input\): .*bounds/),
    });
    expect(await cli(['create', '/nowhere.json'])).toMatchObject({
      code: 1,
      error: expect.stringMatching(/^\/nowhere\.json cannot be read \(ENOENT\)/),
    });
    expect(await cli(['create', '-'], { input: async () => '{' })).toMatchObject({ code: 1 });
  });

  test('take hands the state out once; no worker runs the turn', async () => {
    const { id } = await pause('needs_clarification', { question: 'Which?', step: 7 });
    const words = ['take', id, '{"type":"user_reply","message":{"text":"this"}}', '--message-id', 'm1'];
    const taken = await cli([...words, '--json']);
    expect(taken.code).toBe(0);
    expect(JSON.parse(taken.out)).toMatchObject({ outcome: 'taken', state: { question: 'Which?', step: 7 } });
    expect(await cli(words)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Accepted before, there is nothing to run: user_reply by tester/),
    });
    expect(
      await cli(['take', id, '-'], { input: async () => '{"type":"user_reply","message":{"text":"no"}}' }),
    ).toMatchObject({
      code: 2,
      error: expect.stringMatching(/^Refused \(already_terminal\): .* It was answered: user_reply by tester/),
    });
    expect(turnOf(id)).toEqual([]);
    expect(await stack.client.get({ continuationId: id })).toMatchObject({ status: 'completed' });
  });
});

describe('what is asked again', () => {
  test('a suspension is never filled in; the printed command names it and works as printed', async () => {
    script = () => ({
      outcome: 'awaiting_approval',
      continuation: { state: { question: 'Really?', approvalId: 'a-9' } },
    });
    const { id } = await pause('needs_clarification', { question: 'Which?' });
    const again = await cli(['reply', id, 'this', '--until', 'finished']);
    expect(again).toMatchObject({ code: 0 });
    expect(again.out).toContain('It asks again:\n  Really?');
    script = done;
    expect(await cli(['approve', id])).toMatchObject({
      code: 2,
      error: expect.stringContaining('suspension_required'),
    });
    const [, words = ''] = /npx continuations (approve .*)/.exec(again.out) ?? [];
    expect(await cli([...words.split(' '), '--until', 'finished'])).toMatchObject({ code: 0 });
  });

  test('an answer of the wrong kind, for another question or another text is refused and costs nothing', async () => {
    const { id, suspension } = await pause('needs_clarification', { question: 'Which?' });
    const refused = async (...words: string[]) => (await cli(words)).error;
    expect(await refused('approve', id)).toMatch(/^Refused \(wrong_trigger\): .*waits for user_reply/);
    expect(await refused('reply', id, 'x', '--suspension', 'sus_other')).toMatch(/^Refused \(stale_suspension\)/);
    const digest = `sha256:${'0'.repeat(64)}`;
    expect(await refused('reply', id, 'x', '--digest', digest)).toMatch(/^Refused \(digest_mismatch\)/);
    expect(await cli(['reply', id, 'x', '--digest', suspension.digest])).toMatchObject({ code: 0 });
  });
});

describe('reading', () => {
  test('list shows what waits, for people and for scripts, in pages', async () => {
    const scope = 'app=default/list=1';
    const records = [];
    for (let n = 0; n < 3; n++) {
      records.push(await pause('needs_clarification', { question: `Nr\u001b[2J ${n}?` }, { scope }));
    }
    const text = await cli(['list', '--scope', scope]);
    expect(text.out.split('\n').map((line) => line.split(/ {2,}/)[0])).toEqual(['ID', ...records.map(({ id }) => id)]);
    expect(text.out).not.toContain('\u001b');
    const first = JSON.parse((await cli(['list', '--scope', scope, '--limit', '2', '--json'])).out);
    const rest = JSON.parse((await cli(['list', '--scope', scope, '--after', first.next, '--json'])).out);
    expect([...first.records, ...rest.records].map(({ id }) => id)).toEqual(records.map(({ id }) => id));
    expect(rest.next).toBeUndefined();
    await cli(['stop', records[0]!.id, '--scope', scope]);
    expect(JSON.parse((await cli(['list', '--scope', scope, '--json'])).out).records).toHaveLength(2);
    const cancelled = await cli(['list', '--scope', scope, '--status', 'cancelled', '--json']);
    expect(JSON.parse(cancelled.out).records.map(({ id }: ContinuationRecord) => id)).toEqual([records[0]!.id]);
    expect((await cli(['list', '--scope', 'tenant=other'])).out).toBe('Nothing waits.');
  });

  test('get shows the question, the call, what to type; and nothing outside the scope', async () => {
    const request = { id: 'call-7', name: 'refund', arguments: '{"amount": 7}' };
    const { id, suspension } = await pause('awaiting_approval', { question: 'Refund 7?', request });
    const shown = (await cli(['get', id])).out;
    for (const part of ['Refund 7?', 'refund {"amount": 7}', suspension.digest]) expect(shown).toContain(part);
    expect(shown).toContain(`npx continuations approve ${id} --suspension ${suspension.id}`);
    const record = JSON.parse((await cli(['get', id, '--json', '--state'])).out);
    expect(record).toMatchObject({ id, state: { question: 'Refund 7?' } });
    expect(await cli(['get', id, '--scope', 'tenant=other'])).toMatchObject({ code: 2, out: '' });
    expect(await cli(['get', 'nonsense'])).toMatchObject({ code: 2, error: expect.stringContaining('not_found') });
  });

  test('watch follows one to its end; receipts tell how it went', async () => {
    const { id } = await pause('needs_clarification', { question: 'Which?' });
    const watching = cli(['watch', id]);
    await cli(['reply', id, 'this', '--until', 'finished']);
    const watched = await watching;
    expect(watched.code).toBe(0);
    expect(watched.out.split('\n').at(-1)).toMatch(/ completed \[user_reply by tester/);
    const lines = (await cli(['receipts', id, '--json'])).out;
    const receipts = lines.split('\n').map((line) => JSON.parse(line));
    expect(receipts.map(({ kind }) => kind)).toEqual(['created', 'admitted', 'started', 'settled', 'delivered']);
    expect((await cli(['receipts', id])).out).toContain('admitted');

    const { receiptsHead } = (await stack.handle(id).result()) as { receiptsHead: string };
    const verify = (text: string, ...words: string[]) =>
      cli(['verify', ...words], { env: {}, input: async () => text });
    const whole = await verify(lines, '--head', receiptsHead);
    expect(whole).toMatchObject({ code: 0, out: expect.stringContaining(`5 receipts of ${id} are whole`) });
    const edited = await verify(lines.replace('tester', 'nobody'), '--head', receiptsHead);
    expect(edited).toEqual({ code: 2, out: '', error: 'edited: receipt 2 was edited, or the one before it.' });
    const cut = lines.split('\n').slice(0, 4).join('\n');
    expect((await verify(cut)).code).toBe(0);
    expect(await verify(cut, '--head', receiptsHead)).toMatchObject({
      code: 2,
      error: expect.stringMatching(/^cut_off/),
    });
    expect(await cli(['verify', '/nowhere'])).toMatchObject({ code: 1, error: expect.stringContaining('ENOENT') });
  });
});

describe('managing', () => {
  test('stop ends, extend moves the deadline later', async () => {
    const { id } = await pause('needs_clarification', { question: 'Which?' });
    const extended = await cli(['extend', id, '2d', '--json']);
    expect(extended.code).toBe(0);
    expect(Date.parse(JSON.parse(extended.out).record.bounds.expiresAt)).toBeGreaterThan(Date.now() + 47 * 3_600_000);
    expect(await cli(['extend', id, 'tomorrow'])).toMatchObject({
      code: 1,
      error: expect.stringContaining('is no time'),
    });
    expect((await cli(['stop', id])).out).toBe(`Done: ${id} is cancelled (cancelled_by_user).`);
    expect(await cli(['reply', id, 'x'])).toMatchObject({
      code: 2,
      error: expect.stringContaining('already_terminal'),
    });
  });

  test('delete takes what has ended, and nothing else', async () => {
    const { id } = await pause('needs_clarification', { question: 'Which?' });
    const refused = await cli(['delete', id]);
    expect(refused).toMatchObject({ code: 2, error: expect.stringContaining('stop it first') });
    expect((await cli(['get', id])).code).toBe(0);
    await cli(['stop', id]);
    expect(await cli(['delete', id])).toMatchObject({ code: 0, out: `Deleted: ${id}.` });
    expect(await cli(['get', id])).toMatchObject({ code: 2, error: expect.stringContaining('not_found') });
    expect(await cli(['delete', id])).toMatchObject({ code: 2, error: expect.stringContaining('not_found') });
  });

  test('keys are made, listed and revoked inside the scope, and only the maker sees the secret', async () => {
    const made = await cli([
      'keys',
      'create',
      '--subject',
      'alice',
      '--permissions',
      'answer,read',
      '--expires',
      '30d',
      '--scope',
      'app=keys',
    ]);
    expect(made).toMatchObject({ code: 0, error: expect.stringContaining('only time') });
    const token = made.out.trim();
    const listed = await cli(['keys', 'list', '--scope', 'app=keys']);
    expect(listed.out).toContain('alice');
    expect(listed.out).toContain('ends in 29 d');
    expect(listed.out).not.toContain(token.slice(-43));
    const [id] = /key_[0-9A-Z]{26}/.exec(token) ?? [];
    expect(await cli(['keys', 'revoke', id as string, '--scope', 'app=other'])).toMatchObject({ code: 2 });
    expect(await cli(['keys', 'revoke', id as string, '--scope', 'app=keys'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('Revoked'),
    });
    expect((await cli(['keys', 'list', '--scope', 'app=keys'])).out).toContain('revoked');
    expect(await cli(['keys', 'create'])).toMatchObject({
      code: 1,
      error: expect.stringContaining('--subject is needed'),
    });
    expect(await cli(['keys', 'create', '--subject', 'a', '--permissions', 'root'])).toMatchObject({
      code: 1,
      error: expect.stringContaining('no permission "root"'),
    });
  });

  test('migrate has nothing to do on an up-to-date database', async () => {
    expect(await cli(['migrate'])).toMatchObject({ code: 0, out: 'Nothing to do: the tables are up to date.' });
  });
});

describe('doctor', () => {
  const levels = (said: Said) =>
    Object.fromEntries(
      JSON.parse(said.out).findings.map((one: { check: string; level: string }) => [one.check, one.level]),
    );

  test('healthy servers: nothing to do', async () => {
    const said = await cli(['doctor', '--json']);
    expect(levels(said)).toMatchObject({
      database: 'ok',
      migrations: 'ok',
      clock: 'ok',
      temporal: 'ok',
      namespace: 'ok',
      worker: 'ok',
    });
    expect(said.code).toBe(EXIT.done);
    expect((await cli(['doctor'])).out).toContain(`ok       worker: polls ${stack.taskQueue}`);
  });

  test('a queue that nobody polls, and a namespace that is not there', async () => {
    const env = { DATABASE_URL: stack.databaseUrl, TEMPORAL_ADDRESS: inject('temporalAddress') };
    const idle = await cli(['doctor', '--json'], { env: { ...env, CONTINUATIONS_TASK_QUEUE: 'nobody-here' } });
    expect(levels(idle)).toMatchObject({ namespace: 'ok', worker: 'fault' });
    expect(idle.code).toBe(EXIT.failed);
    const nowhere = await cli(['doctor'], { env: { ...env, TEMPORAL_NAMESPACE: 'no-such' } });
    expect(nowhere.out).toContain('FAULT    namespace: no-such does not exist. Create it');
    expect(nowhere.code).toBe(EXIT.failed);
  });

  test('a namespace where our search attributes are not registered works, though not as well', async () => {
    const namespace = `bare-${Date.now()}`;
    const create = ['operator', 'namespace', 'create', '--address', stack.address, namespace];
    await promisify(execFile)(inject('temporalCli'), create);
    const env = {
      DATABASE_URL: stack.databaseUrl,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: namespace,
    };
    const found = async () => levels(await cli(['doctor', '--json'], { env }));
    // A new namespace shows after a moment.
    await expect.poll(found, { timeout: 30_000 }).toMatchObject({ namespace: 'ok', 'search attributes': 'warning' });
    expect((await cli(['doctor'], { env })).out).toMatch(
      /warning {2}search attributes: missing: ContinuationStatus, .* `continuations worker` registers them when it may/,
    );
    await ensureSearchAttributes(stack.connection, namespace);
    await expect.poll(found, { timeout: 30_000 }).toMatchObject({ 'search attributes': 'ok' });
  });

  test('a database without our tables', async () => {
    const url = new URL(stack.databaseUrl);
    url.pathname = '/postgres';
    const env = { DATABASE_URL: url.href, TEMPORAL_ADDRESS: inject('temporalAddress') };
    const said = await cli(['doctor'], { env });
    expect(said.out).toMatch(/FAULT {4}migrations: missing: .*Run `continuations migrate`/);
    expect(said.code).toBe(EXIT.failed);
  });

  test('servers that are not there are both named, without secrets', async () => {
    const port = await freePort();
    const env = { DATABASE_URL: `postgres://u:s3cret@127.0.0.1:${port}/x`, TEMPORAL_ADDRESS: `127.0.0.1:${port}` };
    const said = await cli(['doctor'], { env });
    expect(said.out).toMatch(/FAULT {4}database: .*Check DATABASE_URL/);
    expect(said.out).toContain(`FAULT    temporal: no server answers at 127.0.0.1:${port}`);
    expect(said.out).not.toContain('s3cret');
    expect(said.code).toBe(EXIT.failed);
  });

  test('clocks: far apart is a fault with its direction, unless the answer was as slow', () => {
    expect(clockFinding(100, 10).level).toBe('ok');
    expect(clockFinding(5_000, 10)).toMatchObject({ level: 'fault', message: expect.stringContaining('5 s behind') });
    expect(clockFinding(-5_000, 10)).toMatchObject({ level: 'fault', message: expect.stringContaining('5 s ahead') });
    expect(clockFinding(5_000, 8_000).level).toBe('ok');
  });
});

describe('mistakes and outages', () => {
  test.each([
    [['aprove', 'x'], /^There is no command "aprove"\. See continuations --help\.$/],
    [['approve'], /^Missing required positional argument: ID\. See continuations approve --help\.$/],
    [['approve', 'x', '--suspention', 'y'], /^There is no option --suspention\./],
    [['approve', 'x', '--suspension'], /^Option --suspension needs a value\./],
    [['reply', 'x', 'two', 'words'], /^Unexpected argument "words": quote text with spaces\./],
    [['list', '--status', 'open-ish'], /^Invalid value for argument: --status/],
    [['list', '--limit', '0'], /^--limit must be 1 to 256\./],
    [['list', '--scope', 'Tenant'], /^invalid_configuration: caller\.scope must be/],
  ])('%j', async (words, expected) => {
    const said = await cli(words);
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.error).toMatch(expected);
    expect(said.error.split('\n')).toHaveLength(1);
  });

  test('servers that do not answer are named, without secrets', async () => {
    const nobody = await freePort();
    const DATABASE_URL = `postgres://me:hunter2@127.0.0.1:${nobody}/app`;
    const noDatabase = await cli(['list'], { env: { DATABASE_URL, TEMPORAL_ADDRESS: inject('temporalAddress') } });
    expect(noDatabase).toMatchObject({
      code: 1,
      error: expect.stringMatching(/^database_unavailable: PostgreSQL did not/),
    });
    expect(noDatabase.error).not.toContain('hunter2');
    const env = { DATABASE_URL: stack.databaseUrl, TEMPORAL_ADDRESS: `127.0.0.1:${nobody}` };
    const noTemporal = await cli(['stop', 'cont_x'], { env });
    expect(noTemporal).toMatchObject({
      code: 1,
      error: expect.stringMatching(/^temporal_unavailable: No Temporal server/),
    });
    expect(await cli(['list'], { env })).toMatchObject({ code: 0 });
  });

  test('without servers it says how to get some', async () => {
    expect(await cli(['list'], { env: {} })).toMatchObject({
      code: 1,
      error: expect.stringMatching(/^invalid_configuration: No database is named .* `npm start`\.$/),
    });
  });

  test('stored is no failure, and says so', () => {
    const out: string[] = [];
    const io = { out: (text: string) => out.push(text) } as unknown as CliIo;
    const report: Report = { json: false, now: new Date(), width: 80 };
    expect(reportAnswer({ ok: true, outcome: 'stored' }, io, report)).toBe(EXIT.done);
    expect(out.join()).toMatch(/^Stored: no worker has taken it yet\./);
  });
});

describe('help', () => {
  test('an overview with servers and exit codes', async () => {
    const { code, out } = await cli(['--help']);
    expect(code).toBe(0);
    for (const { name, description } of commands) expect(out).toContain(`${name.padEnd(11)}  ${description}`);
    expect(out).toMatch(/Exit codes: 0 accepted, stored or done; 1 .*; 2 refused/);
    expect(await cli([])).toMatchObject({ code: 1, out: '', error: out });
    expect((await cli(['--version'])).out).toMatch(/^temporal-continuations \d/);
  });

  test.each(commands.map(({ name }) => name))(
    '%s --help has examples and no colours when it is piped',
    async (name) => {
      const { code, out } = await cli([name, '--help']);
      expect(code).toBe(0);
      expect(out).toContain(`EXAMPLES\n\n  continuations ${name}`);
      expect(out).not.toContain('\u001b');
      expect((await cli(['help', name])).out).toBe(out);
    },
  );
});

describe('words', () => {
  test('text of others cannot move the cursor', () => {
    expect(plain('a\u001b[2J\r\nb\u202ec\u0007')).toBe('a [2J b c');
  });
  test('durations, tables, quoting', () => {
    expect([0, 999, 61_000, 3_600_000, 90_061_000].map(duration)).toEqual([
      '0 s',
      '0 s',
      '1 min 1 s',
      '1 h',
      '1 d 1 h',
    ]);
    expect(table(['A', 'B'], [['x', 'a long text that is cut']], 23)).toBe('A  B\nx  a long text that is…');
    expect(commandLine(['reply', 'id', "it's"])).toBe(`reply id 'it'\\''s'`);
  });
});
