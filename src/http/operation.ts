/** What one operation of the API is: what it takes and answers (so it can be documented), and how it is done. */
import type { Context } from 'hono';
import type { z } from 'zod';
import type { Caller } from '../caller.ts';
import type { ContinuationClient } from '../client.ts';
import type { Permission } from '../schema.ts';
import type { ComponentName } from './components.ts';
import type { HttpCode } from './problem.ts';

export interface HttpEnv {
  Variables: Record<string, never>;
}

/** A request that got through: who sends it, and what. */
export interface Handled<Q = unknown> {
  readonly c: Context<HttpEnv>;
  readonly caller: Caller;
  readonly client: ContinuationClient;
  /** A part of the path by its name; it was checked. */
  readonly id: string;
  readonly query: Q;
  /** The body; empty when the operation takes none. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Operation<Q = unknown> {
  readonly name: string;
  readonly method: 'get' | 'post' | 'delete';
  /** As OpenAPI writes it: `/v1/continuations/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Any of them will do. */
  readonly permissions: readonly Permission[];
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: ComponentName;
  readonly answers: Readonly<
    Record<number, { readonly description: string; readonly schema?: ComponentName; readonly mediaType?: string }>
  >;
  /** Its own refusals; those of every operation are added. */
  readonly problems?: readonly HttpCode[];
  /** A repeat with the same `Idempotency-Key` is done again, because its answer may not be given twice. */
  readonly neverReplayed?: boolean;
  handle(request: Handled<Q>): Promise<Response>;
}

/** Keeps the type of the query for the handler. */
export function operation<S extends z.ZodObject>(
  given: Omit<Operation<z.output<S>>, 'query'> & { readonly query?: S },
): Operation {
  return given as unknown as Operation;
}
