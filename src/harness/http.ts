/**
 * An agent service in any language as the harness: one POST for each attempt of a turn (docs/http-harness.md).
 *
 * C7, C8 what may have had effects is never simply sent again: a connection that broke, a timeout and a 5xx leave the outcome
 * unknown, unless the service declares that it recognises the `Idempotency-Key`.
 */
import { OutcomeUnknown, TransientError } from '../errors.ts';
import type { Harness, ResumedTurn } from '../ports.ts';
import { createPost, type Posted, type PostOptions } from '../post.ts';
import type { HarnessResultInput } from '../schema.ts';
import { readState, writeState } from '../wire-state.ts';

export interface HttpHarnessOptions extends PostOptions {
  /** The service answers a repeated `Idempotency-Key` with the first outcome, so a turn may be sent again. Default false. */
  readonly replayable?: boolean;
}

/** Statuses by which a service says that it did nothing: try again. */
const NOTHING_DONE: ReadonlySet<number> = new Set([408, 425, 429, 503]);

/** Throws `invalid_configuration` for an address or secret that can never work. */
export function httpHarness({ replayable = false, ...options }: HttpHarnessOptions): Harness {
  const post = createPost(options);
  return {
    replayable,
    async runResumedTurn(turn) {
      const { signal, resumedTurnId: id } = turn;
      return resultOf(await post({ id, body: bodyOf(turn), signal }), replayable);
    },
  };
}

function bodyOf({ continuation, trigger, calls, resumedTurnId, attempt }: ResumedTurn): unknown {
  const state = writeState(continuation.continuation.state);
  const sent = { ...continuation, continuation: { ...continuation.continuation, state } };
  return { type: 'turn', resumedTurnId, attempt, continuation: sent, trigger, calls };
}

function resultOf(posted: Posted, replayable: boolean): HarnessResultInput {
  const uncertain = (message: string, cause?: Error) =>
    replayable ? new TransientError(message, { cause }) : new OutcomeUnknown(message, { cause });
  switch (posted.kind) {
    case 'answered':
      return readResult(posted, uncertain);
    case 'too_large':
      throw failure('response_too_large', `The agent service answered ${posted.status} with too many bytes.`);
    case 'unsent':
      throw new TransientError(`The agent service cannot be reached: ${posted.error.message}`, { cause: posted.error });
    case 'forbidden':
      throw failure('forbidden_address', posted.error.message);
    case 'lost':
      throw uncertain(`The connection to the agent service broke: ${posted.error.message}`, posted.error);
    default:
      return posted satisfies never;
  }
}

function readResult(
  { status, text }: Extract<Posted, { kind: 'answered' }>,
  uncertain: (message: string) => Error,
): HarnessResultInput {
  if (NOTHING_DONE.has(status)) throw new TransientError(`The agent service answered ${status}.`);
  if (status >= 500) throw uncertain(`The agent service answered ${status}: whether it did anything is not known.`);
  if (status !== 200) throw failure('agent_refused', `The agent service answered ${status}${saying(text)}`);
  try {
    // What is wrong with it is found where every harness's result is checked.
    return readState({ harnessResult: JSON.parse(text) }).harnessResult as HarnessResultInput;
  } catch {
    throw failure('invalid_input', 'The agent service answered 200 with something that is not JSON.');
  }
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The beginning of what a service says about its refusal. */
function saying(text: string): string {
  const words = text.trim().slice(0, 300);
  return words ? `: ${words}` : '.';
}
