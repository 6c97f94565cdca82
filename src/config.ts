/** The environment as configuration: read once, at the edge. Addresses, TLS and keys of Temporal are read as Temporal's own tools do. */
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import { DEFAULT_CALLER } from './caller.ts';
import { DEFAULT_TASK_QUEUE } from './client-options.ts';
import { ContinuationError } from './errors.ts';
import { formatPath } from './json.ts';
import { Scope } from './schema.ts';

export interface Config {
  readonly temporal: {
    readonly connection: ClientConnectConfig['connectionOptions'];
    readonly namespace: string;
    /** False: nothing in the environment names a server, and the address is Temporal's default. */
    readonly named: boolean;
  };
  readonly databaseUrl?: string;
  readonly taskQueue: string;
  readonly scope: string;
  /** Who answers, when the caller does not say. */
  readonly subject?: string;
  /** Where `npm start` keeps its servers' data. */
  readonly dataDir?: string;
}

export type Env = Readonly<Record<string, string | undefined>>;

const DEFAULT_ADDRESS = '127.0.0.1:7233';
const DEFAULT_NAMESPACE = 'default';

const name = z.string().trim().min(1).max(128, 'must be at most 128 characters');
const Settings = z.object({
  DATABASE_URL: z
    .string()
    .refine(
      (url) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url),
      'must be a URL such as postgres://user@host:5432/name',
    )
    .optional(),
  CONTINUATIONS_TASK_QUEUE: name.default(DEFAULT_TASK_QUEUE),
  CONTINUATIONS_SCOPE: Scope.default(DEFAULT_CALLER.scope),
  CONTINUATIONS_SUBJECT: name.optional(),
  CONTINUATIONS_DATA: z.string().optional(),
});

/** Reads the configuration; throws `invalid_configuration` with every fault and no value, since values may be secret. */
export function loadConfig(env: Env): Config {
  const given = withoutEmpty(env);
  const parsed = Settings.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${formatPath(issue.path)} ${issue.message}`);
    throw new ContinuationError('invalid_configuration', `${faults.join('; ')}.`);
  }
  const settings = parsed.data;
  return {
    temporal: temporalOf(given),
    taskQueue: settings.CONTINUATIONS_TASK_QUEUE,
    scope: settings.CONTINUATIONS_SCOPE,
    ...(settings.DATABASE_URL && { databaseUrl: settings.DATABASE_URL }),
    ...(settings.CONTINUATIONS_SUBJECT && { subject: settings.CONTINUATIONS_SUBJECT }),
    ...(settings.CONTINUATIONS_DATA && { dataDir: settings.CONTINUATIONS_DATA }),
  };
}

function temporalOf(env: Record<string, string>): Config['temporal'] {
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({ overrideEnvVars: env });
    return {
      connection: { ...connectionOptions, address: connectionOptions.address ?? DEFAULT_ADDRESS },
      namespace: namespace ?? DEFAULT_NAMESPACE,
      named: Boolean(env.TEMPORAL_ADDRESS ?? env.TEMPORAL_PROFILE ?? env.TEMPORAL_CONFIG_FILE),
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ContinuationError('invalid_configuration', `Temporal's settings cannot be read: ${why}.`, { cause });
  }
}

/** `NAME=` in a shell or an .env file means "not set". */
function withoutEmpty(env: Env): Record<string, string> {
  const set = Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return Object.fromEntries(set);
}
