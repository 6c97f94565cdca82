/** What a command may touch of the process that runs it; tests bring their own. */
import type { Env } from '../config.ts';

export interface CliIo {
  readonly env: Env;
  readonly cwd: string;
  /** Name of the user of the operating system. */
  readonly userName: string;
  /** Whether a person reads the output. */
  readonly isTerminal: boolean;
  readonly width: number;
  now(): Date;
  /** Writes lines for whoever asked. */
  out(text: string): void;
  /** Writes lines about what went wrong. */
  error(text: string): void;
  /** Resolves when whoever started the command wants it to end. */
  ended(): Promise<void>;
  /** Standard input to its end. */
  input(): Promise<string>;
}
