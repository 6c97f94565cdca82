/** One pass: clients pause and answer while what the pass names goes wrong; then everything is counted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContinuationClient, ContinuationRecord } from '../../src/index.ts';
import { type Plan, type Played, untilAnswered } from './asks.ts';
import type { Program } from './children.ts';
import type { ClientSettings } from './clients.ts';
import { nowMs } from './clock.ts';
import { type Crew, type Fault, startFaults } from './faults.ts';
import { randomOf } from './random.ts';
import type { Servers } from './servers.ts';
import { type Counts, judge, type Outcome, type Problem } from './verdict.ts';

/** What a pass does besides answering everything twice at once. */
interface Trouble {
  readonly faults?: readonly Fault[];
  /** How many are answered while they are being created. */
  readonly early?: number;
  readonly dropped?: boolean;
  readonly clocksOff?: boolean;
}
export const PASSES = {
  double: {},
  early: { early: 1 },
  dropped: { dropped: true },
  kill: { faults: ['kill'] },
  cut: { faults: ['cut'] },
  database: { faults: ['database'] },
  temporal: { faults: ['temporal'] },
  clock: { clocksOff: true },
  all: { faults: ['kill', 'cut', 'database', 'temporal'], early: 0.05, dropped: true, clocksOff: true },
} as const satisfies Record<string, Trouble>;
export type PassName = keyof typeof PASSES;

export interface PassReport extends Counts {
  readonly pass: PassName;
  readonly turns: number;
  readonly seconds: number;
  /** How often each fault struck. */
  readonly faults: Partial<Record<Fault, number>>;
  readonly problems: readonly Problem[];
}
export interface PassOptions {
  readonly turns: number;
  readonly clients: number;
  readonly seed: string;
  readonly taskQueue: string;
}
/** What passes of a run share. */
export interface Bed {
  readonly servers: Servers;
  readonly crew: Crew;
  /** The computers that clients run on: each has a clock of its own. */
  readonly machines: readonly Program<ClientSettings, readonly Played[]>[];
  readonly client: ContinuationClient;
}

/** Short, so that killed workers are soon missed, and longer than a busy machine is silent. */
export const HEARTBEAT_TIMEOUT_MS = 5_000;
const MINUTE = 60_000;
const ENDS_WITHIN_MS = 2 * MINUTE;
const PLAYED_WITHIN_MS = 60 * MINUTE;
/** By turns, of the machines. */
const CLOCKS_OFF_MS = [-7 * MINUTE, 7 * MINUTE] as const;

export async function runPass(pass: PassName, options: PassOptions, bed: Bed): Promise<PassReport> {
  const { turns, clients, seed, taskQueue } = options;
  const { servers, crew, machines, client } = bed;
  const trouble: Trouble = PASSES[pass];
  const started = nowMs();
  const own = `${seed}/${pass}`;
  const faults = startFaults(trouble.faults ?? [], servers, crew, own);
  const plans = plansOf(pass, turns, own);
  const played = await Promise.all(
    machines.map((machine, number) => {
      const settings = {
        address: servers.address,
        databaseUrl: servers.databaseUrl,
        taskQueue,
        heartbeatTimeoutMs: HEARTBEAT_TIMEOUT_MS,
        clients: clients / machines.length,
        plans: plans.filter(({ index }) => index % machines.length === number),
        clockOffMs: (trouble.clocksOff && CLOCKS_OFF_MS[number % CLOCKS_OFF_MS.length]) || 0,
      };
      return machine.ask(settings, PLAYED_WITHIN_MS);
    }),
  );
  const struck = await faults.stop();
  const outcomes = await Promise.all(played.flat().map((one) => outcomeOf(client, one, servers)));
  const { counts, problems } = judge(outcomes, servers.ledger, crew.killed);
  const seconds = Math.round((nowMs() - started) / 100) / 10;
  return { pass, turns, ...counts, seconds, faults: struck, problems };
}

function plansOf(pass: PassName, turns: number, seed: string): Plan[] {
  const { early = 0, dropped = false }: Trouble = PASSES[pass];
  const random = randomOf(seed);
  return Array.from({ length: turns }, (_, index) => {
    const isEarly = random() < early;
    return { index, pass, seed, early: isEarly, dropped, asksAgain: !isEarly && random() < 0.25 };
  });
}

/** Waits for its end; what is left to an operator is decided as the ledger says. */
async function outcomeOf(client: ContinuationClient, played: Played, servers: Servers): Promise<Outcome> {
  const deadline = nowMs() + ENDS_WITHIN_MS;
  const unknown: { turnId: string; worker: string | undefined }[] = [];
  for (;;) {
    const record = await untilAnswered(() => client.get({ continuationId: played.id }));
    if (!record) throw new Error(`${played.id} is gone`);
    const isOpen = record.status === 'pending' || record.status === 'resuming';
    if (!isOpen || nowMs() > deadline) return { played, record, ended: !isOpen, unknown };
    const { resume } = record;
    if (record.status === 'resuming' && resume?.uncertain) {
      if (!unknown.some((one) => one.turnId === resume.turnId))
        unknown.push({ turnId: resume.turnId, worker: resume.uncertain.worker });
      await decide(client, record, servers);
    }
    if (record.status === 'pending' && played.asks.every(({ suspensionId }) => suspensionId !== record.suspension.id)) {
      // An operator let its turn go on, and it asks again: nobody is there to answer.
      await untilAnswered(() => client.stop({ continuationId: record.id, reason: 'cancelled_by_product' }));
    }
    await sleep(100);
  }
}

async function decide(client: ContinuationClient, record: ContinuationRecord, { ledger }: Servers): Promise<void> {
  if (!record.resume) return;
  const { turnId, attempt } = record.resume;
  const happened = ledger.of('effect', turnId).length > 0;
  await untilAnswered(() =>
    client.reconcile({
      continuationId: record.id,
      turnId,
      attempt,
      ...(happened
        ? { action: 'happened', result: { outcome: 'completed', assistantMessage: { text: 'it happened' } } }
        : { action: 'did_not_happen' }),
      proof: { ref: `ledger:${turnId}`, digest: `sha256:${'0'.repeat(64)}` },
      observedAt: new Date().toISOString(),
    }),
  );
}
