/** Files that a command line names. */
import { readFile } from 'node:fs/promises';
import { UsageError } from './command.ts';

export async function readNamedFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}
