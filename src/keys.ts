/** API keys: made once, shown once, kept as a digest. Whoever brings one is the caller that it names. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ApiKey, Keys, StoredKey } from './access-ports.ts';
import type { Caller } from './caller.ts';
import { newKeyId } from './ids.ts';
import { parseInput } from './parse.ts';
import { type Policy, permissionPolicy } from './policy.ts';
import { id } from './schema/primitives.ts';
import { Instant, Permission, type Refused, Scope } from './schema.ts';

/** How a caller with a key came: the channel in receipts is this and the key's id. */
export type KeyChannel = 'http' | 'inbox';

const NewKey = z.strictObject({
  subject: id,
  scope: Scope,
  permissions: z.array(Permission).min(1, 'must name at least one'),
  expiresAt: Instant.optional(),
});
export type NewKey = z.input<typeof NewKey>;

const TOKEN = /^(key_[0-9A-HJKMNP-TV-Z]{26})_([A-Za-z0-9_-]{43})$/;
const CHANNEL = /^(?:http|inbox):(key_[0-9A-HJKMNP-TV-Z]{26})$/;

/** Makes a key; `token` is what its user brings, and cannot be had again. */
export async function createKey(
  store: Keys,
  given: NewKey,
): Promise<{ ok: true; key: ApiKey; token: string } | Refused> {
  const parsed = parseInput(NewKey, given);
  if (!parsed.ok) return parsed;
  const { expiresAt, permissions, ...named } = parsed.value;
  const secret = randomBytes(32).toString('base64url');
  const key: ApiKey = {
    id: newKeyId(),
    ...named,
    permissions: Permission.options.filter((one) => permissions.includes(one)),
    createdAt: new Date().toISOString(),
    ...(expiresAt && { expiresAt }),
  };
  await store.addKey({ ...key, secretDigest: digestOf(secret) });
  return { ok: true, key, token: `${key.id}_${secret}` };
}

/** The key that a token belongs to, while it holds. */
export async function checkKey(store: Keys, token: string, now = new Date()): Promise<ApiKey | undefined> {
  const [, keyId, secret] = TOKEN.exec(token) ?? [];
  if (keyId === undefined || secret === undefined) return undefined;
  const found = await store.keyAcrossScopes(keyId);
  if (!found || !matches(found, secret) || !holds(found, now)) return undefined;
  const { secretDigest: _, ...key } = found;
  return key;
}

export function callerOfKey({ id, scope, subject, permissions }: ApiKey, channel: KeyChannel): Caller {
  return { scope, subject, verified: true, channel: `${channel}:${id}`, permissions };
}

/**
 * Asks `base`, and before a turn starts also whether the key that its answer came by still holds, with what it may do now: a key
 * that was revoked meanwhile starts nothing (000, 001).
 */
export function keyPolicy(store: Keys, base: Policy = permissionPolicy): Policy {
  return {
    async authorize(action, caller, record) {
      const [, keyId] = (action === 'start' && CHANNEL.exec(caller.channel)) || [];
      if (keyId === undefined) return base.authorize(action, caller, record);
      const key = await store.keyAcrossScopes(keyId);
      if (!key || !holds(key, new Date())) return { allowed: false, reason: `the key ${keyId} no longer holds` };
      return base.authorize(action, { ...caller, permissions: key.permissions }, record);
    },
  };
}

function holds({ revokedAt, expiresAt }: ApiKey, now: Date): boolean {
  return revokedAt === undefined && (expiresAt === undefined || now.getTime() < Date.parse(expiresAt));
}

function matches({ secretDigest }: StoredKey, secret: string): boolean {
  return timingSafeEqual(Buffer.from(secretDigest), Buffer.from(digestOf(secret)));
}

const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
