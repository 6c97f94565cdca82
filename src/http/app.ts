/** The HTTP API: every operation goes through one gate, and everything it does through the client. */
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, Hono } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { Metrics, Requests } from '../access-ports.ts';
import type { ContinuationClient } from '../client.ts';
import type { Access } from './access.ts';
import { answerOperations } from './answers.ts';
import { continuationOperations } from './continuations.ts';
import { DESCRIPTION, register } from './document.ts';
import { eventsOperation } from './events.ts';
import { createGate } from './gate.ts';
import { createHealth, type Readiness } from './health.ts';
import { managingOperations } from './managing.ts';
import { createRefusals, metricsOperation } from './metrics.ts';
import type { HttpEnv, Operation } from './operation.ts';
import { HttpProblem, PROBLEMS, problemResponse, toProblem } from './problem.ts';
import { referencePage } from './reference.ts';

export interface HttpOptions {
  /** Its caller is replaced by that of each request. */
  readonly client: ContinuationClient;
  readonly access: Access;
  /** Where named requests and numbers are kept. */
  readonly store: Requests & Metrics;
  /** Throws while what is needed does not answer (`/readyz`). */
  readonly ready?: Readiness;
  /** Aborted when the server ends: streams end, and it is no longer ready. */
  readonly closing?: AbortSignal;
  /** Requests of one key in a minute. Default 600. */
  readonly requestsPerMinute?: number;
  /** How long a body may take to arrive, milliseconds. Default 30 s. */
  readonly bodyTimeoutMs?: number;
  /** Told what an operator should know. Default: `console.error`. */
  readonly warn?: (message: string, error?: unknown) => void;
  /** More under paths of their own, such as the inbox; they keep their own access rules. */
  readonly mounts?: Readonly<Record<string, Hono>>;
  readonly version?: string;
}

export function createHttpApp(options: HttpOptions): OpenAPIHono<HttpEnv> {
  const { mounts = {}, warn = console.error, version = '0' } = options;
  const app = new OpenAPIHono<HttpEnv>();
  const fail = (error: unknown, c: Context): Response => {
    const problem = toProblem(error);
    if (PROBLEMS[problem.code][0] === 500) warn(`${c.req.method} ${c.req.path} failed`, error);
    return problemResponse(problem);
  };
  app.onError(fail);
  app.use('/v1/*', secureHeaders());
  const refusals = createRefusals();
  const operations: readonly Operation[] = [
    ...continuationOperations,
    ...answerOperations,
    ...managingOperations,
    eventsOperation(options),
    metricsOperation(options.store, refusals),
  ];
  const gate = createGate(options, refusals, fail);
  for (const each of operations) app.on(each.method.toUpperCase(), each.path.replace(/\{(\w+)\}/g, ':$1'), gate(each));
  register(app, operations);
  app.get('/openapi.json', (c) =>
    c.json(
      app.getOpenAPI31Document({
        openapi: '3.1.0',
        info: { title: 'temporal-continuations', version, description: DESCRIPTION, license: { name: 'MIT' } },
        security: [{ key: [] }],
      }),
    ),
  );
  for (const [path, mounted] of Object.entries(mounts)) app.route(path, mounted);
  app.route('/', createHealth(options.ready ?? (async () => undefined), options.closing));
  app.get('/', async (c) => c.html(await referencePage(operations)));
  app.notFound((c) => notServed(c, operations));
  return app;
}

/** Pages and documents beside the operations. */
const READ_ONLY = ['/', '/openapi.json', '/healthz', '/readyz'].map((path) => ({ path, method: 'get' }));

/** A path that is there with other methods, or none. */
function notServed(c: Context, operations: readonly Operation[]): Response {
  const methods = [...operations, ...READ_ONLY]
    .filter(({ path }) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(c.req.path))
    .map(({ method }) => method.toUpperCase());
  if (methods.length === 0) return problemResponse(new HttpProblem('not_found', 'there is nothing here'));
  const allow = methods.join(', ');
  return problemResponse(
    new HttpProblem('method_not_allowed', `${c.req.method} is not done here, but ${allow}`, { headers: { allow } }),
  );
}
