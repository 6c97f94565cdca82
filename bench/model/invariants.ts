/** What must be true of every state, of every step, and of every state in which nothing more has to happen. */
import { isTerminal } from '../../src/record.ts';
import type { ContinuationRecord, Winner } from '../../src/schema.ts';
import type { State } from './world.ts';

export type Invariant = 'C1' | 'C4' | 'C5' | 'C6' | 'C7' | 'C8' | 'C10' | 'C11' | 'C13' | 'C14';
export interface Problem {
  readonly invariant: Invariant;
  readonly what: string;
}
type Check = (after: State, before: State) => string | undefined | false;

const rowOf = ({ db }: State): ContinuationRecord | undefined => db.row?.record;

const CHECKS: readonly (readonly [Invariant, Check])[] = [
  ['C1', oneWinner],
  ['C4', inTime],
  ['C5', recordedFirst],
  ['C6', endsOnce],
  ['C7', nothingTwice],
  ['C8', unknownStaysUnknown],
  ['C10', terminalIsFinal],
  ['C11', deliveryIsTold],
  ['C13', hasDeadlineAndOwner],
  ['C14', onlyForward],
];

export function problemsOf(after: State, before: State): Problem[] {
  return CHECKS.flatMap(([invariant, check]) => {
    const what = check(after, before);
    return what ? [{ invariant, what }] : [];
  });
}

/** Everybody who was told a winner of a suspension was told the same one, and the row knows no other. */
function oneWinner(state: State): string | undefined {
  const answers = rowOf(state)?.answers ?? [];
  const winners = new Map(answers.map(({ suspensionId, messageId }) => [suspensionId, messageId]));
  if (winners.size < answers.length) return 'two answers were accepted for one suspension';
  for (const [name, { suspensionId, messageId }] of winnersTold(state)) {
    const known = winners.get(suspensionId);
    if (known && known !== messageId) return `${name} was told that ${messageId} won; it is ${known}`;
    winners.set(suspensionId, messageId);
  }
  return undefined;
}

/** Who was told whom as the winner. After a reset a refusal may have named an answer that was thrown away; what was accepted counts. */
function winnersTold({ ledger }: State): [string, Winner][] {
  return Object.entries(ledger.told).flatMap(([name, told]): [string, Winner][] => {
    const counts = 'accepted' in told || ('refused' in told && !ledger.reset);
    return counts && told.winner ? [[name, told.winner]] : [];
  });
}

/** All answers are given before the deadline: none of them is too late while the question still waits. */
function inTime({ ledger, workflow, db }: State): string | undefined {
  const tooLate = Object.entries(ledger.told).find(([, told]) => 'refused' in told && told.refused === 'expired');
  const expired = workflow.record.status === 'expired' || db.row?.record.status === 'expired';
  return tooLate && !expired ? `${tooLate[0]} answered in time, and was told that it is too late` : undefined;
}

/** A question is visible when its workflow can take the answer, and a workflow runs when its row is there. */
function recordedFirst({ db, workflow, ledger }: State): string | undefined {
  if (workflow.status === 'none') return undefined;
  if (!db.row) return 'a workflow runs whose row is not there';
  const { record } = db.row;
  const ahead = record.status === 'pending' && workflow.record.revision < record.revision;
  const hears = workflow.status !== 'running' || ledger.reset;
  return ahead && !hears ? `${record.suspension.id} is visible, and its workflow does not know it yet` : undefined;
}

function endsOnce({ ledger, db }: State): string | undefined {
  const stolen = ledger.ends.find((end) => end.endsWith('by another'));
  if (stolen) return `${stolen.replace(' by another', '')}: written by an execution that does not hold it`;
  for (const [turnId, turn] of Object.entries(db.turns)) {
    const ends = ledger.ends.filter((end) => end === `settled ${turnId}`).length + (turn.state === 'closed' ? 1 : 0);
    if (ends > 1) return `${turnId} ended twice`;
    const row = db.row?.record;
    const current = row?.lineage.at(-1) === turnId;
    if (turn.state === 'closed' && row && current && !isTerminal(row))
      return `${turnId} is closed, and its continuation goes on`;
  }
  return undefined;
}

/** A run of the harness needs the recorded end of the one before; a follow-up arrives once. */
function nothingTwice({ ledger }: State): string | undefined {
  for (const turnId of new Set(ledger.runs.map((run) => run.slice(0, run.lastIndexOf(':'))))) {
    const runs = ledger.runs.filter((run) => run.startsWith(`${turnId}:`)).length;
    const recorded = ledger.ends.filter((end) => end === `ended ${turnId}`).length;
    if (runs > recorded + 1) return `${turnId} ran ${runs} times, with ${recorded} recorded ends`;
  }
  const twice = ledger.arrived.find((id, index) => ledger.arrived.indexOf(id) < index);
  return twice && `the follow-up of ${twice} arrived twice`;
}

