/** Three customers, five kinds of waiting: what the demonstration plays, against any client whose worker runs the agent. */
import type { EngineHarness } from '../../src/engine/index.ts';
import type { ContinuationClient, ContinuationRecord, ResumeResult, WaitType } from '../../src/index.ts';
import type { Ledger, Refund } from './ledger.ts';
import type { FollowUp, Outbox } from './outbox.ts';
import { type Incoming, receive } from './support.ts';
import type { Shop } from './tools.ts';

export interface Stage {
  readonly client: ContinuationClient;
  readonly agent: EngineHarness;
  readonly shop: Shop;
  readonly ledger: Ledger;
  readonly outbox: Outbox;
  readonly print: (line: string) => void;
}
/** One pause, as it went. */
export interface Waited {
  readonly type: WaitType;
  readonly continuationId: string;
  readonly answeredBy: string;
  readonly channel: string;
  readonly waitedMs: number;
}
export interface Played {
  readonly waited: readonly Waited[];
  readonly records: readonly ContinuationRecord[];
  readonly followUps: readonly FollowUp[];
  readonly refunds: readonly Refund[];
  /** The refusal that the manager who came too late got. */
  readonly tooLate: string;
}

type Trigger = Parameters<ContinuationClient['resume']>[0]['trigger'];
interface Who {
  readonly subject: string;
  readonly channel: string;
}
const WAKE_AFTER_MS = 3_000;
const ENOUGH_MS = 30_000;

/** Plays everything once; throws when something does not go as it must. */
export async function play(stage: Stage): Promise<Played> {
  const scene = openScene(stage);
  const refund = await refundWithApproval(scene);
  const parcel = await parcelAndWake(scene);
  const parts = await colleague(scene);
  return {
    waited: scene.waited,
    records: [refund.record, parcel, parts],
    followUps: stage.outbox.sent(),
    refunds: stage.ledger.refunds(),
    tooLate: refund.tooLate,
  };
}

/** Says what is missing, gets it, asks for leave, gets it, acts once; whoever comes later is told who decided. */
async function refundWithApproval(scene: Scene) {
  const { stage, say } = scene;
  let record = await scene.receive({
    conversation: 'chat-ada',
    customer: 'ada',
    text: 'My kettle arrived broken. I would like my money back.',
  });
  record = await scene.answer(record, { subject: 'ada', channel: 'chat' }, 'It is order 1042.', {
    type: 'user_reply',
    message: { text: 'It is order 1042.' },
  });
  const approvalId = record.waitFor.type === 'approval_resolution' ? record.waitFor.approvalId : '';
  const decided = record.suspension.id;
  record = await scene.answer(record, { subject: 'maria', channel: 'back-office' }, 'approved', {
    type: 'approval_resolution',
    approvalId,
    decision: 'approved',
  });
  const late = await stage.client.as({ subject: 'otto', channel: 'back-office' }).resume({
    continuationId: record.id,
    suspensionId: decided,
    trigger: { type: 'approval_resolution', approvalId, decision: 'denied' },
  });
  const tooLate = late.ok ? 'accepted' : late.refusal.code;
  const winner = late.ok ? undefined : late.refusal.winner;
  say('otto', `denies it a moment later: refused (${tooLate}), ${winner?.decision} by ${winner?.subject}`);
  say(
    'ledger',
    stage.ledger
      .refunds()
      .map(({ refundId, amount }) => `${refundId}: ${amount}`)
      .join(', '),
  );
  return { record, tooLate };
}

/** Waits for the carrier, then for the moment at which the parcel should be there. */
async function parcelAndWake(scene: Scene): Promise<ContinuationRecord> {
  const { stage, say } = scene;
  let record = await scene.receive({
    conversation: 'chat-ben',
    customer: 'ben',
    text: 'Where is my order 2077? It should have been here on Monday.',
  });
  const operationId = record.waitFor.type === 'external_result' ? record.waitFor.operationId : '';
  const arrivesAt = new Date(Date.now() + WAKE_AFTER_MS).toISOString();
  record = await scene.answer(
    record,
    { subject: 'carrier', channel: 'webhook' },
    'found in Leipzig, arrives in 3 seconds',
    {
      type: 'external_result',
      operationId,
      payload: { status: 'found', place: 'the depot in Leipzig', arrivesAt },
    },
  );
  stage.shop.deliver('2077');
  say('courier', 'rings at the door of ben');
  return scene.untilEnd(record);
}

