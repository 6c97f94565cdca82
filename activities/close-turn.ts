/** Closes a turn for a stop, or for an answer that did not start in time. */
import { closeTurn } from '../src/close.ts';
import { createClock } from './clock.ts';
import type { Activities } from './contract.ts';
import type { ActivityDeps } from './deps.ts';

export function createCloseTurn(deps: Pick<ActivityDeps, 'store' | 'trace'>): Activities['closeTurn'] {
  return ({ record, turnId, now, onlyIfNotStarted = false, leaveFollowUp = false, ...stop }) =>
    closeTurn(deps, { record, turnId, onlyIfNotStarted, leaveFollowUp, stop: { ...stop, at: createClock(now)() } });
}
