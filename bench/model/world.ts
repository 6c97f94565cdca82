/** One state of everything: what is stored, the workflow, all that runs, time, and a ledger of what really happened. */
import type { SignedMessage } from '../../src/message.ts';
import type { ContinuationRecord } from '../../src/schema.ts';
import { closeActivity, deliver, project, runTurn } from './activities.ts';
import { answering, creating, maintenance, stopping, superseding } from './clients.ts';
import type { Without } from './guards.ts';
import type { Ask, Given, Outcome, Program, Reply, Stop } from './programs.ts';
import type { Db } from './store.ts';
import { nameOf, one, remembered, remembering } from './values.ts';
import type { Kind, Workflow } from './workflow.ts';

/** A program that runs somewhere: what it was given, and what it has heard so far. */
export interface Process {
  readonly name: string;
  readonly program: keyof typeof PROGRAMS;
  readonly given: Omit<Given, 'without'>;
  readonly heard: readonly unknown[];
  /** An activity: its place in the workflow's history. */
  readonly n?: number;
  readonly attempt?: number;
  /** Nobody waits for it any more: its worker was given up, it was told to stop, or its workflow is gone. It may go on all the same. */
  readonly zombie?: true;
  /** Told to stop, and waited for. */
  readonly told?: 'to stop';
  /** A client whose update its validator let pass: the record that it looked at. */
  readonly seen?: ContinuationRecord;
}

const PROGRAMS = {
  creating,
  answering,
  stopping,
  superseding,
  maintenance,
  runTurn,
  deliver,
  close: closeActivity,
  open: project,
  project,
} satisfies Record<Kind | string, (given: Given) => Program>;

/** How often each thing may still go wrong, or happen. */
export interface Budget {
  /** Workers taken for dead in the middle of an activity. */
  readonly crashes: number;
  /** Clients that die. */
  readonly deaths: number;
  readonly unheard: number;
  readonly transient: number;
  readonly unknown: number;
  readonly asksAgain: number;
  readonly hours: number;
  readonly resets: number;
  readonly terminations: number;
  readonly givenUp: number;
  readonly passes: number;
  readonly extensions: number;
}

/** What really happened, as nobody in the model can see it. */
export interface Ledger {
  /** Runs of the harness, by turn and attempt. */
  readonly runs: readonly string[];
  /** Follow-ups that reached the user, by delivery. */
  readonly arrived: readonly string[];
  /** Who was last granted a turn. */
  readonly holder: Readonly<Record<string, string>>;
  /** Ends of turns as they were committed; `by another` when the writer did not hold it. */
  readonly ends: readonly string[];
  /** Turns and deliveries of which an execution was given up, told to stop, or said itself that it does not know. */
  readonly doubtful: readonly string[];
  /** Somebody reset the workflow without giving its messages again: an answer that the row did not know was thrown away. */
  readonly reset?: true;
  /** What callers were told about their answer. */
  readonly told: Readonly<Record<string, Reply | { readonly stored: true }>>;
}

export interface State {
  readonly clock: string;
  readonly db: Db;
  readonly workflow: Workflow;
  readonly processes: readonly Process[];
  /** Messages that the server keeps for the workflow. */
  readonly inbox: readonly (SignedMessage | { readonly stop: Stop })[];
  readonly budget: Budget;
  readonly ledger: Ledger;
}

const partName = remembered((part: object) => nameOf(part));

/** Tells a state from every other one. Most steps change one part of it, so the names of parts are kept. */
export function stateName({ clock, db, workflow, processes, inbox, budget, ledger }: State): string {
  const parts = [db, workflow, inbox, budget, ledger, ...processes].map(partName);
  return `${clock} ${parts.join(' ')}`;
}

/** What a process asks for next, or what it came to. */
export type Pending = { readonly ask: Ask } | { readonly outcome: Outcome };

const pendings = remembering<Pending>();
const ofProcess = new Map<string, (process: Process) => Pending>();

/** Runs the program again over what it has heard: it is a function of that. */
export function pendingOf(process: Process, without: Without): Pending {
  const guards = [...without].join();
  const known = ofProcess.get(guards) ?? remembered((one: Process) => compute(one, without));
  ofProcess.set(guards, known);
  return known(process);
}

function compute({ program, given, heard }: Process, without: Without): Pending {
  return pendings(nameOf([program, given, heard, ...without]), () => {
    const run = PROGRAMS[program]({ ...given, without });
    let next = run.next();
    for (const told of heard) next = run.next(told);
    return next.done ? { outcome: next.value } : { ask: withKnownValues(next.value) };
  });
}

function withKnownValues(ask: Ask): Ask {
  const record = 'record' in ask && ask.record ? { record: one(ask.record) } : {};
  const receipt = 'receipt' in ask ? { receipt: one(ask.receipt) } : {};
  return { ...ask, ...record, ...receipt } as Ask;
}
