/** Bytes, stored once under scope and digest. */
import type { Contents } from '../ports.ts';
import { arrays } from './parameters.ts';
import type { Connection } from './retry.ts';

export function createContents({ run, call }: Connection): Contents {
  return {
    async putContents(scope, id, contents) {
      const { digests, bodies } = arrays(contents);
      await call('put_contents', [scope, id, digests, bodies]);
    },
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
