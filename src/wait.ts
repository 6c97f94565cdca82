/** Where a result says what it waits for. The new wait comes from the result and its own metadata alone (C9). Pure. */
import { type Json, type JsonObject, textFault } from './json.ts';
import type { AskedCall, Refused, ResumableOutcome, WaitCondition } from './schema.ts';

/** The places that are searched, in order: the harness's state, its continuation's metadata, the result's, and on create the caller's. */
export type WaitSources = ReadonlyArray<{ readonly path: string; readonly values: Json | undefined }>;

const MAX_ID_LENGTH = 128;

/** What else names a wait: the calls that the turn stopped for, and ids that are minted at the pause. */
export interface Asked {
  readonly calls: readonly AskedCall[];
  readonly suspensionId: string;
  readonly wakeUpId: string;
}

/**
 * The wait condition of a resumable result, or why there is none. An empty string counts as missing (002 §8). What no source
 * names is named by the one call that waits; several calls have no name in common, so their pause has its own.
 */
export function deriveWait(
  outcome: ResumableOutcome,
  sources: WaitSources,
  asked: Asked,
): { ok: true; waitFor: WaitCondition } | Refused {
  switch (outcome) {
    case 'needs_clarification': {
      const correlationKey = find(sources, 'correlationKey');
      if (correlationKey === undefined) return waits(sources, { type: 'user_reply' });
      if (typeof correlationKey !== 'string') return missing(sources, 'correlationKey', 'correlationKey must be text');
      return waits(sources, { type: 'user_reply', correlationKey });
    }
    case 'awaiting_approval': {
      const approvalId =
        textAt(sources.slice(0, 1), 'approvalId') ??
        requestId(sources) ??
        textAt(sources.slice(1), 'approvalId') ??
        nameOf(asked);
      return approvalId
        ? waits(sources, { type: 'approval_resolution', approvalId })
        : missing(sources, 'approvalId', 'an approval needs an approvalId');
    }
    case 'deferred':
      return deferredWait(sources, asked);
    default:
      return outcome satisfies never;
  }
}

function deferredWait(sources: WaitSources, asked: Asked): { ok: true; waitFor: WaitCondition } | Refused {
  const agent = asObject(find(sources, 'agent'));
  if (typeof agent?.replyWith === 'string' && agent.replyWith) {
    const responder = typeof agent.responder === 'string' && agent.responder ? agent.responder : undefined;
    return waits(sources, { type: 'agent_reply', replyWith: agent.replyWith, ...(responder && { responder }) });
  }
  const [call] = asked.calls;
  if (call?.replyWith) return waits(sources, { type: 'agent_reply', replyWith: call.replyWith });
  const wakeAt = find(sources, 'wakeAt');
  const wakes = wakeAt !== undefined || Boolean(find(sources, 'scheduledWake'));
  const operationId = textAt(sources, 'operationId') ?? (wakes ? undefined : nameOf(asked));
  if (wakes && operationId)
    return missing(sources, 'operationId', 'a deferred turn waits for a wake or for an operation, not for both');
  if (operationId) return waits(sources, { type: 'external_result', operationId });
  if (!wakes)
    return missing(
      sources,
      'operationId',
      'a deferred turn needs an operationId, a wakeAt, a scheduledWake or an agent to wait for',
    );
  if (wakeAt === undefined) return waits(sources, { type: 'scheduled_wake', wakeUpId: asked.wakeUpId });
  const instant = typeof wakeAt === 'string' ? instantOf(wakeAt) : undefined;
  if (instant === undefined)
    return missing(sources, 'wakeAt', 'wakeAt must be an ISO 8601 time with an offset, such as 2026-12-02T09:30:00Z');
  return waits(sources, { type: 'scheduled_wake', wakeUpId: asked.wakeUpId, wakeAt: instant });
}

/** As UTC with milliseconds. Without an offset a time would mean another instant on another machine. */
function instantOf(text: string): string | undefined {
  const [, date] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const instant = Date.parse(text);
  if (date === undefined || Number.isNaN(instant)) return undefined;
  const isDay = new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
  const utc = new Date(instant).toISOString();
  return isDay && /^\d/.test(utc) ? utc : undefined;
}

/** What is waited for is stored and looked up by its ids, so they have to be storable. */
function waits(sources: WaitSources, waitFor: WaitCondition): { ok: true; waitFor: WaitCondition } | Refused {
  for (const [key, value] of Object.entries(waitFor) as Array<[string, string]>) {
    const fault = value.length > MAX_ID_LENGTH ? `must be at most ${MAX_ID_LENGTH} characters` : textFault(value);
    if (fault) return missing(sources, key, `${key} ${fault}`);
  }
  return { ok: true, waitFor };
}

function missing(sources: WaitSources, key: string, message: string): Refused {
  const path = `${sources[0]?.path ?? ''}.${key}`;
  return { ok: false, refusal: { code: 'invalid_input', path, message } };
}

/** The first value that is neither absent, null nor empty text. */
function find(sources: WaitSources, key: string): Json | undefined {
  for (const { values } of sources) {
    const value = asObject(values)?.[key];
    if (value !== undefined && value !== null && value !== '') return value;
  }
  return undefined;
}

function textAt(sources: WaitSources, key: string): string | undefined {
  const value = find(sources, key);
  return typeof value === 'string' ? value : undefined;
}

function nameOf({ calls, suspensionId }: Asked): string | undefined {
  return calls.length > 1 ? suspensionId : calls[0]?.id;
}

function requestId(sources: WaitSources): string | undefined {
  const id = asObject(find(sources.slice(0, 1), 'request'))?.id;
  return typeof id === 'string' && id ? id : undefined;
}

function asObject(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}
