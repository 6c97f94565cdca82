import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../src/config.ts';

const nothing = { TEMPORAL_CONFIG_FILE: join(tmpdir(), 'there-is-no-such-file.toml') };

test('an empty environment means the usual addresses and names', () => {
  expect(loadConfig({ ...nothing, DATABASE_URL: '', CONTINUATIONS_SCOPE: '' })).toEqual({
    temporal: { connection: expect.objectContaining({ address: '127.0.0.1:7233' }), namespace: 'default', named: true },
    http: { host: '127.0.0.1', port: 8080, requestsPerMinute: 600 },
    taskQueue: 'continuations',
    scope: 'app=default',
  });
  expect(loadConfig({ HOME: tmpdir(), XDG_CONFIG_HOME: tmpdir() }).temporal.named).toBe(false);
});

test("Temporal's own variables are read as Temporal's tools read them", () => {
  const { temporal } = loadConfig({
    TEMPORAL_ADDRESS: 'x.example:7233',
    TEMPORAL_NAMESPACE: 'team',
    TEMPORAL_API_KEY: 'secret',
  });
  expect(temporal).toMatchObject({
    connection: { address: 'x.example:7233', apiKey: 'secret', tls: true },
    namespace: 'team',
    named: true,
  });
});

test("a profile of Temporal's configuration file is read", () => {
  const file = join(mkdtempSync(join(tmpdir(), 'config-')), 'temporal.toml');
  writeFileSync(file, '[profile.team]\naddress = "team.example:7233"\nnamespace = "team"\n');
  expect(loadConfig({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'team' }).temporal).toMatchObject({
    connection: { address: 'team.example:7233' },
    namespace: 'team',
    named: true,
  });
  expect(() => loadConfig({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'nobody' })).toThrow(
    expect.objectContaining({ code: 'invalid_configuration', message: expect.stringContaining("'nobody'") }),
  );
});

test('our own variables are read', () => {
  const config = loadConfig({
    DATABASE_URL: 'postgres://me@db.example/app',
    CONTINUATIONS_SCOPE: 'tenant=acme',
    CONTINUATIONS_TASK_QUEUE: 'approvals',
    CONTINUATIONS_SUBJECT: 'ada',
    CONTINUATIONS_DATA: '/data',
  });
  expect(config).toMatchObject({
    databaseUrl: 'postgres://me@db.example/app',
    scope: 'tenant=acme',
    taskQueue: 'approvals',
    subject: 'ada',
    dataDir: '/data',
  });
});

test('every fault is told at once, and no value, since values may be secret', () => {
  const load = () => loadConfig({ DATABASE_URL: 'mysql://me:hunter2@db', CONTINUATIONS_SCOPE: 'Tenant' });
  expect(load).toThrow(expect.objectContaining({ code: 'invalid_configuration' }));
  expect(load).toThrow(/^DATABASE_URL must be a URL such as .*; CONTINUATIONS_SCOPE must be up to 8 levels/);
  expect(load).not.toThrow(/hunter2/);
});

test('who may call and where services are is read, with the defaults that are safe', () => {
  const { http, agent, webhook } = loadConfig({
    ...nothing,
    CONTINUATIONS_PORT: '9000',
    CONTINUATIONS_PUBLIC_URL: 'https://inbox.example.com/',
    CONTINUATIONS_JWT_ISSUER: 'https://login.example.com',
    CONTINUATIONS_JWT_AUDIENCE: 'continuations',
    CONTINUATIONS_AGENT_URL: 'https://agent.example.com/turn',
    CONTINUATIONS_AGENT_REPLAYABLE: 'true',
    CONTINUATIONS_WEBHOOK_URL: 'https://hooks.example.com/',
    CONTINUATIONS_WEBHOOK_SECRET: 'whsec_x',
  });
  expect(http).toEqual({
    host: '127.0.0.1',
    port: 9000,
    requestsPerMinute: 600,
    publicUrl: 'https://inbox.example.com',
    issuer: { issuer: 'https://login.example.com', audience: 'continuations' },
  });
  expect(agent).toEqual({ url: 'https://agent.example.com/turn', replayable: true, allowPrivateAddresses: false });
  expect(webhook).toEqual({ url: 'https://hooks.example.com/', secret: 'whsec_x', allowPrivateAddresses: false });
  expect(() => loadConfig({ ...nothing, CONTINUATIONS_JWT_ISSUER: 'https://login.example.com' })).toThrow(
    /AUDIENCE is needed/,
  );
});
