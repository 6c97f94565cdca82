/** Tokens of issuers that the operator trusts, checked against their published keys. */
import { createRemoteJWKSet, decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Caller } from '../caller.ts';
import { ContinuationError } from '../errors.ts';
import type { KeyChannel } from '../keys.ts';
import { id } from '../schema/primitives.ts';
import { Permission, Scope } from '../schema.ts';

export interface JwtIssuer {
  /** Must equal the claim `iss`. */
  readonly issuer: string;
  /** Must be among the claim `aud`. */
  readonly audience: string;
  /** Default: `<issuer>/.well-known/jwks.json`. */
  readonly jwksUri?: string;
}

/** Only signatures: with a shared secret whoever checks could also issue. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const Claims = z.object({
  sub: id,
  continuations_scope: Scope,
  continuations_permissions: z.array(Permission).min(1),
});

export type JwtCheck = (token: string, channel: KeyChannel) => Promise<Caller | undefined>;

export function createJwtCheck(issuers: readonly JwtIssuer[]): JwtCheck {
  const trusted = new Map(
    issuers.map(({ issuer, audience, jwksUri }) => {
      const uri = jwksUri ?? `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`;
      return [issuer, { issuer, audience, keys: createRemoteJWKSet(new URL(uri)) }];
    }),
  );
  return async (token, channel) => {
    const found = trusted.get(issuerOf(token) ?? '');
    if (!found) return undefined;
    const { issuer, audience, keys } = found;
    try {
      const options = { issuer, audience, algorithms: ALGORITHMS, requiredClaims: ['exp'] };
      return callerOf((await jwtVerify(token, keys, options)).payload, channel);
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw unreachable(issuer, error);
      if (error instanceof errors.JWKSTimeout || error.code === 'ERR_JOSE_GENERIC') throw unreachable(issuer, error);
      return undefined;
    }
  };
}

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

function callerOf(payload: JWTPayload, channel: KeyChannel): Caller | undefined {
  const claims = Claims.safeParse(payload);
  if (!claims.success) return undefined;
  const { sub, continuations_scope: scope, continuations_permissions: permissions } = claims.data;
  return { subject: sub, scope, permissions, verified: true, channel: `${channel}:jwt` };
}

function unreachable(issuer: string, cause: unknown): ContinuationError {
  return new ContinuationError('transient', `the keys of ${issuer} cannot be fetched: try again`, { cause });
}
