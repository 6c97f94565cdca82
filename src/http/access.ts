/** Who calls: an API key or a token of a trusted issuer. Every surface asks here, so that a revoked key is out at once. */
import type { Keys } from '../access-ports.ts';
import type { Caller } from '../caller.ts';
import { callerOfKey, checkKey, type KeyChannel } from '../keys.ts';
import { createJwtCheck, type JwtIssuer } from './jwt.ts';

export interface Access {
  /** The caller that a bearer token or an inbox login stands for; undefined when it does not hold (any more). */
  callerOf(token: string, channel: KeyChannel): Promise<Caller | undefined>;
}

export function createAccess(keys: Keys, issuers: readonly JwtIssuer[] = []): Access {
  const jwt = createJwtCheck(issuers);
  return {
    async callerOf(token, channel) {
      if (token.startsWith('key_')) {
        const key = await checkKey(keys, token);
        return key && callerOfKey(key, channel);
      }
      return jwt(token, channel);
    },
  };
}

/** The token of an `Authorization: Bearer` header. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header ?? '')?.[1];
}
