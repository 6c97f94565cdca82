/** Who takes part, and what may go wrong: small enough that all of it can be looked at. */
import { firstRecord } from '../../src/first-record.ts';
import type { SignedMessage } from '../../src/message.ts';
import type { ContinuationRecord, TerminalReason } from '../../src/schema.ts';
import type { Ask } from './programs.ts';
import { EMPTY } from './store.ts';
import { transitions } from './transitions.ts';
import { one } from './values.ts';
import { type Budget, type Process, pendingOf, type State } from './world.ts';

const NOON = '2026-12-01T12:00:00.000Z';
const MINUTE = 60_000;
const later = (ms: number) => new Date(Date.parse(NOON) + ms).toISOString();

const NOTHING: Budget = {
  crashes: 0,
  deaths: 0,
  unheard: 0,
  transient: 0,
  unknown: 0,
  asksAgain: 0,
  hours: 0,
  resets: 0,
  terminations: 0,
  givenUp: 0,
  passes: 0,
  extensions: 0,
};

interface Setting {
  readonly about: string;
  /** Ids of the messages that are sent; the same id twice is a repeat. */
  readonly answers: readonly string[];
  /** A message that is left with the server, past our client. */
  readonly signal?: string;
  readonly stop?: TerminalReason;
  /** A newer turn of the session. */
  readonly superseded?: true;
  /** Where it begins: nothing is there yet (default), the question waits, or its turn has ended and its follow-up is due. */
  readonly from?: 'waiting' | 'delivering';
  readonly deliver?: false;
  readonly startWithinMs?: number;
  readonly budget: Partial<Budget>;
}

export const SCENARIOS = {
  answers: {
    about: 'two answers and a repeat, a deadline, updates that are not heard of, clients that die',
    answers: ['a', 'b', 'a'],
    from: 'waiting',
    deliver: false,
    budget: { unheard: 1, hours: 1, deaths: 1 },
  },
  turn: {
    about:
      'an answer, a stop, a turn that is tried again or asks again; a worker is lost at any write, or an acknowledgement',
    answers: ['a'],
    stop: 'cancelled_by_user',
    from: 'waiting',
    budget: { crashes: 1, unheard: 1, transient: 1, asksAgain: 1 },
  },
  zombies: {
    about: 'two workers of one turn are lost, and come back',
    answers: ['a'],
    stop: 'cancelled_by_user',
    from: 'waiting',
    deliver: false,
    budget: { crashes: 2 },
  },
  delivery: {
    about: 'a follow-up; two workers are lost at any write, an attempt fails, an acknowledgement is lost',
    answers: ['a'],
    from: 'delivering',
    budget: { crashes: 2, unheard: 1, transient: 1 },
  },
  suppressed: {
    about: 'a follow-up, a stop that suppresses it; a worker is lost, an attempt fails, the activity fails for good',
    answers: ['a'],
    stop: 'session_no_longer_deliverable',
    from: 'delivering',
    budget: { crashes: 1, unheard: 1, transient: 1, givenUp: 1 },
  },
  superseded: {
    about: 'an answer, a newer turn of the session, which may die before it says so; maintenance',
    answers: ['a'],
    superseded: true,
    from: 'waiting',
    budget: { deaths: 1, passes: 1 },
  },
  window: {
    about: 'an answer that has to start in time; a worker is lost, an attempt is tried again',
    answers: ['a'],
    from: 'waiting',
    deliver: false,
    startWithinMs: 5 * MINUTE,
    budget: { hours: 1, crashes: 1, transient: 1 },
  },
  reset: {
    about: 'an answer, another one by a signal; the workflow is reset, and so is older than its row',
    answers: ['a'],
    signal: 'b',
    from: 'waiting',
    deliver: false,
    budget: { resets: 1, extensions: 1 },
  },
  resetEnd: {
    about: 'an answer, a stop; the workflow is reset before or after its end',
    answers: ['a'],
    stop: 'cancelled_by_user',
    from: 'waiting',
    deliver: false,
    budget: { resets: 1, extensions: 1 },
  },
  outside: {
    about: 'creator and clients die, the workflow is terminated; maintenance',
    answers: ['a'],
    budget: { terminations: 1, deaths: 1, passes: 4 },
  },
  everything: {
    about: 'two answers, a deadline, a stop, a lost worker, a lost acknowledgement, a turn that asks again',
    answers: ['a', 'b'],
    stop: 'cancelled_by_user',
    budget: { crashes: 1, unheard: 1, hours: 1, asksAgain: 1, passes: 1 },
  },
} as const satisfies Record<string, Setting>;
export type Scenario = keyof typeof SCENARIOS;
export const isScenario = (name: string): name is Scenario => Object.hasOwn(SCENARIOS, name);

