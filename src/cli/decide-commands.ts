/** `approve`, `deny`: what a person decides about one call or several; `reconcile`: what an operator knows of an unknown outcome. */
import type { ArgsDef } from 'citty';
import { notFound } from '../caller.ts';
import { digestBytes } from '../digest.ts';
import type { PendingCall, ReconcileContinuationInput, ResumeContinuationInput } from '../schema.ts';
import { answer, answerArgs, ID, NONE } from './answer-commands.ts';
import { type CliCommand, defineCliCommand, UsageError } from './command.ts';
import { readNamedFile } from './file.ts';
import { EXIT, printJson, reportRefusal } from './outcome.ts';

type Approval = Extract<ResumeContinuationInput['trigger'], { type: 'approval_resolution' }>;

const reason = { type: 'string', valueHint: 'text', description: 'Your words; the agent sees them.' } as const;

const approve = defineCliCommand('approve', {
  description: 'Approve what an agent asks to do; of several calls all, or all but some.',
  args: {
    id: ID,
    reason,
    except: {
      type: 'string',
      valueHint: 'ids',
      description: 'Of several calls, deny these (with commas between them).',
    },
    arguments: { type: 'string', valueHint: 'json', description: 'Run the one call with these arguments instead.' },
    ...answerArgs,
  },
  examples: [
    'approve cont_01J… --suspension sus_01J…',
    "approve cont_01J… --suspension sus_01J… --except call-2 --reason 'paid twice already'",
    `approve cont_01J… --suspension sus_01J… --arguments '{"amount": 20}'`,
  ],
  sends: true,
  run: (args, session) =>
    answer(session, args, 'approval_resolution', ({ approvalId = NONE }, pending) => {
      const denied = args.except?.split(',').map((id) => id.trim()) ?? [];
      const unknown = denied.find((id) => !pending.some((call) => call.id === id));
      if (unknown !== undefined) throw new UsageError(`No call ${JSON.stringify(unknown)} waits there.`);
      const edit = args.arguments !== undefined && { arguments: args.arguments };
      return decision(approvalId, pending, denied, {
        ...edit,
        ...(args.reason !== undefined && { reason: args.reason }),
      });
    }),
});

const deny = defineCliCommand('deny', {
  description: 'Deny what an agent asks to do; of several calls all.',
  args: { id: ID, reason, ...answerArgs },
  examples: [
    'deny cont_01J… --suspension sus_01J…',
    "deny cont_01J… --suspension sus_01J… --reason 'not again' --as maria",
  ],
  sends: true,
  run: (args, session) =>
    answer(session, args, 'approval_resolution', ({ approvalId = NONE }, pending) => {
      const words = args.reason !== undefined && { reason: args.reason };
      if (pending.length > 1)
        return decision(
          approvalId,
          pending,
          pending.map(({ id }) => id),
          { ...words },
        );
      return { type: 'approval_resolution', approvalId, decision: 'denied', ...words };
    }),
});

/** One call is decided in the simple form; of several each by name, with the arguments that were shown. */
function decision(
  approvalId: string,
  pending: readonly PendingCall[],
  denied: readonly string[],
  { reason: words, ...edit }: { reason?: string; arguments?: string },
): Approval {
  const head = { type: 'approval_resolution', approvalId } as const;
  const because = words !== undefined && { reason: words };
  if (pending.length <= 1 && denied.length === 0) return { ...head, decision: 'approved', ...because, ...edit };
  const calls = pending.map(({ id: callId, argumentsDigest }) =>
    denied.includes(callId)
      ? { callId, argumentsDigest, decision: 'denied' as const, ...because }
      : { callId, argumentsDigest, decision: 'approved' as const, ...edit },
  );
  return { ...head, calls };
}

const ACTIONS = ['happened', 'did_not_happen', 'close_incomplete'] as const;
const reconcileArgs = {
  id: ID,
  action: {
    type: 'positional',
    required: true,
    description: 'happened, did_not_happen (runs again), or close_incomplete (ends it as failed).',
  },
  proof: {
    type: 'string',
    required: true,
    valueHint: 'file',
    description: 'What shows it: kept as its name and digest.',
  },
  ref: { type: 'string', valueHint: 'text', description: 'Where the proof is kept; default: the name of the file.' },
  result: {
    type: 'string',
    valueHint: 'json',
    description: 'With happened: what the turn came to (a harness result).',
  },
  effect: {
    type: 'string',
    valueHint: 'key',
    description: 'Decide this effect of the turn alone (see executions of get); the turn goes on.',
  },
  value: { type: 'string', valueHint: 'json', description: 'With happened and --effect: what the effect came to.' },
  issuer: { type: 'string', valueHint: 'name', description: 'Who issued the proof.' },
  observed: { type: 'string', valueHint: 'time', description: 'When it was seen; default: now.' },
} as const satisfies ArgsDef;

const reconcile = defineCliCommand('reconcile', {
  description: 'Decide a turn whose outcome is unknown, on proof.',
  args: reconcileArgs,
  examples: [
    'reconcile cont_01J… did_not_happen --proof bank-statement.pdf',
    `reconcile cont_01J… happened --proof log.txt --result '{"outcome": "completed", "assistantMessage": {"text": "Refunded."}}'`,
    `reconcile cont_01J… happened --effect run_01J…:tool:call-1 --value '{"refundId": "r-17"}' --proof statement.pdf`,
  ],
  sends: true,
  async run(args, { client, io, report }) {
    const action = ACTIONS.find((known) => known === args.action);
    if (!action) throw new UsageError(`${JSON.stringify(args.action)} must be one of ${ACTIONS.join(', ')}.`);
    const record = await client.get({ continuationId: args.id });
    if (!record) return report.json ? printJson(notFound(), io, false) : reportRefusal(notFound().refusal, io);
    const { turnId = NONE, attempt = 1 } = record.resume ?? {};
    const input: ReconcileContinuationInput = {
      continuationId: args.id,
      turnId,
      attempt,
      action,
      proof: { ref: args.ref ?? args.proof, digest: digestBytes(await readNamedFile(args.proof)) },
      observedAt: args.observed ?? io.now().toISOString(),
      ...(args.issuer !== undefined && { issuer: args.issuer }),
      ...(args.result !== undefined && { result: parseJson('--result', args.result) }),
      ...(args.effect !== undefined && { effect: args.effect }),
      ...(args.value !== undefined && { value: parseJson('--value', args.value) }),
    };
    const decided = await client.reconcile(input);
    if (report.json) return printJson(decided, io, decided.ok);
    if (!decided.ok) return reportRefusal(decided.refusal, io);
    io.out(
      `Decided: ${action}. ${decided.record.id} is ${decided.record.status}; receipt ${decided.receipt.sequence}.`,
    );
    return EXIT.done;
  },
});

/** What is wrong with it otherwise is found by the client. */
function parseJson(option: string, text: string) {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${option} must be JSON.`);
  }
}

export const decideCommands: readonly CliCommand[] = [approve, deny, reconcile];
