/** Search attributes of a namespace: what goes on without them, and who registers them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { freePort } from '../../src/dev/tcp-port.ts';
import { newContinuationId } from '../../src/ids.ts';
import { ensureSearchAttributes } from '../../src/index.ts';
import { missingSearchAttributes } from '../../src/search-attributes.ts';
import { createStarter } from '../../src/start.ts';
import { type AgentService, startAgentService } from '../support/agent-service.ts';
import { first } from '../support/builders.ts';
import { type Stack, startStack } from '../support/stack.ts';

const bin = fileURLToPath(new URL('../../bin/continuations.js', import.meta.url));
let stack: Stack;
let agent: AgentService;
const folder = mkdtempSync(join(tmpdir(), 'attributes-'));
beforeAll(async () => {
  [stack, agent] = await Promise.all([startStack(), startAgentService()]);
});
afterAll(async () => {
  vi.useRealTimers();
  await agent?.close();
  await stack?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** One without our attributes. */
async function newNamespace(): Promise<string> {
  const namespace = `bare-${newContinuationId().toLowerCase()}`;
  const workflowExecutionRetentionPeriod = { seconds: 86_400 } as never;
  await stack.connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  // A new namespace shows after a moment.
  const missing = () => missingSearchAttributes(stack.connection, namespace).catch(() => []);
  await expect.poll(missing, { timeout: 30_000 }).toHaveLength(4);
  return namespace;
}

test('without them continuations start, and whoever starts them is told once; with them soon after they are registered', async () => {
  const namespace = await newNamespace();
  const temporal = new Client({ connection: stack.connection, namespace });
  const warn = vi.fn();
  const options = { searchAttributes: true, announce: false, directMessages: true, heartbeatTimeoutMs: 10_000 };
  const starter = createStarter(temporal, { taskQueue: stack.taskQueue, ...options }, warn);
  const start = async () => {
    const id = newContinuationId();
    expect(await starter.start({ record: { ...first(), id }, receiptsHead: '' })).toBe('running');
    const { typedSearchAttributes } = await temporal.workflow.getHandle(id).describe();
    return typedSearchAttributes.getAll().map(({ key }) => key.name);
  };
  expect(await start()).toEqual([]);
  expect(await start()).toEqual([]);
  expect(warn).toHaveBeenCalledOnce();

  await ensureSearchAttributes(stack.connection, namespace);
  await expect.poll(() => missingSearchAttributes(stack.connection, namespace), { timeout: 30_000 }).toEqual([]);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
  expect(await start()).toContain('ContinuationStatus');
}, 90_000);

test.each([
  { command: 'worker', says: 'Working on', withAgent: true },
  { command: 'dev', says: 'Ctrl-C ends everything', withAgent: false },
])('`continuations $command` registers them', { timeout: 90_000 }, async ({ command, says, withAgent }) => {
  const namespace = await newNamespace();
  const ports = command === 'dev' ? ['--http-port', `${await freePort()}`] : [];
  const child = spawn(process.execPath, [bin, command, ...ports], {
    cwd: folder,
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: namespace,
      DATABASE_URL: stack.databaseUrl,
      ...(withAgent && { CONTINUATIONS_AGENT_URL: agent.url, CONTINUATIONS_ALLOW_PRIVATE_ADDRESSES: 'true' }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stdout })) if (line.startsWith(says)) break;
    await expect.poll(() => missingSearchAttributes(stack.connection, namespace), { timeout: 30_000 }).toEqual([]);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
});
