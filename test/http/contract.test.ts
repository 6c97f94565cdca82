/**
 * The API against its own document: schemathesis makes up requests, sensible and not, and checks every answer. `.ci/run` installs it
 * and says where it is; without `SCHEMATHESIS` this is left out.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpServer, serve } from '../../src/http/serve.ts';
import { createTestApi } from '../support/http.ts';
import { createActors, type Stack, startStack } from '../support/stack.ts';

const schemathesis = process.env.SCHEMATHESIS;
let stack: Stack;
let server: HttpServer;
let token: string;
let configFile: string;
const failures: unknown[] = [];
beforeAll(async () => {
  stack = await startStack({ answerTimeoutMs: 2_000 });
  const api = createTestApi(stack, { requestsPerMinute: 1_000_000, warn: (...told) => failures.push(told) });
  await stack.startWorker({ harness: createActors().harness });
  server = await serve({ fetch: api.app.fetch, host: '127.0.0.1', port: 0, graceMs: 100 });
  const user = await api.user();
  ({ token } = user);
  const { body } = await user.send('POST', '/v1/continuations', {
    assistantId: 'support',
    sessionId: 'session',
    originTurnId: 'turn',
    harnessResult: { outcome: 'needs_clarification', continuation: { state: {} } },
  });
  // One that is there, so that more is met than "not found".
  configFile = join(mkdtempSync(join(tmpdir(), 'schemathesis-')), 'schemathesis.toml');
  writeFileSync(configFile, `[parameters]\n"path.id" = "${body.record.id}"\n`);
});
afterAll(async () => {
  await server?.close();
  await stack?.close();
});

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'ignored_auth',
  'unsupported_method',
];

test.skipIf(!schemathesis)(
  'no answer is a 5xx, of an undocumented status, or of another shape than documented',
  async () => {
    const args = [
      '--config-file',
      configFile,
      'run',
      `${server.url}/openapi.json`,
      '--header',
      `Authorization: Bearer ${token}`,
    ];
    // The stream of events does not end: its own tests read it.
    const limits = [
      '--exclude-path',
      '/v1/events',
      '--checks',
      CHECKS.join(','),
      '--max-examples',
      '40',
      '--seed',
      '1',
    ];
    const ran = await promisify(execFile)(schemathesis as string, [...args, ...limits, '--no-color'], {
      // It leaves files where it runs.
      cwd: dirname(configFile),
      maxBuffer: 64 * 1024 * 1024,
    }).then(
      () => ({ code: 0, text: '' }),
      ({ code, stdout, stderr }) => ({ code, text: `${stdout}\n${stderr}` }),
    );
    expect(failures).toEqual([]);
    expect(ran).toEqual({ code: 0, text: '' });
  },
  300_000,
);
