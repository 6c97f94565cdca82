/** What people decide about a whole continuation, and that a session was active. */
import type { ManageResult } from '../managing.ts';
import { parseInput } from '../parse.ts';
import { Instant } from '../schema/primitives.ts';
import type { ExtendContinuationInput, ReconcileContinuationInput, StopContinuationInput } from '../schema.ts';
import { type Handled, operation } from './operation.ts';
import { refused } from './problem.ts';

const done = { 200: { description: 'Done.', schema: 'Done' } } as const;

const stop = operation({
  name: 'stopContinuation',
  method: 'post',
  path: '/v1/continuations/{id}/stop',
  summary: 'End a continuation; the first reason is kept',
  permissions: ['operate', 'create'],
  body: 'StopInput',
  answers: { ...done, 202: { description: 'Stored: no worker took it yet.', schema: 'Stored' } },
  problems: ['not_found', 'already_terminal'],
  async handle(request) {
    return told(request, await request.client.stop(inputOf<StopContinuationInput>(request)));
  },
});

const extend = operation({
  name: 'extendContinuation',
  method: 'post',
  path: '/v1/continuations/{id}/extend',
  summary: 'Move the deadline later, while it waits',
  permissions: ['operate', 'create'],
  body: 'ExtendInput',
  answers: done,
  problems: ['not_found', 'already_terminal', 'already_resumed', 'expired', 'attempts_exhausted'],
  async handle(request) {
    return told(request, await request.client.extend(inputOf<ExtendContinuationInput>(request)));
  },
});

const reconcile = operation({
  name: 'reconcileContinuation',
  method: 'post',
  path: '/v1/continuations/{id}/reconcile',
  summary: 'Decide an unknown outcome, on proof',
  permissions: ['operate'],
  body: 'ReconcileInput',
  answers: {
    200: { description: 'Decided. The same request again gets the first receipt.', schema: 'Reconciled' },
  },
  problems: ['not_found', 'already_resumed', 'already_terminal', 'message_conflict'],
  async handle(request) {
    const result = await request.client.reconcile(inputOf<ReconcileContinuationInput>(request));
    if (!result.ok) throw refused(result.refusal);
    const { ok: _, ...reconciled } = result;
    return request.c.json(reconciled);
  },
});

const active = operation({
  name: 'sessionActive',
  method: 'post',
  path: '/v1/sessions/{id}/active',
  summary: 'Note that the user was active in a session',
  permissions: ['answer', 'create'],
  body: 'Activity',
  answers: { 204: { description: 'Noted.' } },
  async handle({ c, client, id, body: { at, ...unknown } }) {
    const [other] = Object.keys(unknown);
    if (other !== undefined)
      throw refused({ code: 'invalid_input', message: `${other} is not known here`, path: other });
    const instant = at === undefined ? undefined : parseInput(Instant, at);
    if (instant && !instant.ok) throw refused({ ...instant.refusal, path: 'at' });
    await client.sessionActive(id, instant?.value);
    return c.body(null, 204);
  },
});

/** What is wrong with it is found by the client. */
function inputOf<T>({ id, body }: Handled): T {
  if ('continuationId' in body)
    throw refused({ code: 'invalid_input', message: 'continuationId is in the path', path: 'continuationId' });
  return { ...body, continuationId: id } as T;
}

function told({ c }: Handled, result: ManageResult): Response {
  if (!result.ok) throw refused(result.refusal);
  const { ok: _, ...outcome } = result;
  return c.json(outcome, outcome.outcome === 'stored' ? 202 : 200);
}

export const managingOperations = [stop, extend, reconcile, active];
