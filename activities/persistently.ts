/** The end of a run exists only in this process until it is written: waits for the database as long as it takes (C7). */
import { Context } from '@temporalio/activity';
import { isContinuationError } from '../src/errors.ts';

export async function persistently<T>(write: () => Promise<T>): Promise<T> {
  const { log, cancellationSignal } = Context.current();
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isContinuationError(error, 'database_unavailable') || cancellationSignal.aborted) throw error;
      log.warn('The database is away; what happened is kept until it can be written', { error: error.message });
    }
  }
}
