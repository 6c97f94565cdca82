/** `reply`, `approve`, `deny`, `result`, `agent-reply`, `wake`: one answer each. */
import type { ArgsDef } from 'citty';
import { notFound } from '../caller.ts';
import type { Json } from '../json.ts';
import type { ResumeOptions } from '../resuming.ts';
import type { PendingCall, ResumeContinuationInput, WaitCondition } from '../schema.ts';
import { type CliCommand, defineCliCommand, type Session, UsageError } from './command.ts';
import { reportAnswer } from './outcome.ts';

export const ID = { type: 'positional', required: true, description: 'Continuation, cont_…' } as const;
export const answerArgs = {
  suspension: {
    type: 'string',
    valueHint: 'id',
    description: 'The suspension that was shown (sus_…); needed from the second one on.',
  },
  digest: {
    type: 'string',
    valueHint: 'digest',
    description: 'Digest of what was shown; refused when it has changed.',
  },
  'message-id': {
    type: 'string',
    valueHint: 'id',
    description: 'Makes the answer repeatable: the same id and content get the first outcome.',
  },
  until: {
    type: 'enum',
    options: ['accepted', 'settled', 'finished'],
    description: 'Wait until it is accepted (default), its turn has ended, or nothing more happens because of it.',
  },
  timeout: {
    type: 'string',
    valueHint: 'seconds',
    description: 'Longest wait for --until; the answer stands. Default 900.',
  },
} as const satisfies ArgsDef;
interface AnswerArgs {
  readonly suspension: string | undefined;
  readonly digest: string | undefined;
  readonly 'message-id': string | undefined;
  readonly until: ResumeOptions['until'];
  readonly timeout: string | undefined;
}
export type Trigger = ResumeContinuationInput['trigger'];

/**
 * The id that ties the answer to its ask is read from the record. When the record does not wait for this type, the client is
 * asked all the same: it knows which refusal comes first and who won.
 */
export async function answer<T extends WaitCondition['type']>(
  session: Session,
  args: AnswerArgs & { readonly id: string },
  type: T,
  build: (waitFor: Partial<Extract<WaitCondition, { type: T }>>, pending: readonly PendingCall[]) => Trigger,
): Promise<number> {
  const { client, io, report } = session;
  const options = waitOptions(args);
  const record = await client.get({ continuationId: args.id });
  if (!record) return reportAnswer(notFound(), io, report);
  const waitFor = record.waitFor.type === type ? (record.waitFor as Extract<WaitCondition, { type: T }>) : {};
  const trigger = build(waitFor, record.suspension.pending);
  const message = { continuationId: args.id, trigger, ...envelope(args) };
  return reportAnswer(await client.resume(message, options), io, report);
}

export function envelope(
  args: Pick<AnswerArgs, 'suspension' | 'digest' | 'message-id'>,
): Omit<ResumeContinuationInput, 'continuationId' | 'trigger'> {
  return {
    ...(args['message-id'] !== undefined && { messageId: args['message-id'] }),
    ...(args.suspension !== undefined && { suspensionId: args.suspension }),
    ...(args.digest !== undefined && { suspensionDigest: args.digest }),
  };
}

function waitOptions({ until, timeout }: AnswerArgs): ResumeOptions {
  const seconds = timeout === undefined ? undefined : Number(timeout);
  if (seconds !== undefined && !(seconds > 0)) throw new UsageError('--timeout must be a number of seconds.');
  return { ...(until && { until }), ...(seconds !== undefined && { timeoutMs: Math.round(seconds * 1000) }) };
}

/** Sent only where the record waits for another type, and refused for that before ids are compared. */
export const NONE = '(none)';

const reply = defineCliCommand('reply', {
  description: 'Answer a question with words.',
  args: {
    id: { ...ID, required: false, description: 'Continuation, cont_… (leave it out with --session).' },
    text: { type: 'positional', required: false, description: 'What to say.' },
    session: { type: 'string', valueHint: 'id', description: 'Answer what waits in this session.' },
    ...answerArgs,
  },
  examples: [
    "reply cont_01J… 'Order 1042' --suspension sus_01J…",
    "reply --session chat-7 'Order 1042' --until finished",
  ],
  sends: true,
  async run(args, session) {
    const [id, text] = args.session ? [undefined, args.id] : [args.id, args.text];
    if (args.session && args.text !== undefined) throw new UsageError('Name a continuation or a --session, not both.');
    if (text === undefined || (!id && !args.session))
      throw new UsageError('Say which continuation (or --session) and what to reply.');
    const trigger = (waitFor: { correlationKey?: string | undefined }): Trigger => ({
      type: 'user_reply',
      message: { text },
      ...(waitFor.correlationKey && { correlationKey: waitFor.correlationKey }),
    });
    if (id) return answer(session, { ...args, id }, 'user_reply', trigger);
    const { client, io, report } = session;
    const message = { sessionId: args.session ?? '', trigger: trigger({}), ...envelope(args) };
    return reportAnswer(await client.resumeBySession(message, waitOptions(args)), io, report);
  },
});

const result = defineCliCommand('result', {
  description: 'Bring the result of an operation outside.',
  args: {
    id: ID,
    payload: { type: 'positional', required: false, description: 'JSON, or - for standard input.' },
    ...answerArgs,
  },
  examples: [`result cont_01J… '{"status":"delivered"}' --suspension sus_01J…`, 'result cont_01J… - < result.json'],
  sends: true,
  async run(args, session) {
    const text = args.payload === '-' ? await session.io.input() : args.payload;
    const payload = text === undefined ? undefined : parseJson(text, 'The result');
    return answer(session, args, 'external_result', ({ operationId = NONE }) => ({
      type: 'external_result',
      operationId,
      ...(payload !== undefined && { payload }),
    }));
  },
});

const agentReply = defineCliCommand('agent-reply', {
  description: 'Answer in the place of another agent.',
  args: {
    id: ID,
    text: { type: 'positional', required: false, description: 'The answer as text.' },
    content: { type: 'string', valueHint: 'json', description: 'The answer as JSON, instead of text.' },
    performative: {
      type: 'enum',
      options: ['inform', 'refuse', 'failure'],
      default: 'inform',
      description: 'What kind of answer it is.',
    },
    ...answerArgs,
  },
  examples: ["agent-reply cont_01J… 'It fits.' --suspension sus_01J… --as compatibility-agent"],
  sends: true,
  async run(args, session) {
    if (args.content !== undefined && args.text !== undefined)
      throw new UsageError('Give text or --content, not both.');
    const content = args.content === undefined ? args.text : parseJson(args.content, '--content');
    return answer(session, args, 'agent_reply', ({ replyWith = NONE }) => ({
      type: 'agent_reply',
      replyWith,
      performative: args.performative,
      ...(content !== undefined && { content }),
    }));
  },
});

const wake = defineCliCommand('wake', {
  description: 'Wake what sleeps, now.',
  args: { id: ID, ...answerArgs },
  examples: ['wake cont_01J… --suspension sus_01J…'],
  sends: true,
  run: (args, session) =>
    answer(session, args, 'scheduled_wake', ({ wakeUpId = NONE }) => ({ type: 'scheduled_wake', wakeUpId })),
});

export function parseJson(text: string, what: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new UsageError(`${what} is not JSON; text is JSON only in double quotes, such as '"delivered"'.`);
  }
}

export const answerCommands: readonly CliCommand[] = [reply, result, agentReply, wake];
