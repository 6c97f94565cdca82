/** `dev.json` in the data folder of `npm start`: tells the command line where the servers of this folder listen. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';

export const DEFAULT_DATA_DIR = '.data';
const FILE = 'dev.json';

const StackFile = z.object({
  pid: z.int().positive(),
  /** Absent: the process that wrote this uses a server of the user's, named by the environment. */
  temporalAddress: z.string().optional(),
  databaseUrl: z.string().optional(),
  startedAt: z.string(),
});
/** The servers of a running `npm start`. */
export type StackFile = z.infer<typeof StackFile>;

/** Written whole, and only for its owner to read: it holds a password. */
export function writeStackFile(dataDir: string, stack: StackFile): void {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, FILE);
  const draft = `${path}.${stack.pid}`;
  writeFileSync(draft, `${JSON.stringify(stack, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** Takes the file away, unless another process has written its own since. */
export function removeStackFile(dataDir: string, pid: number): void {
  if (readStackFile(dataDir)?.pid === pid) rmSync(join(dataDir, FILE), { force: true });
}

/** What the folder says, or undefined; `npm start` may have been killed since: see `isAlive`. */
export function readStackFile(dataDir: string): StackFile | undefined {
  try {
    return StackFile.parse(JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Whether the process that wrote the file is still there. */
export function isAlive({ pid }: StackFile): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The data folder of this folder or of one above it, as git finds its repository. */
export function findDataDir(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const dataDir = join(folder, DEFAULT_DATA_DIR);
    if (existsSync(join(dataDir, FILE))) return dataDir;
    if (folder === dirname(folder)) return undefined;
  }
}
