/** Who may do what. Asked before anything is sent, and again, with the policy of that moment, when the turn starts (000, 001). */
import { type Caller, DEFAULT_CALLER } from './caller.ts';
import { resolution } from './record.ts';
import type { ContinuationRecord, Permission, Refused, ResumingRecord, WaitType } from './schema.ts';

/** `start`: the turn of an accepted answer is about to run, on behalf of whoever gave it. */
export type Action = 'create' | 'answer' | 'take' | 'start' | 'stop' | 'extend' | 'reconcile' | 'delete';

export type Authorization = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

export interface Policy {
  /** For `create` the record is the one that would be stored. A throw is an outage, not a refusal: nothing happens, and it is asked again. */
  authorize(action: Action, caller: Caller, record: ContinuationRecord): Authorization | Promise<Authorization>;
}

const ANSWERING: Record<WaitType, Permission> = {
  user_reply: 'answer',
  external_result: 'answer',
  scheduled_wake: 'answer',
  approval_resolution: 'approve',
  agent_reply: 'bus',
};
/** Whoever may create a continuation may also end it. */
const MANAGING: Record<Exclude<Action, 'answer' | 'take' | 'start'>, readonly Permission[]> = {
  create: ['create'],
  stop: ['operate', 'create'],
  extend: ['operate', 'create'],
  delete: ['operate', 'create'],
  reconcile: ['operate'],
};

/** The built-in table: an approval takes `approve`, an agent's answer `bus`, any other answer `answer`. */
export const permissionPolicy: Policy = {
  authorize(action, { permissions }, { waitFor }) {
    const answers = action === 'answer' || action === 'take' || action === 'start';
    const sufficient = answers ? [ANSWERING[waitFor.type]] : MANAGING[action];
    if (sufficient.some((permission) => permissions.includes(permission))) return { allowed: true };
    return { allowed: false, reason: `needs the permission ${sufficient.join(' or ')}` };
  },
};

/** Undefined when allowed; a refusal with nothing but the reason otherwise. */
export async function whyNotAllowed(
  policy: Policy,
  action: Action,
  caller: Caller,
  record: ContinuationRecord,
): Promise<Refused | undefined> {
  const answer = await policy.authorize(action, caller, record);
  if (answer.allowed) return undefined;
  return { ok: false, refusal: { code: 'not_authorized', message: answer.reason } };
}

/**
 * On whose behalf a turn starts. The system and whoever can write to the Temporal namespace act with every permission; a caller
 * of our client with those that it had.
 */
export function callerOfTurn(record: ResumingRecord): Caller {
  const { subject, verified, channel, permissions } = resolution(record) ?? DEFAULT_CALLER;
  return { scope: record.scope, subject, verified, channel, permissions: permissions ?? DEFAULT_CALLER.permissions };
}
