/** Creates a continuation: everything in one transaction first, then its workflow (C5). */
import type { Client } from '@temporalio/client';
import { stopSignal } from '../workflows/messages.ts';
import { type Caller, reaches } from './caller.ts';
import { digestJson } from './digest.ts';
import { firstRecord } from './first-record.ts';
import { newContinuationId } from './ids.ts';
import { MAX_INPUT_BYTES, utf8Length } from './json.ts';
import { invalidInput, parseInput } from './parse.ts';
import type { Created, NewContinuation, StateKind, Store } from './ports.ts';
import { receipt } from './receipts.ts';
import { ContinuationRecord, CreateInput, MAX_RECORD_BYTES, type PendingRecord, type Refused } from './schema.ts';
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
export function prepareCreate(
  given: unknown,
  caller: Caller,
  now: string,
  stateKinds: readonly StateKind[],
): { ok: true; continuation: NewContinuation } | Refused {
  const parsed = parseInput(CreateInput, given);
  if (!parsed.ok) return parsed;
  const input = parsed.value;
  const scope = input.scope ?? caller.scope;
  const inadmissible = whyInadmissible(input, scope, caller);
  if (inadmissible) return inadmissible;
  const { harnessResult: result } = input;
  if (!('continuation' in result)) {
    const message = `must be needs_clarification, awaiting_approval or deferred, not ${result.outcome}: such a turn does not pause`;
    return invalidInput('harnessResult.outcome', message);
  }
  const pause = describePause(result, {
    turnId: input.originTurnId,
    at: now,
    metadata: input.metadata,
    stateKinds,
  });
  if (!('asked' in pause)) return pause;
  const first = recordOf(input, { outcome: result.outcome, asked: pause.asked, scope, now });
  if (!first.ok) return first;
  const inputOf = digestible(input, pause);
  const tooLarge = whatIsTooLarge(first.record, inputOf, pause);
  if (tooLarge) return tooLarge;
  const { record } = first;
  const continuation = {
    record,
    inputDigest: digestJson(inputOf),
    contents: pause.contents,
    receipt: receipt('created', record),
    supersede: input.supersede === true,
  };
  return { ok: true, continuation };
}

function whyInadmissible(input: CreateInput, scope: string, caller: Caller): Refused | undefined {
  if (!reaches(caller, scope)) {
    const message = `scope ${scope} is outside the caller's`;
    return { ok: false, refusal: { code: 'not_authorized', message, path: 'scope' } };
  }
  if (!input.supersede || input.sessionId) return undefined;
  return invalidInput('sessionId', 'is needed to supersede what waits in the session');
}

type Asked = { outcome: PendingRecord['origin']['outcome']; asked: Pause['asked']; scope: string; now: string };

/** The first record of the input; what its own schema would refuse is refused here, with the path. */
function recordOf(
  input: CreateInput,
  { outcome, asked, scope, now }: Asked,
): { ok: true; record: ContinuationRecord } | Refused {
  const { assistantId, sessionId, threadId, userId, metadata, originTurnId, delivery, bounds } = input;
  const first = firstRecord(
    {
      identity: {
        id: newContinuationId(),
        scope,
        assistantId,
        idempotencyKey: input.idempotencyKey ?? originTurnId,
        ...(sessionId && { sessionId }),
        ...(threadId && { threadId }),
        ...(userId && { userId }),
        ...(metadata && { metadata }),
      },
      originTurnId,
      outcome,
      delivery:
        delivery === false
          ? { status: 'not_applicable' }
          : { status: 'pending_delivery', ...(delivery && { target: delivery }) },
      bounds: { ...bounds },
      asked,
    },
    now,
  );
  if (!first.ok) return first;
  const checked = parseInput(ContinuationRecord, first.record);
  return checked.ok ? first : checked;
}

/** The input with its state as a reference: what a repeated create must equal. */
function digestible(input: CreateInput, pause: Pause): unknown {
  const { harnessResult } = input;
  const continuation = {
    ...('continuation' in harnessResult && harnessResult.continuation),
    state: pause.asked.suspension.state,
  };
  return { ...input, harnessResult: { ...harnessResult, continuation } };
}

function whatIsTooLarge(record: ContinuationRecord, input: unknown, { asked }: Pause): Refused | undefined {
  const { state } = asked.suspension;
  // The digested input names its state by reference; its encoding has the state in the place of that.
  const encoded = utf8Length(JSON.stringify(input)) - utf8Length(JSON.stringify(state)) + state.bytes;
  if (encoded > MAX_INPUT_BYTES) {
    return tooLargeRefusal(`the input has ${encoded} bytes encoded; at most ${MAX_INPUT_BYTES} are accepted`);
  }
  const bytes = utf8Length(JSON.stringify(record));
  if (bytes <= MAX_RECORD_BYTES) return undefined;
  return tooLargeRefusal(`the record would have ${bytes} bytes; at most ${MAX_RECORD_BYTES} are kept`);
}

function tooLargeRefusal(message: string): Refused {
  return { ok: false, refusal: { code: 'too_large', message } };
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
    return {
      ok: false,
      refusal: {
        code: 'create_conflict',
        message: `idempotency key ${idempotencyKey} was used with another input`,
        path: 'idempotencyKey',
      },
    };
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
    deps.temporal.withDeadline(Date.now() + deps.startTimeoutMs, () =>
      deps.temporal.workflow.getHandle(id).signal(stopSignal, stop),
    );
  await Promise.allSettled(superseded.map(send));
}
