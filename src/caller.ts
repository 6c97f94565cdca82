/** On whose behalf the client works. */
import { Permission, type Refusal } from './schema.ts';

/** Who calls and from where; receipts name them. */
export interface Caller {
  /** What the caller may reach: this scope and those below it. Default `app=default`. */
  readonly scope: string;
  /** Default `anonymous`. */
  readonly subject: string;
  /** Whether somebody checked that the subject is who it says. Default false. */
  readonly verified: boolean;
  /** How the answer came: `api`, `http`, `cli`, … Default `api`. */
  readonly channel: string;
  /** What the caller may do. Default: everything, as code in the same process could do it anyway. */
  readonly permissions: readonly Permission[];
}

export const DEFAULT_CALLER: Caller = {
  scope: 'app=default',
  subject: 'anonymous',
  verified: false,
  channel: 'api',
  permissions: Permission.options,
};

/** The caller's own scope and all below it (C16). */
export function reaches(caller: Caller, scope: string): boolean {
  return scope === caller.scope || scope.startsWith(`${caller.scope}/`);
}

/** What a caller learns about anything outside its scope: nothing (C16). */
export function notFound(): { ok: false; refusal: Refusal } {
  return { ok: false, refusal: { code: 'not_found', message: 'there is no such continuation' } };
}
