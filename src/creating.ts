/** Creates a continuation: everything in one transaction first, then its workflow (C5). */
import type { Client } from '@temporalio/client';
import { stopSignal } from '../workflows/messages.ts';
import { type Caller, reaches } from './caller.ts';
import { firstRecord } from './continuation.ts';
import { digestJson } from './digest.ts';
import { newContinuationId } from './ids.ts';
import { MAX_INPUT_BYTES, utf8Length } from './json.ts';
import { invalidInput, parseInput } from './parse.ts';
import type { Created, NewContinuation, Store } from './ports.ts';
import { receipt } from './receipts.ts';
import { ContinuationRecord, CreateInput, MAX_RECORD_BYTES, type Refused } from './schema.ts';
import type { Starter } from './start.ts';
import { describePause, type Pause } from './suspend.ts';

export type CreateResult =
  | {
      readonly ok: true;
      readonly record: ContinuationRecord;
      /** False: this input had been given before; `record` is what came of it. */
      readonly created: boolean;
      /** False: Temporal could not be reached; the next answer or maintenance starts the workflow. */
      readonly started: boolean;
    }
  | Refused;

/** Parses and builds what is to be stored; nothing is changed yet. */
export function prepareCreate(given: unknown, caller: Caller, now: string): { ok: true; continuation: NewContinuation } | Refused {
  const parsed = parseInput(CreateInput, given);
  if (!parsed.ok) return parsed;
  const input = parsed.value;
  const scope = input.scope ?? caller.scope;
  if (!reaches(caller, scope)) return { ok: false, refusal: { code: 'not_authorized', message: `scope ${scope} is outside the caller's`, path: 'scope' } };
  const { harnessResult: result } = input;
  if (!('continuation' in result)) {
    return invalidInput('harnessResult.outcome', `must be needs_clarification, awaiting_approval or deferred, not ${result.outcome}: such a turn does not pause`);
  }
  if (input.supersede && !input.sessionId) return invalidInput('sessionId', 'is needed to supersede what waits in the session');

  const pause = describePause(result, { turnId: input.originTurnId, at: now, metadata: input.metadata });
  if (!('asked' in pause)) return pause;
  const tooLarge = tooLargeInput(input, pause);
  if (tooLarge) return tooLarge;
  const first = firstRecord(
    {
      identity: {
        id: newContinuationId(),
        scope,
        assistantId: input.assistantId,
        idempotencyKey: input.idempotencyKey ?? input.originTurnId,
        ...(input.sessionId && { sessionId: input.sessionId }),
        ...(input.threadId && { threadId: input.threadId }),
        ...(input.userId && { userId: input.userId }),
        ...(input.metadata && { metadata: input.metadata }),
      },
      originTurnId: input.originTurnId,
      outcome: result.outcome,
      delivery: input.delivery === false ? { status: 'not_applicable' } : { status: 'pending_delivery', ...(input.delivery && { target: input.delivery }) },
      bounds: { ...input.bounds },
      asked: pause.asked,
    },
    now,
  );
  if (!first.ok) return first.refusal ? { ok: false, refusal: first.refusal } : invalidInput('', 'nothing to wait for');
  const checked = parseInput(ContinuationRecord, first.record);
  if (!checked.ok) return checked;
  if (utf8Length(JSON.stringify(first.record)) > MAX_RECORD_BYTES) return tooLargeRefusal('', `the record would exceed ${MAX_RECORD_BYTES} bytes`);
  return {
    ok: true,
    continuation: {
      record: first.record,
      inputDigest: digestJson(digestible(input, pause)),
      contents: pause.contents,
      receipt: receipt('created', first.record),
      supersede: input.supersede === true,
    },
  };
}

/** The input with its state as a reference: what a repeated create must equal. */
function digestible(input: CreateInput, pause: Pause): unknown {
  const { harnessResult } = input;
  const continuation = { ...('continuation' in harnessResult && harnessResult.continuation), state: pause.asked.suspension.state };
  return { ...input, harnessResult: { ...harnessResult, continuation } };
}

function tooLargeInput(input: CreateInput, pause: Pause): Refused | undefined {
  const { state } = pause.asked.suspension;
  const rest = utf8Length(JSON.stringify(digestible(input, pause)));
  if (state.bytes > MAX_INPUT_BYTES) return tooLargeRefusal('harnessResult.continuation.state', `has ${state.bytes} bytes encoded; at most ${MAX_INPUT_BYTES} are accepted`);
  return rest > MAX_INPUT_BYTES ? tooLargeRefusal('', `the input has ${rest} bytes encoded; at most ${MAX_INPUT_BYTES} are accepted`) : undefined;
}

function tooLargeRefusal(path: string, message: string): Refused {
  return { ok: false, refusal: { code: 'too_large', message: path ? `${path} ${message}` : message, ...(path && { path }) } };
}

export interface CreatingDeps {
  readonly store: Store;
  readonly temporal: Client;
  readonly starter: Starter;
  readonly onStarted: (id: string) => void;
  readonly startTimeoutMs: number;
}

/** Stores it, stops what it supersedes, and starts its workflow; a server that is down delays the start, not the create. */
export async function commitCreate(deps: CreatingDeps, continuation: NewContinuation): Promise<CreateResult> {
  const created = await deps.store.create(continuation);
  if (created.inputDigest !== continuation.inputDigest) {
    const { idempotencyKey } = continuation.record;
    return { ok: false, refusal: { code: 'create_conflict', message: `idempotency key ${idempotencyKey} was used with another input`, path: 'idempotencyKey' } };
  }
  const [started] = await Promise.all([start(deps, created), supersede(deps, created)]);
  return { ok: true, record: created.record, created: created.created, started };
}

async function start(deps: CreatingDeps, created: Created): Promise<boolean> {
  try {
    await deps.temporal.withDeadline(Date.now() + deps.startTimeoutMs, () => deps.starter.start(created));
    deps.onStarted(created.record.id);
    return true;
  } catch {
    return false;
  }
}

/** The rows are marked already; a stop that does not get through is sent by maintenance. */
async function supersede(deps: CreatingDeps, { record, superseded }: Created): Promise<void> {
  const stop = { reason: 'superseded_by_newer_turn', supersededBy: record.id };
  const send = (id: string) =>
    deps.temporal.withDeadline(Date.now() + deps.startTimeoutMs, () => deps.temporal.workflow.getHandle(id).signal(stopSignal, stop));
  await Promise.allSettled(superseded.map(send));
}
