/** What happens when a process gets what it asks for: the state after it, and what the process is told. */
import type { SignedMessage } from '../../src/message.ts';
import { decisionReceipts, receipt } from '../../src/receipts.ts';
import type { ContinuationRecord } from '../../src/schema.ts';
import type { Without } from './guards.ts';
import type { Ask, Harness, Told } from './programs.ts';
import * as store from './store.ts';
import { nameOf, one, remembering } from './values.ts';
import { answer, type Command, goOn, started, type Task } from './workflow.ts';
import type { Ledger, Process, State } from './world.ts';

/** One way in which it can go. */
export interface Performed {
  readonly state: State;
  readonly told: Told[keyof Told];
  readonly how?: string;
}
type Of<K extends Ask['for']> = Extract<Ask, { for: K }>;
/** Who asks, and which guards are left out. */
export interface By {
  readonly process: Process;
  readonly without: Without;
}

const facts = remembering<ReturnType<typeof decisionReceipts>>();
const fact = remembering<ReturnType<typeof receipt>>();
const factOf = (kind: 'created' | 'delivered', record: ContinuationRecord) =>
  fact(`${kind} ${nameOf(record)}`, () => receipt(kind, record));
const factsOf = (record: ContinuationRecord) => facts(nameOf(record), () => decisionReceipts(record));

export function perform(state: State, ask: Ask, by: By): readonly Performed[] {
  const { db, workflow } = state;
  const { without, process } = by;
  const stored = <A extends Told[keyof Told]>([after, told]: store.Result<A>): Performed[] => [
    { state: { ...state, db: after }, told },
  ];
  switch (ask.for) {
    case 'create':
      return stored(store.create(db, ask.record, factOf('created', ask.record)));
    case 'read':
      return stored([db, db.row ? store.shown(db.row) : null]);
    case 'write':
      return stored(store.write(db, ask.record, factsOf(ask.record), without));
    case 'supersede':
      return stored([store.supersede(db, ask.by), {}]);
    case 'beginTurn':
      return beginTurn(state, ask, by);
    case 'endTurn':
      return endTurn(state, ask, by);
    case 'closeTurn':
      return stored(store.closeTurn(db, ask, without));
    case 'beginDelivery':
      return stored(store.beginDelivery(db, { ...ask, ...ownToken(process), idempotent: false }, without));
    case 'endDelivery': {
      const delivered = ask.record && factOf('delivered', ask.record);
      const ending = { ...ask, ...ownToken(process), ...(delivered && { receipt: delivered }) };
      return stored(store.endDelivery(db, ending, without));
    }
    case 'describe':
      return [{ state, told: { status: workflow.status } }];
    case 'start':
      return start(state, ask, without);
    default:
      return outside(state, ask, by);
  }
}

/** What reaches people and the workflow. */
function outside(state: State, ask: Of<'harness' | 'bring' | 'update' | 'signal' | 'stopSignal'>, by: By): Performed[] {
  const { workflow } = state;
  const found = workflow.status === 'running' ? ('stored' as const) : ('gone' as const);
  const left = (message: State['inbox'][number]): Performed[] => [
    { state: found === 'stored' ? { ...state, inbox: [...state.inbox, message] } : state, told: { found } },
  ];
  switch (ask.for) {
    case 'harness':
      return harness(state, by);
    case 'bring':
      return bring(state, ask);
    case 'update':
      return update(state, ask, by);
    case 'signal':
      return left(ask.message);
    case 'stopSignal':
      return left({ stop: ask.stop });
    default:
      return ask satisfies never;
  }
}

const ownToken = ({ name }: Process) => ({ token: name, continuationId: '', at: '' });

/* Turns */

function beginTurn(state: State, { record }: Of<'beginTurn'>, { process, without }: By): Performed[] {
  const { at } = process.given;
  const begin = { record, token: process.name, worker: '', at, replayable: false, receipts: factsOf(record) };
  const [db, begun] = store.beginTurn(state.db, begin, without);
  const granted = begun.found === 'fresh' || begun.found === 'lost';
  const holder = granted ? { ...state.ledger.holder, [record.resume.turnId]: process.name } : state.ledger.holder;
  return [{ state: { ...state, db, ledger: { ...state.ledger, holder } }, told: begun }];
}

function endTurn(state: State, ask: Of<'endTurn'>, { process, without }: By): Performed[] {
  const turnId = turnOf(process);
  const before = state.db.turns[turnId];
  const [db, ended] = store.endTurn(state.db, { ...ask, turnId }, without);
  const commits = before?.state === 'running' && db.turns[turnId]?.state !== 'running';
  if (!commits) return [{ state: { ...state, db }, told: ended }];
  const holds = state.ledger.holder[turnId] === process.name;
  const end = `${ask.state} ${turnId}${holds ? '' : ' by another'}`;
  return [{ state: noting({ ...state, db }, { ends: [...state.ledger.ends, end] }), told: ended }];
}

