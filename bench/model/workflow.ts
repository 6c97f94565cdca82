/**
 * The workflow between two events of its history, after workflows/continuation.ts and life.ts. It is deterministic, so a task that
 * is lost and replayed is the same task; what it decides is decided by the real `step` and `next`.
 */
import { next, step } from '../../src/continuation.ts';
import { answeredEvent, type SignedMessage } from '../../src/message.ts';
import { winnerOf } from '../../src/record.ts';
import type { Answer, ContinuationRecord } from '../../src/schema.ts';
import type { Without } from './guards.ts';
import type { Outcome, Reply, Stop } from './programs.ts';
import { nameOf, one, remembering } from './values.ts';

export type Kind = 'runTurn' | 'deliver' | 'close' | 'open' | 'project';
/** An activity as the workflow asks for it; `n` is its place in the history. */
export interface Command {
  readonly n: number;
  readonly kind: Kind;
  readonly record: ContinuationRecord;
  readonly at: string;
  readonly stop?: Stop;
  readonly onlyIfNotStarted?: boolean;
  readonly leaveFollowUp?: boolean;
}
/** Where the main coroutine stands. */
export type Main =
  | { readonly at: 'ready' }
  | { readonly at: 'waiting'; readonly seen: ContinuationRecord; readonly due?: string }
  | Busy
  | { readonly at: 'closing' | 'projecting'; readonly n: number }
  | { readonly at: 'asking' }
  | { readonly at: 'leaving' };
/** Something is carried out. */
interface Busy {
  readonly at: 'busy';
  readonly n: number;
  readonly kind: 'runTurn' | 'deliver';
  /** When the start window of the turn is over. */
  readonly due?: string;
  /** The close that a stop or the start window asked for, while the turn runs on. */
  readonly closing?: number;
  /** How it ended, when that close has still to be heard. */
  readonly end?: Outcome;
}

export interface Workflow {
  readonly status: 'none' | 'running' | 'terminated' | 'ended';
  /** What it was started with: a reset goes back to it. */
  readonly start?: ContinuationRecord;
  readonly record: ContinuationRecord;
  /** The row knows this record. */
  readonly committed: boolean;
  readonly stop?: Stop;
  readonly shown?: ContinuationRecord;
  readonly main: Main;
  readonly commands: number;
  /** Questions that are being made visible: the workflow does not close before. */
  readonly showing: readonly number[];
}

/** What a task leaves behind: commands to carry out, activities that it hears no more of, and those that it asked to stop. */
export interface Task {
  readonly workflow: Workflow;
  readonly commands: readonly Command[];
  readonly dropped: readonly number[];
  readonly told: readonly number[];
}

export function started(record: ContinuationRecord, commands = 0): Workflow {
  return {
    status: 'running',
    start: record,
    record,
    committed: true,
    shown: record,
    main: { at: 'ready' },
    commands,
    showing: [],
  };
}

const still = (workflow: Workflow): Task => ({ workflow, commands: [], dropped: [], told: [] });

/* Handlers */

const events = remembering<ReturnType<typeof answeredEvent>>();
const eventOf = (message: SignedMessage, now: string) =>
  events(`${nameOf(message)} ${now}`, () => answeredEvent(message, now));

/** Decided on `seen`, the record of this moment: whoever decides on one that was read before accepts twice (C3). */
export function answer(
  w: Workflow,
  message: SignedMessage,
  now: string,
  seen: ContinuationRecord = w.record,
): { workflow: Workflow; reply: Reply } {
  const result = step(seen, eventOf(message, now));
  if (result.ok) {
    const record = one(result.record);
    const winner = winnerOf(record.answers.at(-1) as Answer);
    return { workflow: { ...w, record, committed: false }, reply: { accepted: record, winner } };
  }
  if (result.refusal) return { workflow: w, reply: { refused: result.refusal.code, winner: result.refusal.winner } };
  return { workflow: w, reply: { accepted: w.record, winner: result.repeated, repeated: true } };
}

/** A later deadline. */
export function extend(w: Workflow, expiresAt: string, at: string): Workflow {
  return apply(w, { type: 'extended', at, expiresAt });
}

function apply(w: Workflow, event: Parameters<typeof step>[1]): Workflow {
  const result = step(w.record, event);
  return result.ok && result.record !== w.record ? { ...w, record: one(result.record), committed: false } : w;
}

/** `Life.stop`: now if nothing runs; else what runs is closed under its lock. */
export function stop(w: Workflow, request: Stop, at: string, without: Without): Task {
  const event = { type: 'stopped', at, ...request } as const;
  if (w.record.status !== 'resuming') return still(apply(w, event));
  const result = step(w.record, event);
  if (result.ok && result.record === w.record) return still(w);
  if (without.has('locked')) {
    const closed = apply(w, { type: 'turnClosed', turnId: w.record.resume.turnId, at, ...request });
    const dropped = w.main.at === 'busy' ? [w.main.n] : [];
    return { ...goOn(closed, at, without), dropped };
  }
  const asked = { ...w, stop: w.stop ?? request };
  return w.main.at === 'busy' ? interrupted(asked, w.main, at) : still(asked);
}

/** A turn is closed beside its execution; a follow-up may have arrived, so its execution is told to stop and heard. */
function interrupted(w: Workflow, main: Busy, at: string): Task {
  if (main.closing !== undefined || !w.stop) return still(w);
  if (next(w.record).do === 'deliver') return { ...still(w), told: [main.n] };
  return closeBeside(w, main, at, { stop: w.stop });
}

