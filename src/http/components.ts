/** The schemas of the API's document, made from the same zod schemas that check the input and the stored rows. */
import { z } from 'zod';
import { Instant } from '../schema/primitives.ts';
import {
  Answer,
  ContinuationRecord,
  CreateInput,
  ExtendInput,
  HarnessResult,
  Message,
  ReconcileInput,
  StopInput,
} from '../schema.ts';
import { PROBLEMS } from './problem.ts';

type JsonSchema = Record<string, unknown>;

/** Whoever gave an answer also gets back what it said. */
const Winner = Answer.omit({ input: true, calls: true, permissions: true, metadata: true }).loose();
const Receipt = z.strictObject({
  continuationId: z.string(),
  sequence: z.int().min(1),
  kind: z.string(),
  cause: z.string(),
  at: Instant,
  body: z.string(),
  digest: z.string(),
});
const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.enum(Object.keys(PROBLEMS) as [string, ...string[]]),
  path: z.string().optional(),
  winner: Winner.optional(),
  continuationStatus: z.string().optional(),
});

function schemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...made } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema !== Instant) return;
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema];
      Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
    },
  }) as JsonSchema;
  return made;
}

/** Input without the continuation, which is in the path. */
function ofPath(schema: z.ZodType): JsonSchema {
  const made = schemaOf(schema) as { properties: JsonSchema; required: string[] };
  const { continuationId: _, ...properties } = made.properties;
  return { ...made, properties, required: made.required.filter((name) => name !== 'continuationId') };
}

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: JsonSchema, required = Object.keys(properties)): JsonSchema => ({
  type: 'object',
  properties,
  required,
});
const outcome = (...names: string[]): JsonSchema => ({ type: 'string', enum: names });

/** A record with what `include` asked for. */
function viewOf(record: JsonSchema): JsonSchema {
  const asked = object({ question: { type: 'string' }, arguments: { type: 'array', items: { type: 'string' } } });
  const more = {
    asked,
    state: {},
    result: ref('HarnessResult'),
    executions: { type: 'array', items: { type: 'object' } },
  };
  const branches = (record.oneOf ?? record.anyOf) as Array<{ properties: JsonSchema }>;
  return { anyOf: branches.map((branch) => ({ ...branch, properties: { ...branch.properties, ...more } })) };
}

const record = schemaOf(ContinuationRecord);
export const COMPONENTS = {
  CreateInput: schemaOf(CreateInput),
  Message: schemaOf(Message),
  StopInput: ofPath(StopInput),
  ExtendInput: ofPath(ExtendInput),
  ReconcileInput: ofPath(ReconcileInput),
  Activity: object({ at: { type: 'string', format: 'date-time' } }, []),
  ContinuationRecord: record,
  ContinuationView: viewOf(record),
  HarnessResult: schemaOf(HarnessResult),
  Winner: schemaOf(Winner),
  Receipt: schemaOf(Receipt),
  Problem: schemaOf(Problem),
  Created: object({
    record: ref('ContinuationRecord'),
    created: { type: 'boolean' },
    started: { type: 'boolean' },
  }),
  Accepted: object(
    {
      outcome: outcome('accepted'),
      answer: ref('Winner'),
      record: ref('ContinuationRecord'),
      harnessResult: ref('HarnessResult'),
      delivery: { type: 'object' },
    },
    ['outcome', 'answer', 'record'],
  ),
  Taken: object(
    {
      outcome: outcome('taken', 'repeated', 'denied'),
      answer: ref('Winner'),
      record: ref('ContinuationRecord'),
      state: {},
      calls: { type: 'array', items: { type: 'object' } },
    },
    ['outcome', 'answer', 'record'],
  ),
  Done: object({ outcome: outcome('done'), record: ref('ContinuationRecord') }),
  Reconciled: object({ outcome: outcome('reconciled'), receipt: ref('Receipt'), record: ref('ContinuationRecord') }),
  Stored: object({ outcome: outcome('stored') }),
  Page: object(
    {
      records: { type: 'array', items: ref('ContinuationRecord') },
      malformed: { type: 'array', items: object({ id: { type: 'string' }, message: { type: 'string' } }) },
      next: { type: 'string' },
    },
    ['records'],
  ),
  Receipts: object({ receipts: { type: 'array', items: ref('Receipt') } }),
  Event: schemaOf(Receipt.extend({ position: z.string() })),
  Health: object({ status: outcome('ok', 'unavailable') }),
} as const satisfies Record<string, JsonSchema>;
export type ComponentName = keyof typeof COMPONENTS;
