/**
 * A server process that ends when we end, however we end.
 *
 * It runs in a process group of its own, so that Ctrl-C in a terminal reaches us first and we can close what uses it. A
 * small shell waits on a pipe that only we hold open: when we are killed without a chance to clean up, the pipe closes
 * and the shell stops the server.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const KEPT_LINES = 40;
const running = new Set<ChildProcess>();
let exitHookInstalled = false;

/** What to run, as whom, and who reads its output. */
export interface ChildOptions {
  command: string;
  args: readonly string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** On POSIX: the user to run as, when we are root. */
  user?: { uid: number; gid: number } | undefined;
  log?: ((line: string) => void) | undefined;
}

/** A running server process. */
export interface Child {
  readonly pid: number;
  /** Settles, and never rejects, when the process has ended: with words such as "exit code 1". */
  readonly ended: Promise<string>;
  /** The last lines that it printed. */
  lastLines(): string[];
  /** Sends the signal, and SIGKILL when the process is still there after the grace time. */
  stop(signal: NodeJS.Signals, graceMs: number): Promise<void>;
}

/** Starts the process; rejects with the system's error when it cannot be started at all. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const child = spawn(options.command, options.args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
    ...(options.env && { env: options.env }),
    ...(options.cwd && { cwd: options.cwd }),
    ...options.user,
  });
  const ended = new Promise<string>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  });
  const lines = collectLines(child, options.log);
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  const pid = child.pid ?? -1;
  const releaseGuard = guard(child, pid);
  child.once('exit', releaseGuard);
  return {
    pid,
    ended,
    lastLines: () => [...lines],
    stop: (signal, graceMs) => stop(child, ended, signal, graceMs),
  };
}

function collectLines(child: ChildProcess, log?: (line: string) => void): string[] {
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      log?.(line);
    });
  }
  return lines;
}

/** Sees to it that the child does not survive us; returns what takes the guard away again. */
function guard(child: ChildProcess, pid: number): () => void {
  running.add(child);
  if (!exitHookInstalled) {
    exitHookInstalled = true;
    process.on('exit', () => {
      for (const each of running) each.kill('SIGINT');
    });
  }
  if (process.platform === 'win32') return () => running.delete(child);
  const watcher = spawn('/bin/sh', ['-c', 'read -r _; kill -s INT "$0"', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.on('error', () => {});
  watcher.unref();
  // The pipe must not keep our event loop alive; in Node it is a socket, whatever its type says.
  if (watcher.stdin && 'unref' in watcher.stdin && typeof watcher.stdin.unref === 'function') watcher.stdin.unref();
  return () => {
    running.delete(child);
    watcher.kill('SIGKILL');
  };
}

async function stop(child: ChildProcess, ended: Promise<string>, signal: NodeJS.Signals, graceMs: number) {
  if (child.exitCode !== null || child.signalCode !== null) return void (await ended);
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await ended;
  clearTimeout(timer);
}
