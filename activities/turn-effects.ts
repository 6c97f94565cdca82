/**
 * Effects and journal of a turn that runs, under the fence of its grant.
 *
 * C7 an effect that is done is never run again; C8 one that started and has no recorded end is unknown.
 */
import { isContinuationError, OutcomeUnknown } from '../src/errors.ts';
import { newToken } from '../src/ids.ts';
import type { Json } from '../src/json.ts';
import type { BegunEffect, Grant, ResumedTurn, Turns } from '../src/ports.ts';
import { persistently } from './persistently.ts';

export function turnEffects(store: Turns, { record, fence }: Grant): Pick<ResumedTurn, 'effect' | 'journal'> {
  const { turnId, attempt, reconciled } = record.resume;
  const nothingHappened = reconciled?.action === 'did_not_happen' && reconciled.effect === undefined;
  const write: ResumedTurn['journal']['write'] = async (entry) => {
    if (!(await persistently(() => store.writeJournal({ turnId, fence, ...entry })))) throw held(turnId);
  };
  return {
    journal: {
      didNotHappenUpTo: nothingHappened ? (attempt ?? 0) : 0,
      write,
      read: () => persistently(() => store.readJournal(turnId)),
    },
    async effect<T extends Json | undefined>(
      key: string,
      run: (id: string) => Promise<T> | T,
      { idempotent = false }: { readonly idempotent?: boolean } = {},
    ): Promise<T> {
      const token = newToken();
      const begun = await persistently(() => store.beginEffect({ turnId, fence, key, token, again: idempotent }));
      if (begun.found === 'done') return storedValue(begun) as T;
      if (begun.found === 'stale') throw held(turnId);
      if (begun.found === 'started')
        throw new OutcomeUnknown(`Effect ${key} of ${turnId} was started, and its end was never recorded.`);
      try {
        const value = await run(`${turnId}:${key}`);
        const kept = value === undefined ? {} : { value: JSON.stringify(value) };
        await write({ events: [], effect: { key, state: 'done', token, ...kept } });
        return value;
      } catch (error) {
        if (isContinuationError(error, 'transient'))
          await write({ events: [], effect: { key, state: 'undone', token } });
        throw error;
      }
    },
  };
}

function storedValue({ value }: BegunEffect): Json | undefined {
  return value === undefined ? undefined : (JSON.parse(value) as Json);
}

function held(turnId: string): OutcomeUnknown {
  return new OutcomeUnknown(`Turn ${turnId} is held by another execution; nothing of this one counts.`);
}
