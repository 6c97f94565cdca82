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
  readonly http: HttpConfig;
  /** The agent service that runs turns. */
  readonly agent?: ServiceConfig & { readonly replayable: boolean };
  /** Where follow-ups and questions go. */
  readonly webhook?: ServiceConfig;
}

export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  readonly requestsPerMinute: number;
  /** How people reach the server; deep links begin with it. */
  readonly publicUrl?: string;
  readonly issuer?: { readonly issuer: string; readonly audience: string; readonly jwksUri?: string };
}
export interface ServiceConfig {
  readonly url: string;
  readonly secret?: string;
  readonly allowPrivateAddresses: boolean;
}

export type Env = Readonly<Record<string, string | undefined>>;

const DEFAULT_ADDRESS = '127.0.0.1:7233';
const DEFAULT_NAMESPACE = 'default';

const name = z.string().trim().min(1).max(128, 'must be at most 128 characters');
const webUrl = z.string().refine((url) => /^https?:\/\//.test(url) && URL.canParse(url), 'must be an http(s) URL');
const flag = z
  .enum(['true', 'false'], 'must be true or false')
  .default('false')
  .transform((value) => value === 'true');
const Settings = z
  .object({
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
    CONTINUATIONS_HOST: z.string().default('127.0.0.1'),
    CONTINUATIONS_PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
    CONTINUATIONS_PUBLIC_URL: webUrl.optional(),
    CONTINUATIONS_REQUESTS_PER_MINUTE: z.coerce.number().int().min(1).default(600),
    CONTINUATIONS_JWT_ISSUER: webUrl.optional(),
    CONTINUATIONS_JWT_AUDIENCE: z.string().optional(),
    CONTINUATIONS_JWT_JWKS: webUrl.optional(),
    CONTINUATIONS_AGENT_URL: webUrl.optional(),
    CONTINUATIONS_AGENT_SECRET: z.string().optional(),
    CONTINUATIONS_AGENT_REPLAYABLE: flag,
    CONTINUATIONS_WEBHOOK_URL: webUrl.optional(),
    CONTINUATIONS_WEBHOOK_SECRET: z.string().optional(),
    CONTINUATIONS_ALLOW_PRIVATE_ADDRESSES: flag,
  })
  .refine((given) => !given.CONTINUATIONS_JWT_ISSUER || given.CONTINUATIONS_JWT_AUDIENCE, {
    path: ['CONTINUATIONS_JWT_AUDIENCE'],
    message: 'is needed with CONTINUATIONS_JWT_ISSUER: tokens for others must not open this server',
  });
type Settings = z.output<typeof Settings>;

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
    http: httpOf(settings),
    ...servicesOf(settings),
  };
}

function httpOf(settings: Settings): HttpConfig {
  const { CONTINUATIONS_JWT_ISSUER: issuer, CONTINUATIONS_JWT_AUDIENCE: audience } = settings;
  const { CONTINUATIONS_JWT_JWKS: jwksUri, CONTINUATIONS_PUBLIC_URL: publicUrl } = settings;
  return {
    host: settings.CONTINUATIONS_HOST,
    port: settings.CONTINUATIONS_PORT,
    requestsPerMinute: settings.CONTINUATIONS_REQUESTS_PER_MINUTE,
    ...(publicUrl && { publicUrl: publicUrl.replace(/\/+$/, '') }),
    ...(issuer && audience && { issuer: { issuer, audience, ...(jwksUri && { jwksUri }) } }),
  };
}

function servicesOf(settings: Settings): Pick<Config, 'agent' | 'webhook'> {
  const allowPrivateAddresses = settings.CONTINUATIONS_ALLOW_PRIVATE_ADDRESSES;
  const service = (url: string, secret: string | undefined): ServiceConfig => ({
    url,
    allowPrivateAddresses,
    ...(secret && { secret }),
  });
  const { CONTINUATIONS_AGENT_URL: agent, CONTINUATIONS_WEBHOOK_URL: webhook } = settings;
  const replayable = settings.CONTINUATIONS_AGENT_REPLAYABLE;
  return {
    ...(agent && { agent: { ...service(agent, settings.CONTINUATIONS_AGENT_SECRET), replayable } }),
    ...(webhook && { webhook: service(webhook, settings.CONTINUATIONS_WEBHOOK_SECRET) }),
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
