/** Bringing answers. */
import { z } from 'zod';
import type { ResumeOptions, ResumeResult } from '../resuming.ts';
import type { Message } from '../schema.ts';
import { writeState } from '../wire-state.ts';
import { type Handled, operation } from './operation.ts';
import { type HttpCode, type HttpProblem, refused } from './problem.ts';

const LONGEST_WAIT_MS = 10 * 60_000;
const ANSWER_PROBLEMS: readonly HttpCode[] = [
  'not_found',
  'message_conflict',
  'already_terminal',
  'already_resumed',
  'expired',
  'suspension_required',
  'stale_suspension',
  'digest_mismatch',
  'wrong_trigger',
  'wrong_correlation',
  'calls_mismatch',
  'attempts_exhausted',
];
const query = z.object({
  until: z
    .enum(['accepted', 'settled', 'finished'])
    .optional()
    .meta({ description: 'What to wait for: accepted (default), settled: its turn has ended, finished.' }),
  timeoutMs: z.coerce
    .number<string>()
    .int()
    .min(1)
    .max(LONGEST_WAIT_MS)
    .optional()
    .meta({ description: 'Longest wait for `until`; then 504, and the answer stands.' }),
});
const answers = {
  200: {
    description: 'Accepted: this message won its suspension. A repeat gets the first outcome.',
    schema: 'Accepted',
  },
  202: { description: 'Stored: no worker took it yet; it is durable and will be applied once.', schema: 'Stored' },
} as const;
const APPROVALS = 'An approval names the suspension and the digest of what was seen.';

const answer = operation({
  name: 'answerContinuation',
  method: 'post',
  path: '/v1/continuations/{id}/answers',
  summary: 'Answer a continuation',
  description: APPROVALS,
  permissions: ['answer', 'approve', 'bus'],
  query,
  body: 'Message',
  answers,
  problems: [...ANSWER_PROBLEMS, 'wait_timed_out'],
  async handle(request) {
    const message = messageOf(request.body);
    return told(request, await request.client.resume({ ...message, continuationId: request.id }, optionsOf(request)));
  },
});

const answerSession = operation({
  name: 'answerSession',
  method: 'post',
  path: '/v1/sessions/{id}/answers',
  summary: 'Answer what waits in a session',
  description: APPROVALS,
  permissions: ['answer', 'approve', 'bus'],
  query,
  body: 'Message',
  answers,
  problems: [...ANSWER_PROBLEMS, 'ambiguous_session', 'wait_timed_out'],
  async handle(request) {
    const message = messageOf(request.body);
    const result = await request.client.resumeBySession({ ...message, sessionId: request.id }, optionsOf(request));
    return told(request, result);
  },
});

const take = operation({
  name: 'takeContinuation',
  method: 'post',
  path: '/v1/continuations/{id}/take',
  summary: 'Answer, and run the turn yourself',
  description: `The state is handed out once: a repeat is told \`repeated\`. ${APPROVALS}`,
  permissions: ['answer', 'approve', 'bus'],
  body: 'Message',
  answers: { 200: { description: 'The state to resume from, unless there is nothing to run.', schema: 'Taken' } },
  problems: ANSWER_PROBLEMS,
  neverReplayed: true,
  async handle({ c, client, id: continuationId, body }) {
    const result = await client.take({ ...messageOf(body), continuationId });
    if (!result.ok) throw refused(result.refusal);
    const { ok: _, ...taken } = result;
    return c.json('state' in taken ? { ...taken, state: writeState(taken.state) } : taken);
  },
});

/** What is wrong with the rest of it is found by the client. */
function messageOf(body: Handled['body']): Message {
  for (const name of ['continuationId', 'sessionId']) if (name in body) throw invalid(name, 'is in the path');
  const message = body as unknown as Message;
  if (message.trigger?.type !== 'approval_resolution') return message;
  for (const name of ['suspensionId', 'suspensionDigest'] as const)
    if (message[name] === undefined) throw invalid(name, 'is needed: an approval is of what was seen');
  return message;
}

function invalid(path: string, message: string): HttpProblem {
  return refused({ code: 'invalid_input', message: `${path} ${message}`, path });
}

function optionsOf({ c, query: { until, timeoutMs } }: Handled<z.output<typeof query>>): ResumeOptions {
  return { signal: c.req.raw.signal, ...(until && { until }), ...(timeoutMs && { timeoutMs }) };
}

function told({ c }: Handled<z.output<typeof query>>, result: ResumeResult): Response {
  if (!result.ok) throw refused(result.refusal);
  const { ok: _, ...outcome } = result;
  return c.json(outcome, outcome.outcome === 'stored' ? 202 : 200);
}

export const answerOperations = [answer, answerSession, take];
