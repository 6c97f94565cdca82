/** The example agent through the whole stack: every kind of waiting, one refund, every follow-up delivered. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openLedger } from '../../examples/support-agent/ledger.ts';
import { createOutbox } from '../../examples/support-agent/outbox.ts';
import { play } from '../../examples/support-agent/play.ts';
import { createSupportAgent, receive } from '../../examples/support-agent/support.ts';
import { createShop } from '../../examples/support-agent/tools.ts';
import { type Stack, startStack } from '../support/stack.ts';

let stack: Stack;
const ledgerFile = join(mkdtempSync(join(tmpdir(), 'ledger-')), 'refunds.jsonl');
const shop = createShop();
const ledger = openLedger(ledgerFile);
const outbox = createOutbox();
const agent = createSupportAgent(shop, ledger);
beforeAll(async () => {
  stack = await startStack();
  await stack.startWorker({ harness: agent, delivery: outbox.delivery });
});
afterAll(() => stack?.close());

test('three customers, five kinds of waiting', { timeout: 120_000 }, async () => {
  const lines: string[] = [];
  const played = await play({ client: stack.client, agent, shop, ledger, outbox, print: (line) => lines.push(line) });
  expect(played.waited.map(({ type, answeredBy, channel }) => [type, answeredBy, channel])).toEqual([
    ['user_reply', 'ada', 'chat'],
    ['approval_resolution', 'maria', 'back-office'],
    ['external_result', 'carrier', 'webhook'],
    ['scheduled_wake', 'system', 'timer'],
    ['agent_reply', 'parts-agent', 'bus'],
  ]);
  expect(played.records.map(({ status, delivery }) => [status, delivery.status])).toEqual(
    Array.from({ length: 3 }, () => ['completed', 'delivered']),
  );
  expect(played.followUps.map(({ text }) => text)).toEqual([
    'Your kettle is refunded: €49.90 are on their way back to you (refund-1).',
    'Order 2077 was found at the depot in Leipzig and has just been delivered. Enjoy your desk lamp!',
    'I asked our parts specialist: the BX-2 fits the X100, with the door of 2024 or newer.',
  ]);
  expect(played.tooLate).toBe('already_terminal');
  expect(played.refunds).toHaveLength(1);
  expect(readFileSync(ledgerFile, 'utf8').trim().split('\n')).toHaveLength(1);
  for (const { type } of played.waited) expect(lines.join('\n')).toContain(`[waits for ${type}]`);
});

test('a denied refund pays nothing', { timeout: 60_000 }, async () => {
  const text = 'I want a refund for order 1042.';
  const received = await receive(agent, stack.client, { conversation: 'chat-dora', customer: 'dora', text });
  if (!('waiting' in received) || received.waiting.waitFor.type !== 'approval_resolution')
    throw new Error('no approval');
  const { id, waitFor } = received.waiting;
  const paid = ledger.refunds().length;
  const trigger = { type: 'approval_resolution', approvalId: waitFor.approvalId, decision: 'denied' } as const;
  const denied = await stack.client.resume({ continuationId: id, trigger }, { until: 'finished', timeoutMs: 30_000 });
  expect(denied).toMatchObject({ ok: true, record: { status: 'cancelled', terminalReason: 'approval_denied' } });
  expect(ledger.refunds()).toHaveLength(paid);
});

test('the agent says at once what needs no waiting', async () => {
  const unknown = { conversation: 'chat-eve', customer: 'eve', text: 'Tell me a joke.' };
  expect(await receive(agent, stack.client, unknown)).toEqual({
    said: 'I am sorry, I can help with refunds, parcels and spare parts only.',
  });
  const noOrder = { conversation: 'chat-eve', customer: 'eve', text: 'A refund for order 9999, please.' };
  expect(await receive(agent, stack.client, noOrder)).toEqual({ said: 'I cannot find order 9999.' });
});

test('the ledger pays once for each key, also after a restart', async () => {
  const request = { key: 'chat-x/call_1', order: '1042', amount: '€49.90' };
  const first = await openLedger(ledgerFile).refund(request);
  expect(await openLedger(ledgerFile).refund(request)).toEqual(first);
});

test('npm run demo plays it on servers of its own and ends by itself', { timeout: 240_000 }, async () => {
  const { TEMPORAL_ADDRESS, DATABASE_URL, ...env } = process.env;
  const child = spawn('npm', ['run', 'demo'], { env: { ...env, TEMPORAL_CLI: inject('temporalCli') } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(output).toContain('Refunds made: 1.');
  expect(output).not.toMatch(/at .*\.(ts|js):\d+|"level"|\[INFO\]/);
  expect(code).toBe(0);
});
