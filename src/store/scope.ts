/** The scope of a read, in SQL. */
import { type RawBuilder, sql } from 'kysely';

/** A scope and those below it, as one range of the bytewise order: '0' follows '/' (C16). */
export function within(column: 'scope' | 'c.scope', scope: string): RawBuilder<boolean> {
  const ref = sql.ref(column);
  return sql<boolean>`(${ref} = ${scope} or (${ref} >= ${`${scope}/`} and ${ref} < ${`${scope}0`}))`;
}
