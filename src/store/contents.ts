/** Bytes, stored once under scope and digest. */
import { sql } from 'kysely';
import type { Contents } from '../ports.ts';
import { arrays } from './parameters.ts';
import type { Connection } from './retry.ts';

export function createContents({ run }: Connection): Contents {
  return {
    putContents: (scope, id, contents) =>
      run(async (db) => {
        const { digests, bodies } = arrays(contents);
        await sql`select continuations.put_contents(${scope}, ${id}, ${digests}::text[], ${bodies}::bytea[])`.execute(
          db,
        );
      }),
    content: (scope, ref) =>
      run(async (db) => {
        const row = await db
          .selectFrom('continuations.contents')
          .select('bytes')
          .where('scope', '=', scope)
          .where('digest', '=', ref.digest)
          .executeTakeFirst();
        return row ? { ref, bytes: row.bytes } : null;
      }),
  };
}
