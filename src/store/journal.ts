/** The journal of turns that run; what may be written is decided in `sql/journal.ts`, under the fence (C6). */
import { sql } from 'kysely';
import type { BegunEffect, TurnJournal, Turns } from '../ports.ts';
import type { Connection } from './retry.ts';

export type Journals = Pick<Turns, 'writeJournal' | 'readJournal' | 'beginEffect'>;

interface JournalRow {
  tail: string;
  body: string | null;
  attempt: number | null;
  effects: TurnJournal['effects'] | null;
}

export function createJournals({ run, call }: Connection): Journals {
  return {
    async writeJournal({ turnId, fence, events, checkpoint, effect }) {
      const numbers = events.map(({ sequence }) => sequence);
      const bodies = events.map(({ body }) => body);
      const { key, state, value, token = '' } = effect ?? {};
      const entry = [turnId, fence, numbers, bodies, checkpoint, key, state, value, token];
      const { row } = await call<{ write_journal: boolean }>('write_journal', entry);
      return row?.write_journal === true;
    },
    readJournal: (turnId) =>
      run(async (db) => {
        const { rows } = await sql<JournalRow>`
          select (select coalesce(max(sequence), 0) from continuations.journal where turn_id = ${turnId}) as tail,
            (select body from continuations.checkpoints where turn_id = ${turnId}) as body,
            (select attempt from continuations.checkpoints where turn_id = ${turnId}) as attempt,
            (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('key', key, 'state', state, 'value', value)))
              from continuations.effects where turn_id = ${turnId} and (state <> 'done' or value is not null)) as effects`.execute(
          db,
        );
        return journalOf(rows[0]);
      }),
    async beginEffect({ turnId, fence, key, token, again }) {
      const args = [turnId, fence, key, token, again];
      const { row } = await call<BegunEffect & { value: string | null }>('begin_effect', args);
      const { found = 'stale', value } = row ?? {};
      return { found, ...(typeof value === 'string' && { value }) };
    },
  };
}

function journalOf(row: JournalRow | undefined): TurnJournal {
  const { tail = '0', body = null, attempt = null, effects = null } = row ?? {};
  const checkpoint = body !== null && attempt !== null ? { checkpoint: { body, attempt } } : {};
  return { tail: Number(tail), effects: effects ?? [], ...checkpoint };
}