/** Asks another agent; its answer comes over the bus of the agents. */
async function colleague(scene: Scene): Promise<ContinuationRecord> {
  const record = await scene.receive({
    conversation: 'chat-cleo',
    customer: 'cleo',
    text: 'Does the BX-2 battery fit my X100 camera?',
  });
  const replyWith = record.waitFor.type === 'agent_reply' ? record.waitFor.replyWith : '';
  const content = 'the BX-2 fits the X100, with the door of 2024 or newer.';
  return scene.answer(record, { subject: 'parts-agent', channel: 'bus' }, content, {
    type: 'agent_reply',
    replyWith,
    performative: 'inform',
    content,
  });
}

/** The hand that plays: it says what happens, and goes from each question to the next. */
interface Scene {
  readonly stage: Stage;
  readonly waited: Waited[];
  say(who: string, what: string): void;
  receive(incoming: Incoming): Promise<ContinuationRecord>;
  answer(before: ContinuationRecord, who: Who, words: string, trigger: Trigger): Promise<ContinuationRecord>;
  untilEnd(before: ContinuationRecord): Promise<ContinuationRecord>;
}

function openScene(stage: Stage): Scene {
  const began = Date.now();
  const scene: Scene = {
    stage,
    waited: [],
    say(who, what) {
      const seconds = ((Date.now() - began) / 1000).toFixed(1);
      stage.print(`${seconds.padStart(6)} s  ${who.padEnd(12)} ${what}`);
    },
    async receive(incoming) {
      stage.print('');
      scene.say(incoming.customer, `“${incoming.text}”`);
      const received = await receive(stage.agent, stage.client, incoming);
      if (!('waiting' in received)) throw new Error(`the agent did not wait: ${received.said}`);
      scene.say('agent', asks(received.waiting));
      return received.waiting;
    },
    async answer(before, who, words, trigger) {
      scene.say(who.subject, `over ${who.channel}: ${words}`);
      const message = { continuationId: before.id, suspensionId: before.suspension.id, trigger };
      const result = await stage.client.as(who).resume(message, { until: 'finished', timeoutMs: ENOUGH_MS });
      return tell(scene, recordOf(result), before);
    },
    async untilEnd(before) {
      const signal = AbortSignal.timeout(ENOUGH_MS);
      let record = before;
      for await (record of stage.client.watch({ continuationId: before.id, signal })) {
        // Until it ends.
      }
      scene.say('clock', 'the time has come: the agent wakes by itself');
      return tell(scene, record, before);
    },
  };
  return scene;
}

/** What became of an answer: the next question, or the end and its follow-up. */
function tell(
  { stage, say, waited }: Scene,
  record: ContinuationRecord,
  before: ContinuationRecord,
): ContinuationRecord {
  const answer = record.answers.find((one) => one.suspensionId === before.suspension.id);
  if (!answer || (record.status !== 'pending' && record.status !== 'completed'))
    throw new Error(`${record.id} is ${record.status}: ${record.resume?.error?.message ?? record.terminalReason}`);
  const { subject: answeredBy, channel } = answer;
  const waitedMs = Date.parse(answer.receivedAt) - Date.parse(before.suspension.createdAt);
  waited.push({ type: before.waitFor.type, continuationId: record.id, answeredBy, channel, waitedMs });
  if (record.status === 'pending') say('agent', asks(record));
  else say('agent', `to ${record.userId}: “${followUp(stage, record)}” [${record.status}, ${record.delivery.status}]`);
  return record;
}

function recordOf(result: ResumeResult): ContinuationRecord {
  if (!result.ok) throw new Error(`${result.refusal.code}: ${result.refusal.message}`);
  if (result.outcome !== 'accepted') throw new Error('no worker took the answer');
  return result.record;
}

function asks({ suspension, waitFor }: ContinuationRecord): string {
  return `“${suspension.question}” [waits for ${waitFor.type}]`;
}

function followUp({ outbox }: Stage, record: ContinuationRecord): string {
  return outbox.sent().find(({ conversation }) => conversation === record.sessionId)?.text ?? '(no follow-up)';
}