export const turnOf = ({ given }: Process): string => given.record?.resume?.turnId ?? '';

function harness(state: State, { process }: By): Performed[] {
  const turnId = turnOf(process);
  const { budget } = state;
  const ran = noting(state, { runs: [...state.ledger.runs, `${turnId}:${attemptsOf(state, turnId)}`] });
  const came = (how: Harness, after: State): Performed => ({ state: after, told: { came: how }, how });
  const spending = (one: 'transient' | 'unknown' | 'asksAgain', how: Harness) =>
    budget[one] > 0 ? [came(how, { ...ran, budget: { ...budget, [one]: budget[one] - 1 } })] : [];
  return [
    came('completed', ran),
    ...spending('asksAgain', 'asks again'),
    ...spending('transient', 'transient'),
    ...spending('unknown', 'unknown').map((one) => ({ ...one, state: doubting(one.state, turnId) })),
  ];
}

const attemptsOf = ({ db }: State, turnId: string) => db.turns[turnId]?.attempt ?? 0;

/* Deliveries */

function bring(state: State, { deliveryId }: Of<'bring'>): Performed[] {
  const { budget, ledger } = state;
  const arrived = noting(state, { arrived: [...ledger.arrived, deliveryId] });
  const delivered: Performed = { state: arrived, told: { came: 'delivered' }, how: 'delivered' };
  if (budget.transient === 0) return [delivered];
  const failed = { ...state, budget: { ...budget, transient: budget.transient - 1 } };
  return [delivered, { state: failed, told: { came: 'transient' }, how: 'transient' }];
}

/* The workflow */

function start(state: State, { record }: Of<'start'>, without: Without): Performed[] {
  const { clock } = state;
  const { status, commands } = state.workflow;
  if (status === 'running') return [{ state, told: { found: 'running' } }];
  if (status !== 'none' && !without.has('startOnce')) return [{ state, told: { found: 'ended' } }];
  return [
    {
      state: { ...state, workflow: goOn(started(record, commands), clock, without).workflow },
      told: { found: 'running' },
    },
  ];
}

function update(state: State, { message }: Of<'update'>, { process: { seen }, without }: By): Performed[] {
  const { workflow, budget, clock } = state;
  if (workflow.status !== 'running') return [{ state, told: { unheard: 'gone' } }];
  const answered = answer(workflow, without.has('stamp') ? givenAt(clock, message) : message, clock, seen);
  const handled = { ...state, workflow: answered.workflow };
  const heard: Performed = { state: handled, told: answered.reply };
  if (budget.unheard === 0) return [heard];
  const spent = { ...budget, unheard: budget.unheard - 1 };
  const unanswered = { unheard: 'unanswered' } as const;
  return [
    heard,
    { state: { ...handled, budget: spent }, told: unanswered, how: 'handled, unheard' },
    // It stays with the server, and is handled when a worker comes.
    { state: { ...state, budget: spent, inbox: [...state.inbox, message] }, told: unanswered, how: 'not handled yet' },
  ];
}

const givenAt = (receivedAt: string, message: SignedMessage): SignedMessage =>
  one({ ...message, ...(message.stamp && { stamp: { ...message.stamp, receivedAt } }) });

/** The state after a task of the workflow: its commands run, and what it hears no more of may go on as a zombie. */
export function afterTask(state: State, { workflow, commands, dropped, told }: Task): State {
  const kept = state.processes.map((one): Process => {
    if (isOneOf(one, dropped)) return { ...one, zombie: true };
    return isOneOf(one, told) ? { ...one, told: 'to stop' } : one;
  });
  const doubtful = state.processes.filter((one) => isOneOf(one, dropped)).map(turnOf);
  const processes = [...kept, ...commands.map((command) => running(command, 1))];
  return doubting({ ...state, workflow, processes }, ...doubtful);
}

const isOneOf = ({ n, zombie }: Process, activities: readonly number[]) =>
  n !== undefined && !zombie && activities.includes(n);

function running({ n, kind, ...given }: Command, attempt: number): Process {
  return { name: `${kind}-${n}.${attempt}`, program: kind, given, heard: [], n, attempt };
}

/* The ledger */

export function noting(state: State, more: Partial<Ledger>): State {
  return { ...state, ledger: { ...state.ledger, ...more } };
}

/** An outcome that nobody knows may honestly be called unknown. */
export function doubting(state: State, ...turns: string[]): State {
  const known = state.ledger.doubtful;
  const added = turns.filter((turn) => turn && !known.includes(turn));
  return added.length > 0 ? noting(state, { doubtful: [...known, ...added].sort() }) : state;
}
