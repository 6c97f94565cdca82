/** Everything that may happen next in a state. */
import { isTerminal } from '../../src/record.ts';
import type { Without } from './guards.ts';
import { afterTask, doubting, noting, perform, turnOf } from './perform.ts';
import type { Ask, Outcome } from './programs.ts';
import { one } from './values.ts';
import { answer, dueAt, ended, extend, goOn, started, stop, type Task, timer, wakes } from './workflow.ts';
import { type Budget, type Process, pendingOf, type State } from './world.ts';

export interface Transition {
  readonly label: string;
  readonly state: State;
  /** Something that need not happen: a fault, time, or a zombie that moves. */
  readonly optional?: true;
}

export function transitions(state: State, without: Without): Transition[] {
  const moves = [
    ...state.processes.flatMap((process) => movesOf(process, state, without)),
    ...workflowMoves(state, without),
    ...faults(state),
    ...maintenancePasses(state, without),
  ];
  return moves.map((move) => ({ ...move, state: withoutIdle(move.state, without) }));
}

/** A zombie that would do nothing more is gone. */
function withoutIdle(state: State, without: Without): State {
  const isIdle = (process: Process) => process.zombie === true && 'outcome' in pendingOf(process, without);
  return state.processes.some(isIdle) ? { ...state, processes: state.processes.filter((one) => !isIdle(one)) } : state;
}

/* Processes */

function movesOf(process: Process, state: State, without: Without): Transition[] {
  if (!mayBegin(state, process)) return [];
  const pending = pendingOf(process, without);
  if ('outcome' in pending) return [ends(state, process, pending.outcome, without)];
  const { ask } = pending;
  if (ask.for === 'update' && without.has('handler') && !process.seen && state.workflow.status === 'running')
    return [validated(state, process, ask)];
  const label = `${process.zombie ? 'zombie ' : ''}${process.name}: ${inWords(ask)}`;
  const optional = process.zombie ? { optional: true as const } : {};
  const done = perform(state, ask, { process, without });
  const heard = done.map(({ state: after, told, how }) => {
    const next = { ...process, heard: [...process.heard, told === null ? null : one(told)] };
    const moved = { ...after, processes: replace(after, process, next) };
    return { ...leaves(moved, next, how ? `${label} → ${how}` : label, without), ...optional };
  });
  const { unheard } = state.budget;
  const [first] = done;
  if (unheard === 0 || !first || first.state.db === state.db) return heard;
  // It is committed, and the acknowledgement is lost: the store asks again, with the same token.
  const lost = { ...first.state, budget: { ...state.budget, unheard: unheard - 1 } };
  return [...heard, { label: `${label}, and does not hear of it`, state: lost, optional: true }];
}

/** Whoever has nothing to tell the workflow, and nothing more to ask for, is done in the same step. */
function leaves(state: State, process: Process, label: string, without: Without): Transition {
  const pending = pendingOf(process, without);
  if ('ask' in pending || (process.n !== undefined && !process.zombie)) return { label, state };
  const gone = { ...state, processes: replace(state, process) };
  if (process.zombie || !('told' in pending.outcome)) return { label, state: gone };
  const told = { ...state.ledger.told, [process.name]: one(pending.outcome.told) };
  return { label: `${label}; ${toldInWords(pending.outcome.told)}`, state: noting(gone, { told }) };
}

/** Without the handler guard: the validator looks at the record, and the handler goes by what it saw. */
function validated(state: State, process: Process, { message }: Extract<Ask, { for: 'update' }>): Transition {
  const seen = { ...process, seen: state.workflow.record };
  return {
    label: `${process.name}: the validator sees ${message.messageId}`,
    state: { ...state, processes: replace(state, process, seen) },
  };
}

/** Nobody answers what is not there; and clients that have not begun are alike: one order of their first steps stands for all. */
function mayBegin({ processes, db, workflow }: State, process: Process): boolean {
  if (process.program === 'creating') return true;
  if (!db.row && workflow.status === 'none') return false;
  if (process.program !== 'answering' || process.heard.length > 0) return true;
  const waiting = processes.filter(({ program, heard }) => program === 'answering' && heard.length === 0);
  return waiting[0] === process;
}

function replace(state: State, process: Process, by?: Process): Process[] {
  return state.processes.flatMap((other) => (other.name !== process.name ? [other] : by ? [by] : []));
}

