/** The database's clock, to compare others with. */
import { sql } from 'kysely';
import { type DatabaseOptions, openDatabase } from './open.ts';

export async function databaseTime(options: DatabaseOptions): Promise<Date> {
  const db = openDatabase({ ...options, poolSize: 1 });
  try {
    const { rows } = await sql<{
      at: string;
    }>`select (extract(epoch from clock_timestamp()) * 1000)::text as at`.execute(db);
    return new Date(Number(rows[0]?.at));
  } finally {
    await db.destroy();
  }
}