/** Unknown only where an execution was lost; and what ran without a recorded end is not told as not having run. */
function unknownStaysUnknown(state: State): string | undefined {
  const { ledger, db } = state;
  const row = rowOf(state);
  const { resume, delivery } = row ?? {};
  if (resume?.uncertain && !ledger.doubtful.includes(resume.turnId))
    return `${resume.turnId} is unknown, and nothing was lost`;
  if (delivery?.uncertain && resume && !ledger.doubtful.includes(resume.turnId))
    return `the follow-up of ${resume.turnId} is unknown, and nothing was lost`;
  const turnId = resume?.turnId ?? '';
  const ran = ledger.runs.some((run) => run.startsWith(`${turnId}:`));
  if (row?.status === 'expired' && resume && ran)
    return `${turnId} ran, and its answer is told as expired before it started`;
  const decided = db.turns[turnId]?.state === 'uncertain' && row && (isTerminal(row) || row.resume?.outcome);
  return decided ? `${turnId} was unknown, and is told as ${row?.status} without anybody’s decision` : undefined;
}

function terminalIsFinal(after: State, before: State): string | undefined {
  const was = rowOf(before);
  const is = rowOf(after);
  return was && isTerminal(was) && is !== was
    ? `${was.status} (revision ${was.revision}) became ${is?.status}`
    : undefined;
}

function deliveryIsTold(state: State): string | undefined {
  const row = rowOf(state);
  if (!row || !isTerminal(row)) return undefined;
  const { status } = row.delivery;
  const arrived = state.ledger.arrived.includes(row.resume?.turnId ?? '');
  if ((status as string) === 'pending_delivery') return 'it has ended, and its follow-up is still to come';
  if (status === 'delivered' && !arrived) return 'its follow-up is told as delivered, and did not arrive';
  if (status !== 'delivered' && !row.delivery.uncertain && arrived)
    return `its follow-up arrived, and is told as ${status}`;
  return undefined;
}

function hasDeadlineAndOwner(state: State): string | undefined {
  const row = rowOf(state);
  if (row?.status === 'pending' && !row.bounds.expiresAt && !row.bounds.neverExpires)
    return 'it waits without a deadline';
  if (row && !isTerminal(row) && state.workflow.status === 'ended')
    return `its workflow has closed, and its row is ${row.status}`;
  return undefined;
}

function onlyForward(after: State, before: State): string | undefined {
  const was = rowOf(before);
  const is = rowOf(after);
  if (!was || was === is) return undefined;
  if (!is) return 'the row is gone';
  return is.revision <= was.revision ? `revision ${was.revision} was overwritten with ${is.revision}` : undefined;
}

/** Nothing more has to happen: it has ended, or it waits, and whoever waits for it is there. */
export function restingProblems(state: State): Problem[] {
  const { db, workflow, processes, ledger } = state;
  const row = db.row?.record;
  const problem = (what: string): Problem[] => [{ invariant: 'C13', what }];
  if (!row) return [];
  const forgotten = winnersTold(state).find(
    ([, won]) => !row.answers.some(({ messageId }) => messageId === won.messageId),
  );
  if (forgotten)
    return [{ invariant: 'C1', what: `${forgotten[1].messageId} was told as the winner, and the row never knows it` }];
  const waiting = processes.find(({ zombie }) => !zombie);
  if (waiting) return problem(`${waiting.name} never ends`);
  // After a reset it may not hear what a zombie of the run before has ended; whoever stops it finds it ended.
  const heard = workflow.status !== 'running' || ledger.reset;
  if (isTerminal(row)) return heard ? [] : problem('it has ended, and its workflow runs on');
  if (workflow.status !== 'running') return problem(`it is ${row.status}, and no workflow owns it`);
  const { main } = workflow;
  const waits = (main.at === 'waiting' && row.status === 'pending') || (main.at === 'asking' && row.resume?.uncertain);
  const behind = ledger.reset && main.at === 'waiting' && main.due !== undefined && isStale(workflow.record, row);
  return waits || behind ? [] : problem(`its row is ${row.status}, and its workflow is ${main.at}`);
}

/** A workflow that was reset waits for an older question; it follows the row at that one's deadline at the latest. */
function isStale(known: ContinuationRecord, row: ContinuationRecord): boolean {
  return known.status === 'pending' && known.answers.length < row.answers.length;
}
