/** The OpenAPI document of the operations. */
import type { OpenAPIHono, RouteConfig } from '@hono/zod-openapi';
import { z } from 'zod';
import { COMPONENTS } from './components.ts';
import type { HttpEnv, Operation } from './operation.ts';
import { type HttpCode, PROBLEM_TYPE, PROBLEMS } from './problem.ts';

const OF_ALL: readonly HttpCode[] = [
  'unauthenticated',
  'not_authorized',
  'invalid_input',
  'rate_limited',
  'internal',
  'record_malformed',
  'database_unavailable',
  'database_not_migrated',
  'temporal_unavailable',
];
const OF_BODIES: readonly HttpCode[] = ['malformed_json', 'request_timeout', 'too_large', 'unsupported_media_type'];
const OF_WRITES: readonly HttpCode[] = ['idempotency_conflict', 'idempotency_in_progress'];

export const DESCRIPTION = `Durable continuations for agent turns. Send \`Authorization: Bearer <key>\`. Whatever is outside the scope of the key does not
exist. Problems are RFC 9457 documents with a stable \`code\`; whoever loses a race is told the \`winner\`.`;

/** Which problems an operation can answer with. */
export function problemsOf({ method, path, body, problems = [] }: Operation): HttpCode[] {
  const named: readonly HttpCode[] = path.includes('{id}') ? ['not_found'] : [];
  const codes = [...OF_ALL, ...named, ...(body ? OF_BODIES : []), ...(method === 'get' ? [] : OF_WRITES), ...problems];
  return [...new Set(codes)].sort((a, b) => PROBLEMS[a][0] - PROBLEMS[b][0] || a.localeCompare(b));
}

export function register(app: OpenAPIHono<HttpEnv>, operations: readonly Operation[]): void {
  const { openAPIRegistry: registry } = app;
  for (const [name, schema] of Object.entries(COMPONENTS))
    registry.registerComponent('schemas', name, schema as object);
  registry.registerComponent('securitySchemes', 'key', { type: 'http', scheme: 'bearer' });
  for (const each of operations) registry.registerPath(pathOf(each));
  for (const each of HEALTH) registry.registerPath(each);
}

const NAMED = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[!-~]{1,128}$/)
    .optional(),
});

const health = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Health' } } },
});
/** Asked by machines that have no key. */
const HEALTH: readonly RouteConfig[] = [
  {
    operationId: 'alive',
    method: 'get',
    path: '/healthz',
    summary: 'Whether this server lives',
    security: [],
    responses: { 200: health('It does.') },
  },
  {
    operationId: 'ready',
    method: 'get',
    path: '/readyz',
    summary: 'Whether it can do its work',
    security: [],
    responses: { 200: health('It can.'), 503: health('Temporal or the database does not answer, or the server ends.') },
  },
];

function pathOf(operation: Operation): RouteConfig {
  const { name, method, path, summary, description, permissions, query, body } = operation;
  const needs = `Needs ${permissions.map((one) => `\`${one}\``).join(' or ')}.`;
  const written = method !== 'get';
  return {
    operationId: name,
    method,
    path,
    summary,
    description: [description, needs].filter(Boolean).join(' '),
    security: [{ key: [] }],
    request: {
      ...(path.includes('{id}') && { params: z.object({ id: z.string().min(1).max(128) }) }),
      ...(query && { query }),
      ...(written && { headers: NAMED }),
      ...(operation.headers && { headers: operation.headers }),
      ...(body && {
        body: { required: true, content: { 'application/json': { schema: { $ref: `#/components/schemas/${body}` } } } },
      }),
    },
    responses: responsesOf(operation),
  };
}

function responsesOf(operation: Operation): RouteConfig['responses'] {
  const responses: RouteConfig['responses'] = {};
  for (const [status, { description, schema, mediaType = 'application/json' }] of Object.entries(operation.answers)) {
    const shape = schema ? { $ref: `#/components/schemas/${schema}` } : { type: 'string' as const };
    const content = (schema || mediaType !== 'application/json') && { [mediaType]: { schema: shape } };
    responses[status] = { description, ...(content && { content }) };
  }
  const codes = problemsOf(operation);
  for (const status of new Set(codes.map((code) => PROBLEMS[code][0]))) {
    const told = codes.filter((code) => PROBLEMS[code][0] === status);
    responses[status] = {
      description: told.map((code) => `\`${code}\`: ${PROBLEMS[code][1]}.`).join(' '),
      content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
    };
  }
  return responses;
}
