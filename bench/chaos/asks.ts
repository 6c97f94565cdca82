/** One continuation from its creation to its last answer, and what its callers were told on the way. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ContinuationClient, ContinuationError, type ResumeResult } from '../../src/index.ts';
import { nowMs } from './clock.ts';
import { between, randomOf } from './random.ts';

export interface Plan {
  readonly index: number;
  readonly pass: string;
  readonly seed: string;
  /** Answered by its session while it is being created; such a one asks once. */
  readonly early: boolean;
  /** No response reaches its caller the first time. */
  readonly dropped: boolean;
  readonly asksAgain: boolean;
}

/** What one of the two who answer was told in the end. */
export interface Told {
  readonly messageId: string;
  /** Whose message the ask was decided by. */
  readonly winner: string | undefined;
  readonly accepted: boolean;
  readonly code?: string;
  readonly at: number;
}
export interface Ask {
  readonly suspensionId: string;
  readonly told: readonly Told[];
}
export interface Played {
  readonly plan: Plan;
  readonly id: string;
  readonly asks: readonly Ask[];
}

const PATIENCE_MS = 180_000;

/** Creates it and answers all it asks; everyone repeats what they say until they are told what came of it. */
export async function play(client: ContinuationClient, plan: Plan): Promise<Played> {
  if (plan.early) return playEarly(client, plan);
  const { id, suspension } = await create(client, plan);
  const asks: Ask[] = [
    { suspensionId: suspension.id, told: await answerTwice(client, plan, 1, { id, suspensionId: suspension.id }) },
  ];
  if (plan.asksAgain) {
    const suspensionId = await nextQuestion(client, id, suspension.id);
    if (suspensionId) asks.push({ suspensionId, told: await answerTwice(client, plan, 2, { id, suspensionId }) });
  }
  return { plan, id, asks };
}

/** Both answer its session from before it is there, and by its id when they find nothing in the session any more. */
async function playEarly(client: ContinuationClient, plan: Plan): Promise<Played> {
  let created = false;
  const impatient = ['alice', 'bob'].map(async (subject) => {
    const message = messageOf(messageIdOf(subject, plan, 1));
    while (!created) {
      const result = await untilAnswered(() =>
        client.as({ subject }).resumeBySession({ ...message, sessionId: sessionOf(plan) }),
      );
      if (result.ok || result.refusal.code !== 'not_found') return;
      await sleep(2);
    }
  });
  const record = await create(client, plan).finally(() => {
    created = true;
  });
  await Promise.all(impatient);
  const told = await answerTwice(client, plan, 1, { id: record.id });
  return { plan, id: record.id, asks: [{ suspensionId: record.suspension.id, told }] };
}

const sessionOf = ({ pass, index }: Plan) => `${pass}-${index}`;

async function create(client: ContinuationClient, plan: Plan) {
  const input = {
    assistantId: 'chaos',
    sessionId: sessionOf(plan),
    originTurnId: sessionOf(plan),
    harnessResult: {
      outcome: 'needs_clarification' as const,
      continuation: { state: { question: 'Which order?', asksAgain: plan.asksAgain } },
    },
  };
  if (plan.dropped) await untilAnswered(() => client.create(input));
  const created = await untilAnswered(() => client.create(input));
  if (!created.ok) throw new Error(`a create was refused: ${created.refusal.message}`);
  return created.record;
}

interface Where {
  readonly id: string;
  readonly suspensionId?: string;
}
const messageIdOf = (subject: string, plan: Plan, ask: number) => `${subject}-${sessionOf(plan)}-${ask}`;
const messageOf = (messageId: string) => ({
  messageId,
  trigger: { type: 'user_reply' as const, message: { text: messageId } },
});

/** Two people at once, each with words of their own. */
function answerTwice(client: ContinuationClient, plan: Plan, ask: number, where: Where): Promise<Told[]> {
  const random = randomOf(plan.seed, plan.index, ask);
  return Promise.all(
    ['alice', 'bob'].map(async (subject) => {
      await sleep(between(random, 0, 3));
      return answer(client.as({ subject }), plan, messageIdOf(subject, plan, ask), where);
    }),
  );
}

async function answer(client: ContinuationClient, plan: Plan, messageId: string, where: Where): Promise<Told> {
  const { id: continuationId, ...about } = where;
  const decided = async () => {
    const deadline = nowMs() + PATIENCE_MS;
    for (;;) {
      const result = await untilAnswered(() => client.resume({ ...messageOf(messageId), continuationId, ...about }));
      if (!result.ok || result.outcome !== 'stored') return result;
      if (nowMs() > deadline) return result;
      await sleep(100);
    }
  };
  if (plan.dropped) await decided();
  return toldOf(messageId, await decided());
}

function toldOf(messageId: string, result: ResumeResult): Told {
  const at = nowMs();
  if (!result.ok) {
    const { code, winner } = result.refusal;
    return { messageId, accepted: false, code, winner: winner?.messageId, at };
  }
  if (result.outcome === 'stored') return { messageId, accepted: false, code: 'stored', winner: undefined, at };
  return { messageId, accepted: true, winner: result.answer.messageId, at };
}

/** The id of the next suspension; none when it ended, or is in an operator's hands. */
async function nextQuestion(client: ContinuationClient, id: string, before: string): Promise<string | undefined> {
  const deadline = nowMs() + PATIENCE_MS;
  for (;;) {
    const record = await untilAnswered(() => client.get({ continuationId: id }));
    if (!record) throw new Error(`${id} is gone`);
    if (record.status === 'pending' && record.suspension.id !== before) return record.suspension.id;
    if (record.resume?.uncertain || (record.status !== 'pending' && record.status !== 'resuming')) return undefined;
    if (nowMs() > deadline) return undefined;
    await sleep(25);
  }
}

/** Says the same again while servers are away, as the client's contract allows. */
export async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  const deadline = nowMs() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const passing = error instanceof ContinuationError && /_unavailable$/.test(error.code);
      if (!passing || nowMs() > deadline) throw error;
      await sleep(100);
    }
  }
}
