/** A ready output: the final policy, the commit, and what runs only after it. The model is not asked again (003). */
import { assistantMessages } from './model-step.ts';
import { endTurn, failTurn, save, type Turn, type TurnEnd } from './turn.ts';
import type { TurnCommit } from './types.ts';

export async function finish(turn: Turn): Promise<TurnEnd> {
  const { ports, log, state, signal } = turn;
  let output = state.pendingOutput;
  try {
    if (ports.policy?.final) output = await ports.policy.final(output);
  } catch (error) {
    return failTurn(turn, 'policy_error', error);
  }
  if (signal.aborted) return endTurn(turn, 'cancelled');
  const response = state.pendingModelResponse;
  if (response) {
    const said = assistantMessages(response);
    log.note('conversation_updated', { payload: { added: said.length } });
    const messages = [...state.messages, ...said];
    const changes = output === undefined ? {} : { pendingOutput: output };
    const { pendingModelResponse, ...rest } = state;
    turn.state = rest;
    await save(turn, { messages, ...changes });
  } else if (output !== undefined) turn.state = { ...state, pendingOutput: output };
  if (signal.aborted) return endTurn(turn, 'cancelled');
  const end = await endTurn(turn, 'success');
  const postCommitError = await afterCommit(turn, end.commit);
  return postCommitError === undefined ? end : { ...end, postCommitError };
}

/** Never takes the commit back. A start that cannot be written prevents it; an end that cannot be written is no failure. */
async function afterCommit({ ports, log }: Turn, commit: TurnCommit): Promise<unknown> {
  if (!ports.postCommit) return undefined;
  const id = postCommitId(commit);
  try {
    log.note('post_commit_started', { payload: { id } });
    await log.flush();
  } catch (error) {
    return error;
  }
  let failed: unknown;
  try {
    await ports.postCommit.run(commit, id);
    log.note('post_commit_completed', { payload: { id } });
  } catch (error) {
    failed = error;
    log.note('post_commit_failed', { payload: { id } });
  }
  await log.flush().catch(() => undefined);
  return failed;
}

/** The same whenever the same turn is committed again. */
export function postCommitId({ sessionId, turnId }: Pick<TurnCommit, 'sessionId' | 'turnId'>): string {
  return `post_commit:${sessionId.length}:${sessionId}:${turnId.length}:${turnId}`;
}