function inWords(ask: Ask): string {
  switch (ask.for) {
    case 'write':
    case 'endDelivery':
      return `${ask.for} ${ask.record ? `${ask.record.status} (revision ${ask.record.revision})` : 'to try again'}`;
    case 'endTurn':
      return `endTurn ${ask.state} with fence ${ask.fence}`;
    case 'closeTurn':
      return `closeTurn on revision ${ask.basedOn}`;
    case 'update':
    case 'signal':
      return `${ask.for} ${ask.message.messageId}`;
    default:
      return ask.for;
  }
}

/** An activity reports how it ended: Temporal tries it again, or the workflow hears of it. */
function ends(state: State, process: Process, outcome: Outcome, without: Without): Transition {
  const { name, n = 0, attempt = 1, program } = process;
  if ('again' in outcome && !process.told) {
    const again = { ...process, name: `${program}-${n}.${attempt + 1}`, heard: [], attempt: attempt + 1 };
    return { label: `${name}: is tried again`, state: { ...state, processes: replace(state, process, again) } };
  }
  const task = ended(state.workflow, n, outcome, state.clock, without);
  const gone = { ...state, processes: replace(state, process) };
  return { label: `${name}: the workflow hears how it ended`, state: afterTask(gone, task) };
}

function toldInWords(told: Extract<Outcome, { told: unknown }>['told']): string {
  if ('accepted' in told) return `accepted, ${told.repeated ? 'as before' : 'it won'}`;
  if ('refused' in told) return `${told.refused}${told.winner ? `, ${told.winner.messageId} won` : ''}`;
  return 'stored' in told ? 'stored' : told.unheard;
}

/* The workflow */

function workflowMoves(state: State, without: Without): Transition[] {
  const { workflow, clock, inbox } = state;
  if (workflow.status !== 'running') return [];
  const task = (label: string, done: Task): Transition => ({
    label: `workflow: ${label}`,
    state: afterTask(state, done),
  });
  const due = dueAt(workflow);
  const moves = inbox.map((message, index) => {
    const rest = { ...state, inbox: inbox.filter((_, other) => other !== index) };
    return handled(rest, message, without);
  });
  if (wakes(workflow)) moves.push(task(`goes on, ${workflow.record.status}`, goOn(workflow, clock, without)));
  if (due && clock >= due) moves.push(task('its timer fires', timer(workflow, clock, without)));
  // The server does not let it close over a message that it has not seen.
  const leaves = workflow.main.at === 'leaving' && workflow.showing.length === 0 && inbox.length === 0;
  if (leaves)
    moves.push({ label: 'workflow: closes', state: { ...state, workflow: { ...workflow, status: 'ended' } } });
  return moves;
}

function handled(state: State, message: State['inbox'][number], without: Without): Transition {
  const { workflow, clock } = state;
  if ('stop' in message) {
    const heard = afterTask(state, stop(workflow, message.stop, clock, without));
    return { label: `workflow: hears ${message.stop.reason}`, state: heard };
  }
  const after = answer(workflow, message, clock);
  return {
    label: `workflow: takes ${message.messageId} from the server`,
    state: { ...state, workflow: after.workflow },
  };
}

/* What goes wrong, and time */

function faults(state: State): Transition[] {
  return [
    ...crashes(state),
    ...timePasses(state),
    ...resets(state),
    ...extensions(state),
    ...interruptions(state),
    ...givenUp(state),
  ];
}

function spend(state: State, what: keyof Budget): State {
  return { ...state, budget: { ...state.budget, [what]: state.budget[what] - 1 } };
}

/** The worker of an execution is taken for dead: another one begins. It may be dead, or come back. A client dies for good. */
function crashes(state: State): Transition[] {
  const { budget, processes } = state;
  return processes.flatMap((process): Transition[] => {
    const { n, program, attempt = 1, name } = process;
    if (process.zombie || program === 'maintenance') return [];
    if (n === undefined) {
      if (budget.deaths === 0 || process.heard.length === 0) return [];
      const spent = spend(state, 'deaths');
      return [{ label: `${name}: dies`, state: { ...spent, processes: replace(spent, process) }, optional: true }];
    }
    // What `open` and `project` write is written again by whoever comes next.
    if (budget.crashes === 0 || program === 'open' || program === 'project') return [];
    const again: Process = { ...process, name: `${program}-${n}.${attempt + 1}`, heard: [], attempt: attempt + 1 };
    const spent = spend(state, 'crashes');
    const after = { ...spent, processes: [...replace(spent, process, { ...process, zombie: true }), again] };
    const label = `${name}: its worker is taken for dead`;
    return [{ label, state: doubting(after, turnOf(process)), optional: true }];
  });
}

