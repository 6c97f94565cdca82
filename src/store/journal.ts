/** The journal of turns that run; what may be written is decided in `sql/journal.ts`, under the fence (C6). */
import { sql } from 'kysely';
import type { BegunEffect, TurnJournal, Turns } from '../ports.ts';
import type { Connection } from './retry.ts';

export type Journals = Pick<Turns, 'writeJournal' | 'readJournal' | 'beginEffect'>;

interface JournalRow {
  tail: string;
  body: string | null;
  attempt: number | null;
  started: { key: string; attempt: number }[] | null;
}

export function createJournals({ run }: Connection): Journals {
  return {
    writeJournal: ({ turnId, fence, events, checkpoint, effect }) =>
      run(async (db) => {
        const numbers = events.map(({ sequence }) => sequence);
        const bodies = events.map(({ body }) => body);
        const { rows } = await sql<{ written: boolean }>`
          select continuations.write_journal(${turnId}, ${fence}, ${numbers}::bigint[], ${bodies}::text[], ${checkpoint ?? null},
            ${effect?.key ?? null}, ${effect?.state ?? null}, ${effect?.value ?? null}, ${effect?.token ?? ''}) as written`.execute(
          db,
        );
        return rows[0]?.written === true;
      }),
    readJournal: (turnId) =>
      run(async (db) => {
        const { rows } = await sql<JournalRow>`
          select (select coalesce(max(sequence), 0) from continuations.journal where turn_id = ${turnId}) as tail,
            (select body from continuations.checkpoints where turn_id = ${turnId}) as body,
            (select attempt from continuations.checkpoints where turn_id = ${turnId}) as attempt,
            (select jsonb_agg(jsonb_build_object('key', key, 'attempt', attempt)) from continuations.effects
              where turn_id = ${turnId} and state = 'started') as started`.execute(db);
        return journalOf(rows[0]);
      }),
    beginEffect: ({ turnId, fence, key, token, againUpTo }) =>
      run(async (db) => {
        const { rows } = await sql<BegunEffect & { value: string | null }>`
          select * from continuations.begin_effect(${turnId}, ${fence}, ${key}, ${token}, ${againUpTo})`.execute(db);
        const { found = 'stale', value } = rows[0] ?? {};
        return { found, ...(typeof value === 'string' && { value }) };
      }),
  };
}

function journalOf(row: JournalRow | undefined): TurnJournal {
  const { tail = '0', body = null, attempt = null, started = null } = row ?? {};
  const checkpoint = body !== null && attempt !== null ? { checkpoint: { body, attempt } } : {};
  return { tail: Number(tail), started: started ?? [], ...checkpoint };
}
