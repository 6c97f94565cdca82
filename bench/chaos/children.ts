/** Starts the programs of this folder as processes of their own; loading them takes seconds, so that is done ahead. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A program that is loaded and waits to be asked. */
export interface Program<Asked, Answer> {
  readonly pid: string;
  /** One question at a time; throws when the program ends, or takes too long, instead of answering. */
  ask(asked: Asked, withinMs: number): Promise<Answer>;
  /** `kill -9`; resolves when it is gone. */
  kill(): Promise<void>;
}

const LOADED_WITHIN_MS = 120_000;

/** `program.ts` tells what has to be in the file. */
export async function load<Asked extends object, Answer>(file: string): Promise<Program<Asked, Answer>> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let lastWords = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    lastWords = (lastWords + text).slice(-2_000);
  });
  const die = () => child.kill('SIGKILL');
  process.once('exit', die);
  const ended = once(child, 'exit').then(() => process.off('exit', die));
  const tooSoon = ended.then((): never => {
    throw new Error(`${file} ended by itself: ${lastWords}`);
  });
  tooSoon.catch(() => undefined);
  const nextMessage = async (withinMs: number): Promise<Answer> => {
    const signal = AbortSignal.timeout(withinMs);
    const [message] = await Promise.race([once(child, 'message', { signal }), tooSoon]);
    return message;
  };
  await nextMessage(LOADED_WITHIN_MS);
  return {
    pid: `${child.pid}`,
    ask(asked, withinMs) {
      child.send(asked);
      return nextMessage(withinMs);
    },
    async kill() {
      die();
      await ended;
    },
  };
}
