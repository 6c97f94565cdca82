/** Answers to continuations whose workflow no worker has in memory any more. */
import type { ContinuationClient } from '../../src/index.ts';
import { quantile } from '../numbers.ts';
import { answerTo, succeeded } from '../sides.ts';
import { atOnce } from './at-once.ts';
import { times } from './times.ts';

export interface Answers {
  /** One at a time: answer → its caller knows that it was accepted, or that all was done. */
  readonly acceptedMsP50: number;
  readonly acceptedMsP99: number;
  readonly finishedMsP50: number;
  readonly finishedMsP99: number;
  /** By 16 clients at once. */
  readonly finishedPerSecond: number;
}

const ONE_BY_ONE = 100;
const AT_ONCE = 200;

/** Takes the oldest of `replies` away. */
export async function measureAnswers(client: ContinuationClient, replies: string[]): Promise<Answers> {
  const accepted = await times(replies.splice(0, ONE_BY_ONE), async (id) => {
    succeeded(await client.resume(answerTo(id)));
  });
  const finish = async (id: string) => succeeded(await client.resume(answerTo(id), { until: 'finished' }));
  const finished = await times(replies.splice(0, ONE_BY_ONE), finish);
  const many = replies.splice(0, AT_ONCE);
  const started = performance.now();
  await atOnce(many, finish);
  return {
    acceptedMsP50: quantile(accepted, 0.5),
    acceptedMsP99: quantile(accepted, 0.99),
    finishedMsP50: quantile(finished, 0.5),
    finishedMsP99: quantile(finished, 0.99),
    finishedPerSecond: many.length / ((performance.now() - started) / 1000),
  };
}
