/** Registers the search attributes that tell continuations apart in the Temporal UI. */
import type { Connection } from '@temporalio/client';
import { ContinuationError } from './errors.ts';

/** `temporal.api.enums.v1.IndexedValueType`. */
const TYPES = { ContinuationStatus: 2, ContinuationWait: 2, ContinuationSession: 2, ContinuationExpiresAt: 6 } as const;

/**
 * Registers what is missing in `namespace`; repeating it does no harm. Throws `invalid_configuration` when an attribute of
 * that name has another type (the server would ignore the request silently).
 */
export async function ensureSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace = 'default',
): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.entries(TYPES).filter(([name]) => customAttributes?.[name] === undefined);
  for (const [name, type] of Object.entries(TYPES)) {
    const known = customAttributes?.[name];
    if (known !== undefined && known !== type) {
      throw new ContinuationError(
        'invalid_configuration',
        `Search attribute ${name} of namespace ${namespace} has another type. Remove it, or turn searchAttributes off.`,
      );
    }
  }
  if (missing.length > 0)
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(missing) });
}

/** As `ensureSearchAttributes`; who may not register them is told, and goes on without. */
export async function registerSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
  warn: (message: string) => void,
): Promise<void> {
  try {
    await ensureSearchAttributes(connection, namespace);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    warn(`Search attributes are not registered (${why}); the Temporal UI will not show the status.`);
  }
}

/** The names that are not registered in `namespace`. */
export async function missingSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.keys(TYPES).filter((name) => customAttributes?.[name] === undefined);
}
