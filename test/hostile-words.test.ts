/**
 * Hostile words: whatever is typed at the command line, given to it as a file of receipts, or set in its environment ends with a
 * sentence and an exit code. `FUZZ_CASES` is the number of cases of each property (default 2,000).
 */
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { CliIo } from '../src/cli/io.ts';
import { commands, runCli } from '../src/cli/run.ts';
import { loadConfig } from '../src/config.ts';
import { isContinuationError } from '../src/errors.ts';
import { exportReceipts, verifyReceipts } from '../src/index.ts';
import { numRuns } from './support/hostile.ts';
import { receiptChain } from './support/receipt-chain.ts';

/** What everything inherits: nothing may have been added to it. */
const inherited = Object.getOwnPropertyNames(Object.prototype);
afterEach(() => {
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(inherited);
});

interface Said {
  readonly code: unknown;
  readonly out: string;
  readonly error: string;
}
/** One command in an environment that names no server. */
async function cli(words: readonly string[], input = '', env: CliIo['env'] = {}): Promise<Said> {
  const [out, error]: [string[], string[]] = [[], []];
  const io: CliIo = {
    env,
    cwd: '/',
    userName: 'tester',
    isTerminal: false,
    width: 120,
    now: () => new Date(0),
    out: (text) => out.push(text),
    error: (text) => error.push(text),
    ended: async () => undefined,
    input: async () => input,
  };
  return { code: await runCli(words, io), out: out.join('\n'), error: error.join('\n') };
}

/** Text of every kind, and what means something to parsers of words. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '-', '--', '---', '=', '--=', '-=1', '__proto__', 'constructor', 'toString', 'hasOwnProperty'),
);
/** Without `dev`, which starts servers of its own. */
const names = commands.map(({ name }) => name).filter((name) => name !== 'dev');
const options = [...new Set(commands.flatMap(({ args }) => Object.keys(args)))];
const word = fc.oneof(
  text,
  text.map((name) => `--${name}`),
  text.map((name) => `-${name}`),
  fc.constantFrom(...options).map((name) => `--${name}`),
  fc.constantFrom(...options).map((name) => `--no-${name}`),
  fc.tuple(fc.constantFrom(...options, '__proto__', 'constructor', '__proto__.x'), text).map(([k, v]) => `--${k}=${v}`),
  fc.constantFrom('cont_01KBCDEFGHJKMNPQRSTVWXYZ01', 'happened', '50', '{"a":1}', '1e999'),
);
const command = fc.oneof(fc.constantFrom(...names), word);

describe('the command line', () => {
  test('ends any words with a sentence and 0, 1 or 2, and never with the words of a crash', async () => {
    await fc.assert(
      fc.asyncProperty(command, fc.array(word, { maxLength: 6 }), async (name, words) => {
        const { code, out, error } = await cli([name, ...words]);
        expect([0, 1, 2]).toContain(code);
        expect(out + error).not.toBe('');
        expect(error).not.toMatch(/internal:|\n {4}at |TypeError|RangeError/);
      }),
      { numRuns },
    );
  });

  test('does nothing when no server is named, except for what needs none', async () => {
    const offline = ['verify', 'doctor'];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...names.filter((name) => !offline.includes(name))),
        fc.array(word, { maxLength: 6 }),
        async (name, words) => {
          fc.pre(!words.some((one) => one === '--help' || one === '-h'));
          expect((await cli([name, ...words])).code).toBe(1);
        },
      ),
      { numRuns },
    );
  });
});

describe('verify', () => {
  const receipts = receiptChain(4);
  const whole = exportReceipts(receipts);
  const head = receipts.at(-1)?.digest ?? '';
  const [line = '{}'] = whole.split('\n');
  const members = ['continuationId', 'sequence', 'kind', 'at', 'body', 'digest', '__proto__', 'constructor'];

  test('takes any text for what it is: whole only when it is', async () => {
    expect(await cli(['verify', '--head', head], whole)).toMatchObject({ code: 0 });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.json().map((one) => `${one}\n`),
        ),
        async (given) => {
          expect(verifyReceipts(given)).toMatchObject({ ok: false, message: expect.any(String) });
          const { code, error } = await cli(['verify', '--head', head], given);
          expect(code).toBe(2);
          expect(error).toMatch(/^(malformed|edited|missing|reordered|foreign|cut_off): /);
        },
      ),
      { numRuns },
    );
  });

  test('finds any member of any line replaced by anything', () => {
    const lines = whole.trimEnd().split('\n');
    fc.assert(
      fc.property(fc.nat(lines.length - 1), fc.constantFrom(...members), fc.jsonValue(), (at, member, value) => {
        const before = JSON.parse(lines[at] ?? line);
        fc.pre(JSON.stringify(before[member]) !== JSON.stringify(value));
        const after = JSON.stringify({ ...before, '\u0000': 0 }).replace(
          '"\\u0000":0',
          `${JSON.stringify(member)}:${JSON.stringify(value)}`,
        );
        const changed = lines.with(at, after).join('\n');
        expect(verifyReceipts(changed, { head })).toMatchObject({ ok: false, message: expect.any(String) });
      }),
      { numRuns },
    );
  });
});

describe('the environment', () => {
  const names = [
    'DATABASE_URL',
    'CONTINUATIONS_TASK_QUEUE',
    'CONTINUATIONS_SCOPE',
    'CONTINUATIONS_SUBJECT',
    'CONTINUATIONS_HOST',
    'CONTINUATIONS_PORT',
    'CONTINUATIONS_PUBLIC_URL',
    'CONTINUATIONS_REQUESTS_PER_MINUTE',
    'CONTINUATIONS_JWT_ISSUER',
    'CONTINUATIONS_JWT_JWKS',
    'CONTINUATIONS_AGENT_URL',
    'CONTINUATIONS_AGENT_REPLAYABLE',
    'CONTINUATIONS_WEBHOOK_URL',
    'CONTINUATIONS_ALLOW_PRIVATE_ADDRESSES',
    'TEMPORAL_ADDRESS',
    'TEMPORAL_NAMESPACE',
    'TEMPORAL_TLS',
    'TEMPORAL_API_KEY',
    '__proto__',
  ];

  test('is read, or refused by name and without its values', () => {
    const secret = 'hunter2-hunter2';
    const value = fc.oneof(text, fc.webUrl(), fc.constantFrom('true', '1', `postgres://u:${secret}@h/d`, secret));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (env) => {
        try {
          loadConfig(env);
        } catch (error) {
          expect(isContinuationError(error, 'invalid_configuration')).toBe(true);
          expect((error as Error).message).not.toContain(secret);
        }
      }),
      { numRuns },
    );
  });
});