function timePasses(state: State): Transition[] {
  const due = dueAt(state.workflow);
  if (state.budget.hours === 0 || state.workflow.status !== 'running' || !due || due <= state.clock) return [];
  return [{ label: `time passes until ${due}`, state: { ...spend(state, 'hours'), clock: due }, optional: true }];
}

/** A person resets the workflow to its start, or terminates it. */
function resets(state: State): Transition[] {
  const { workflow, budget } = state;
  const cutOff = (spent: State, label: string, after: Partial<State>): Transition => {
    const { processes } = spent;
    const zombies = processes.map((one): Process => (one.n === undefined ? one : { ...one, zombie: true }));
    const doubtful = processes.filter(({ n }) => n !== undefined).map(turnOf);
    return { label, state: doubting({ ...spent, processes: zombies, ...after }, ...doubtful), optional: true };
  };
  const moves: Transition[] = [];
  if (budget.terminations > 0 && workflow.status === 'running')
    moves.push(
      cutOff(spend(state, 'terminations'), 'the workflow is terminated', {
        workflow: { ...workflow, status: 'terminated' },
      }),
    );
  if (budget.resets > 0 && workflow.start)
    moves.push(
      cutOff(noting(spend(state, 'resets'), { reset: true }), 'the workflow is reset to its start', {
        workflow: goOn(started(workflow.start, workflow.commands), state.clock, new Set()).workflow,
      }),
    );
  return moves;
}

/** Its close takes long: what runs is told to stop before the row has decided. */
function interruptions(state: State): Transition[] {
  const { workflow, processes } = state;
  const { main } = workflow;
  if (workflow.status !== 'running' || main.at !== 'busy' || main.closing === undefined || !workflow.stop) return [];
  return processes
    .filter(({ n, zombie, told }) => n === main.n && !zombie && !told)
    .map((one) => ({
      label: `${one.name}: is told to stop before it is closed`,
      state: { ...state, processes: replace(state, one, { ...one, told: 'to stop' }) },
      optional: true,
    }));
}

function extensions(state: State): Transition[] {
  const { workflow, budget, clock } = state;
  const { expiresAt } = workflow.record.bounds;
  if (budget.extensions === 0 || workflow.status !== 'running' || workflow.record.status !== 'pending' || !expiresAt)
    return [];
  const later = new Date(Date.parse(expiresAt) + 3_600_000).toISOString();
  const after = extend(workflow, later, clock);
  if (after === workflow) return [];
  return [
    {
      label: 'workflow: its deadline is extended',
      state: { ...spend(state, 'extensions'), workflow: after },
      optional: true,
    },
  ];
}

/** An activity runs into its start-to-close timeout. */
function givenUp(state: State): Transition[] {
  const { workflow, budget, clock } = state;
  const { main } = workflow;
  if (budget.givenUp === 0 || workflow.status !== 'running' || main.at !== 'busy' || main.end) return [];
  const spent = spend(state, 'givenUp');
  const task = ended(workflow, main.n, { failed: true }, clock, new Set());
  const cut = { ...task, dropped: [...task.dropped, main.n] };
  return [{ label: `${main.kind}-${main.n} fails for good`, state: afterTask(spent, cut), optional: true }];
}

/* Maintenance */

function maintenancePasses(state: State, without: Without): Transition[] {
  const { db, workflow, processes, budget, clock } = state;
  const open = db.row !== undefined && !isTerminal(db.row.record);
  const busy = processes.some(({ program }) => program === 'maintenance');
  const needed = workflow.status !== 'running' || (db.row?.supersededBy !== undefined && workflow.stop === undefined);
  if (!open || busy || !needed || budget.passes === 0 || without.has('maintenance')) return [];
  const name = `maintenance-${budget.passes}`;
  const pass: Process = { name, program: 'maintenance', given: { at: clock }, heard: [] };
  return [{ label: `${name}: begins a pass`, state: { ...spend(state, 'passes'), processes: [...processes, pass] } }];
}
