/** The bare workflow: what any durable pause needs, an update, a timer and two activities, and nothing else. */
import { condition, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';

/** Activities that do nothing. */
export interface BareActivities {
  runTurn(answer: BareAnswer): Promise<string>;
  deliver(result: string): Promise<string>;
}
export interface BareAnswer {
  readonly text: string;
}

export const answerUpdate = defineUpdate<string, [BareAnswer]>('answer');

const { runTurn, deliver } = proxyActivities<BareActivities>({ startToCloseTimeout: '1 minute' });

/** Waits for an answer for an hour at most, runs a turn with it, and delivers the result. */
export async function bare(question: string): Promise<string> {
  let answer: BareAnswer | undefined;
  const accept = (given: BareAnswer) => {
    answer = given;
    return 'accepted';
  };
  const validator = (_given: BareAnswer) => {
    if (answer) throw new Error(`"${question}" was already answered`);
  };
  setHandler(answerUpdate, accept, { validator });
  await condition(() => answer !== undefined, '1 hour');
  return answer ? deliver(await runTurn(answer)) : 'expired';
}