function closeBeside(w: Workflow, main: Busy, at: string, how: Pick<Command, 'stop' | 'onlyIfNotStarted'>): Task {
  const asked = { kind: 'close', record: w.record, at, leaveFollowUp: true, ...how } as const;
  return command(w, asked, { ...main, closing: w.commands });
}

/* The main coroutine */

/** Goes on from a point where nothing is awaited to the next one where something is. */
export function goOn(w: Workflow, at: string, without: Without): Task {
  const todo = next(w.record);
  switch (todo.do) {
    case 'wait': {
      const main: Main = { at: 'waiting', seen: w.record, ...(todo.at && { due: todo.at }) };
      return show({ ...w, main }, at);
    }
    case 'runTurn':
    case 'deliver': {
      if (w.stop) return close(w, at, without);
      const due = todo.do === 'runTurn' && todo.startBy ? { due: todo.startBy } : {};
      const n = w.commands;
      return command(w, { kind: todo.do, record: w.record, at }, { at: 'busy', n, kind: todo.do, ...due });
    }
    case 'askOperator':
      return w.stop ? close(w, at, without) : show({ ...w, main: { at: 'asking' } }, at);
    case 'finish':
      if (w.committed || without.has('committed')) return still({ ...w, main: { at: 'leaving' } });
      return command(w, { kind: 'project', record: w.record, at }, { at: 'projecting', n: w.commands });
    default:
      return todo satisfies never;
  }
}

function command(w: Workflow, asked: Omit<Command, 'n'>, main: Main): Task {
  const n = w.commands;
  return { ...still({ ...w, main, commands: n + 1 }), commands: [{ n, ...asked }] };
}

function show(w: Workflow, at: string): Task {
  if (w.shown === w.record) return still(w);
  const shown = { ...w, shown: w.record, showing: [...w.showing, w.commands] };
  return command(shown, { kind: 'open', record: w.record, at }, w.main);
}

function close(w: Workflow, at: string, without: Without): Task {
  const { record, stop: request } = w;
  if (record.status !== 'resuming' || !request) return closed(w, at, without);
  return command(w, { kind: 'close', record, at, stop: request }, { at: 'closing', n: w.commands });
}

/** It may have asked again; then the stop meets the new question. */
function closed({ stop: request, ...w }: Workflow, at: string, without: Without): Task {
  return goOn(
    request && w.record.status === 'pending' ? apply(w, { type: 'stopped', at, ...request }) : w,
    at,
    without,
  );
}

/** What the workflow does when a timer that it waits for has fired. */
export function timer(w: Workflow, at: string, without: Without): Task {
  const { main } = w;
  if (main.at === 'waiting') return goOn(w.record === main.seen ? apply(w, { type: 'expired', at }) : w, at, without);
  if (main.at !== 'busy') return still(w);
  const { due, ...runs } = main;
  return closeBeside(w, runs, at, { stop: { reason: 'expired_ttl' }, onlyIfNotStarted: true });
}

/** An activity has ended: it committed something, was cancelled, or failed for good. */
export function ended(w: Workflow, n: number, outcome: Outcome, at: string, without: Without): Task {
  if (w.showing.includes(n)) return still({ ...w, showing: w.showing.filter((other) => other !== n) });
  const { main } = w;
  if (main.at === 'closing') return closed(adopt(w, outcome), at, without);
  if (main.at === 'projecting') return goOn(adopt(w, outcome), at, without);
  if (main.at !== 'busy') return still(w);
  if (main.n !== n) return closedBeside(w, main, outcome, at, without);
  if (main.closing !== undefined) return still({ ...w, main: { ...main, end: outcome } });
  return over(w, outcome, at, without);
}

const adopt = (w: Workflow, outcome: Outcome): Workflow =>
  'committed' in outcome ? { ...w, record: one(outcome.committed), committed: true } : w;

/** The row has decided: the turn is closed, or goes on, or had ended and brings its follow-up. */
function closedBeside(
  w: Workflow,
  { closing, end, ...runs }: Busy,
  outcome: Outcome,
  at: string,
  without: Without,
): Task {
  if (end && 'committed' in end) return over(w, end, at, without);
  if ('started' in outcome) return interrupted({ ...w, main: runs }, runs, at);
  const { stop: request, ...adopted } = adopt(w, outcome);
  const { due, ...brings } = runs;
  const brought = !end && next(adopted.record).do === 'deliver';
  const met: Workflow = { ...adopted, main: brought ? brings : { at: 'ready' } };
  const task = request ? stop(met, request, at, without) : still(met);
  if (brought) return task;
  if (end) return over(task.workflow, end, at, without);
  return { ...goOn(task.workflow, at, without), dropped: [runs.n] };
}

/** What was carried out is over. */
function over(w: Workflow, outcome: Outcome, at: string, without: Without): Task {
  const heard = 'failed' in outcome ? failedForGood(w, at) : adopt(w, outcome);
  return heard.stop ? close(heard, at, without) : goOn(heard, at, without);
}

function failedForGood(w: Workflow, at: string): Workflow {
  const todo = next(w.record);
  if (todo.do !== 'deliver') return { ...w, stop: w.stop ?? { reason: 'resume_runtime_error' } };
  return apply(w, { type: 'deliveryUncertain', at, deliveryId: todo.deliveryId, error: 'its activity failed' });
}

/** Whether the main coroutine has something to go on with. */
export function wakes({ main, record, stop: request }: Workflow): boolean {
  if (main.at === 'waiting') return main.seen !== record;
  return main.at === 'ready' || (main.at === 'asking' && request !== undefined);
}

/** When its timer fires, if it has one. */
export function dueAt({ main }: Workflow): string | undefined {
  if (main.at === 'waiting') return main.due;
  return main.at === 'busy' && main.closing === undefined ? main.due : undefined;
}
