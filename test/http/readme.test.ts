/** The README's path for other languages, as it is written, in a shell. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { freePort } from '../../src/dev/tcp-port.ts';
import { createTestDatabase } from '../support/database.ts';

const root = new URL('../..', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');
const commands = [...readme.matchAll(/<!-- commands -->\n```sh\n([\s\S]*?)```/g)].map(([, text]) => text).join('\n');

test('the commands of the README work as they are written', async () => {
  const database = await createTestDatabase();
  const [api, agent] = [await freePort(), await freePort()];
  // A clone has no installed command; ports may be taken by others.
  const script =
    `npx() { shift; exec node --import tsx src/cli/main.ts "$@"; }\ntrap 'kill $(jobs -p); wait' EXIT\n${commands}`
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${api}`)
      .replaceAll('8090', String(agent))
      .replace('CONTINUATIONS_TASK_QUEUE=python', `CONTINUATIONS_TASK_QUEUE=readme-${api}`);
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: root,
    env: {
      ...process.env,
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      CONTINUATIONS_PORT: String(api),
    },
  });
  let [out, error] = ['', ''];
  shell.stdout.on('data', (chunk) => {
    out += chunk;
  });
  shell.stderr.on('data', (chunk) => {
    error += chunk;
  });
  const [code] = await once(shell, 'close');
  await database.close();
  expect({ code, error: code === 0 ? '' : error }).toEqual({ code: 0, error: '' });
  expect(out).toContain('Refund of order 1042: the kettle.');
  expect(out).toContain('"kind":"settled"');
}, 120_000);
