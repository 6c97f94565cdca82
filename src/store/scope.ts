/** The scope of a read, in SQL. */
import { type RawBuilder, sql } from 'kysely';

/**
 * A scope and those below it: '0' follows '/' in the bytewise order (C16). An index gets one range, in which what only begins like
 * the scope (`a-b` for `a`) is passed over.
 */
export function within(column: 'scope' | 'c.scope', scope: string): RawBuilder<boolean> {
  const ref = sql.ref(column);
  return sql<boolean>`(${ref} >= ${scope} and ${ref} < ${`${scope}0`} and (${ref} = ${scope} or ${ref} >= ${`${scope}/`}))`;
}
