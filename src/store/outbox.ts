/** Messages for a relay; an acknowledged one leaves its id, so that a repeat is known. */
import { sql } from 'kysely';
import type { Outbox, OutboxEntry } from '../access-ports.ts';
import { json } from './parameters.ts';
import type { Connection } from './retry.ts';
import { within } from './scope.ts';

export function createOutbox({ run }: Connection): Outbox {
  return {
    addEntry: ({ id, scope, message }) =>
      run(async (db) => {
        await sql`
          insert into continuations.outbox (id, scope, message) values (${id}, ${scope}, ${json(message)}::jsonb)
          on conflict do nothing`.execute(db);
      }),
    entries: (scope, limit) =>
      run(async (db) => {
        const { rows } = await sql<OutboxEntry>`
          select id, scope, message from continuations.outbox where message is not null and ${within('scope', scope)}
          order by created_at, id limit ${limit}`.execute(db);
        return rows;
      }),
    acknowledge: (scope, ids) =>
      run(async (db) => {
        await sql`
          update continuations.outbox set message = null where id = any (${[...ids]}::text[]) and ${within('scope', scope)}`.execute(
          db,
        );
      }),
  };
}
