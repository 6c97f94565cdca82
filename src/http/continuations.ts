/** Creating, reading and deleting continuations. */
import { z } from 'zod';
import { notFound } from '../caller.ts';
import { id, text } from '../schema/primitives.ts';
import type { CreateContinuationInput } from '../schema.ts';
import { ContinuationId, Scope, WaitType } from '../schema.ts';
import { readState, writeState } from '../wire-state.ts';
import { operation } from './operation.ts';
import { refused } from './problem.ts';

const create = operation({
  name: 'createContinuation',
  method: 'post',
  path: '/v1/continuations',
  summary: 'Store the pause of a stopped turn',
  description:
    'The same input again returns the first record. State that is not JSON is sent as {"text" or "base64", "mediaType"} and kept byte for byte.',
  permissions: ['create'],
  body: 'CreateInput',
  answers: {
    201: { description: 'Stored; `started: false` when Temporal could not be reached yet.', schema: 'Created' },
    200: { description: 'It had been stored before.', schema: 'Created' },
  },
  problems: ['create_conflict'],
  async handle({ c, client, body }) {
    const result = await client.create(readState(body) as unknown as CreateContinuationInput);
    if (!result.ok) throw refused(result.refusal);
    const { ok: _, ...created } = result;
    c.header('location', `/v1/continuations/${created.record.id}`);
    return c.json(created, created.created ? 201 : 200);
  },
});

/** A continuation, before it where it stands in the order of the list. */
const Cursor = z
  .string()
  .regex(
    /^(([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}Z|infinity)~)?cont_[0-9A-HJKMNP-TV-Z]{26}$/,
    'must be the next of a page',
  );

const list = operation({
  name: 'listContinuations',
  method: 'get',
  path: '/v1/continuations',
  summary: 'List continuations',
  permissions: ['read'],
  query: z.object({
    scope: Scope.optional().meta({ description: 'This scope and those below it; default: the whole of your own.' }),
    status: z
      .enum([
        'open',
        'ended',
        'uncertain',
        'pending',
        'resuming',
        'completed',
        'failed',
        'cancelled',
        'expired',
        'superseded',
      ])
      .optional(),
    waitFor: WaitType.optional(),
    sessionId: id.optional(),
    assistantId: id.optional(),
    text: text
      .max(200)
      .optional()
      .meta({ description: 'Words of the question, or of the names of the calls that wait; beginnings will do.' }),
    order: z.enum(['deadline', 'latest']).optional().meta({
      description: 'deadline: what is due first, first; latest: what changed last, first. Default: oldest first.',
    }),
    after: Cursor.optional().meta({ description: 'The `next` of the page before.' }),
    limit: z.coerce.number<string>().int().min(1).max(256).optional().meta({ description: 'Default 50.' }),
  }),
  answers: { 200: { description: 'A page.', schema: 'Page' } },
  async handle({ c, client, query }) {
    const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
    return c.json(await client.list(given));
  },
});

const INCLUDES = ['asked', 'state', 'result', 'executions'] as const;
const get = operation({
  name: 'getContinuation',
  method: 'get',
  path: '/v1/continuations/{id}',
  summary: 'Read one continuation',
  permissions: ['read'],
  query: z.object({
    include: z
      .string()
      .regex(
        /^(asked|state|result|executions)(,(asked|state|result|executions)){0,3}$/,
        'must be of asked, state, result, executions',
      )
      .optional()
      .meta({ description: 'More to tell, joined by commas: asked, state, result, executions.' }),
  }),
  answers: { 200: { description: 'The record.', schema: 'ContinuationView' } },
  problems: ['not_found'],
  async handle({ c, client, id: continuationId, query }) {
    const asked = query.include?.split(',') ?? [];
    const record = await client.get({ continuationId, include: INCLUDES.filter((one) => asked.includes(one)) });
    if (!record) throw refused(notFound().refusal);
    return c.json('state' in record ? { ...record, state: writeState(record.state) } : record);
  },
});

const receipts = operation({
  name: 'listReceipts',
  method: 'get',
  path: '/v1/continuations/{id}/receipts',
  summary: 'The receipts of a continuation, oldest first',
  permissions: ['read'],
  answers: { 200: { description: 'All of them.', schema: 'Receipts' } },
  problems: ['not_found'],
  async handle({ c, client, id: continuationId }) {
    const found = ContinuationId.safeParse(continuationId).success ? await client.receipts(continuationId) : null;
    if (!found) throw refused(notFound().refusal);
    return c.json({ receipts: found });
  },
});

const remove = operation({
  name: 'deleteContinuation',
  method: 'delete',
  path: '/v1/continuations/{id}',
  summary: 'Delete an ended continuation with all that belongs to it',
  permissions: ['operate', 'create'],
  answers: { 204: { description: 'Deleted.' } },
  problems: ['not_found'],
  async handle({ c, client, id: continuationId }) {
    const result = await client.delete(continuationId);
    if (!result.ok) throw refused(result.refusal);
    return c.body(null, 204);
  },
});

export const continuationOperations = [create, list, get, receipts, remove];