export function initialState(name: Scenario): State {
  const setting: Setting = SCENARIOS[name];
  const { stop, superseded, from, budget } = setting;
  const record = first(setting);
  const answers = setting.answers.map((id, index) =>
    process({ name: `client-${index + 1}`, program: 'answering' }, { message: message(id, record) }),
  );
  const others = [
    ...(stop && !from ? [process({ name: 'stop', program: 'stopping' }, { stop: { reason: stop } })] : []),
    ...(superseded ? [process({ name: 'newer turn', program: 'superseding' })] : []),
  ];
  const creator = process({ name: 'creator', program: 'creating' }, { record });
  const nothing: State = {
    clock: AT,
    db: EMPTY,
    workflow: { status: 'none', record, committed: true, main: { at: 'ready' }, commands: 0, showing: [] },
    processes: [creator],
    inbox: [],
    budget: NOTHING,
    ledger: { runs: [], arrived: [], holder: {}, ends: [], doubtful: [], told: {} },
  };
  const begin = (state: State, ...processes: Process[]): State => ({
    ...state,
    processes: [...state.processes, ...processes],
    // The server has it, and the workflow may hear of it at any time.
    inbox: [
      ...(stop && from ? [{ stop: { reason: stop } }] : []),
      ...(setting.signal ? [message(setting.signal, record)] : []),
    ],
    budget: { ...NOTHING, ...budget },
  });
  if (!from) return begin(nothing, ...answers, ...others);
  const waiting = upTo(nothing, ({ workflow }) => workflow.status === 'running');
  if (from === 'waiting') return begin(waiting, ...answers, ...others);
  const answered = { ...waiting, processes: [...waiting.processes, ...answers] };
  return begin(
    upTo(answered, ({ processes }) => processes.some((one) => asks(one, 'beginDelivery'))),
    ...others,
  );
}

function asks(process: Process, what: Ask['for']): boolean {
  const pending = pendingOf(process, new Set());
  return 'ask' in pending && pending.ask.for === what;
}

/** The state after nothing but what has to happen. */
function upTo(state: State, reached: (state: State) => boolean): State {
  if (reached(state)) return state;
  const [next] = transitions(state, new Set());
  if (!next) throw new Error('it does not get there');
  return upTo(next.state, reached);
}

const AT = later(MINUTE);
function process(of: Pick<Process, 'name' | 'program'>, given: Partial<Process['given']> = {}): Process {
  return { ...of, given: { at: AT, ...given }, heard: [] };
}

/** A pause that waits for a reply. */
function first({ startWithinMs, deliver }: Setting): ContinuationRecord {
  const digest = 'sha256:0000000000000000000000000000000000000000000000000000000000000000' as const;
  const result = firstRecord(
    {
      identity: { id: 'cont', scope: 'app=default', assistantId: 'support', idempotencyKey: 'turn' },
      originTurnId: 'turn',
      outcome: 'needs_clarification',
      delivery: { status: deliver === false ? 'not_applicable' : 'pending_delivery' },
      bounds: { startWithinMs },
      asked: {
        ok: true,
        waitFor: { type: 'user_reply' },
        stopReason: 'clarification_required',
        continuation: {
          id: 'turn:clarification',
          type: 'clarification',
          createdAt: NOON,
          turnId: 'turn',
          resumeToken: 'token',
        },
        suspension: {
          id: 'sus_1',
          question: 'Which one?',
          pending: [],
          state: { digest, bytes: 2, mediaType: 'application/json' },
          digest,
          createdAt: NOON,
        },
      },
    },
    NOON,
  );
  if (!result.ok) throw new Error(result.refusal.message);
  return one(result.record);
}

function message(messageId: string, { suspension }: ContinuationRecord): SignedMessage {
  return one({
    messageId,
    suspensionId: suspension.id,
    trigger: { type: 'user_reply', message: { text: `the answer ${messageId}` } },
    stamp: {
      subject: 'ann',
      verified: true,
      channel: 'api',
      receivedAt: later(MINUTE),
      updateId: `update-${messageId}`,
    },
  });
}
