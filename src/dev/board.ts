/** What `npm start` tells: what waits, how to answer it, where to look, and what happened. */
import { delimiter, dirname } from 'node:path';
import { Client, type Connection } from '@temporalio/client';
import { answerLines, signalLine } from '../cli/answer-lines.ts';
import { commandLine, paragraph, plain, relative } from '../cli/text.ts';
import { statusInWords } from '../cli/view.ts';
import type { ContinuationClient, ContinuationRecord, Harness, Winner } from '../index.ts';
import type { PendingRecord } from '../schema.ts';
import { waitInWords } from '../summary.ts';
import type { DevApi } from './api.ts';
import type { DevStack } from './stack.ts';

type Print = (line: string) => void;

export interface Board {
  readonly stack: DevStack;
  readonly connection: Connection;
  readonly api: DevApi;
  /** Options that the command line needs to find this stack. */
  readonly flags: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** One ask, as whoever must decide should see it, and the commands that answer it. */
export async function describeAsk(record: PendingRecord, board: Board): Promise<string> {
  const { suspension, bounds } = record;
  const calls = suspension.pending.map(
    ({ name, arguments: given }) => `  ${plain(name)} ${typeof given === 'string' ? plain(given) : '(long arguments)'}`,
  );
  const link = await deepLink(record.id, board);
  const lines = answerLines(record, { flags: ['--until', 'finished', ...board.flags] });
  return [
    `${plain(record.assistantId)} waits for ${plain(waitInWords(record.waitFor))}:`,
    '',
    paragraph(suspension.question),
    ...calls,
    ...(bounds.expiresAt ? [`  (until ${bounds.expiresAt}, ${relative(bounds.expiresAt, new Date())})`] : []),
    '',
    `Answer it in the inbox: ${board.api.inboxUrl}/${record.id}`,
    `(log in with ${board.api.key})`,
    '',
    `or in another terminal${environment(board.stack)}, in one of these ways:`,
    '',
    ...lines.map((line) => `  ${line}`),
    `  ${signalLine(record, temporalCommand(board))}`,
    ...(link ? [`  ${link}`] : []),
  ].join('\n');
}

/** Without the run id the UI shows an error page. */
async function deepLink(id: string, { stack, connection }: Board): Promise<string | undefined> {
  if (!stack.uiUrl) return undefined;
  const { namespace } = stack.temporal;
  try {
    const { runId } = await new Client({ connection, namespace }).workflow.getHandle(id).describe();
    return `${stack.uiUrl}/namespaces/${namespace}/workflows/${id}/${runId}/user-metadata`;
  } catch {
    return undefined;
  }
}

function environment({ own }: DevStack): string {
  const variables = [...(own.temporal ? [] : ['TEMPORAL_ADDRESS']), ...(own.database ? [] : ['DATABASE_URL'])];
  return variables.length === 0 ? '' : ` with the same ${variables.join(' and ')}`;
}

function temporalCommand({ stack, env }: Board): { program: string; flags: string[] } {
  const { temporalCli: cli, temporal } = stack;
  const onPath = cli === undefined || (env.PATH ?? '').split(delimiter).includes(dirname(cli));
  const address = temporal.connection.address ?? '';
  return {
    program: onPath ? 'temporal' : cli,
    flags: stack.own.temporal && address !== '127.0.0.1:7233' ? ['--address', address] : [],
  };
}

/** Where to look. */
export function describePlaces({ stack, flags, api }: Board, refundsFile: string): string {
  const places = [
    ['Inbox', api.inboxUrl],
    ['Key for it', api.key],
    ['All that waits', commandLine(['npx', 'continuations', 'list', ...flags])],
    ...(stack.uiUrl ? [['Temporal UI', stack.uiUrl]] : [['Temporal', `${stack.temporal.connection.address}`]]),
    ['Database', stack.own.database ? stack.databaseUrl : 'as DATABASE_URL says'],
    ['Refunds made', refundsFile],
  ];
  return places.map(([name = '', value]) => `${name.padEnd(16)}${value}`).join('\n');
}

/** Says who answered when the turn that the answer resumes begins. */
export function narrated(harness: Harness, print: Print): Harness {
  return {
    ...harness,
    runResumedTurn(turn) {
      const answer = turn.continuation.answers.at(-1);
      print(`${answer ? decided(answer) : turn.trigger.type}: the turn runs (${turn.resumedTurnId})`);
      return harness.runResumedTurn(turn);
    },
  };
}

/** Says how continuations end and what they ask anew, until the signal aborts. */
export async function narrate(
  client: ContinuationClient,
  { print, ask, signal }: { print: Print; ask: (record: PendingRecord) => Promise<void>; signal: AbortSignal },
): Promise<void> {
  const told = new Set<string>();
  for await (const record of client.watch({ signal })) {
    const key = `${record.id} ${record.status} ${record.suspension.id}`;
    if (told.has(key) || record.answers.length + Number(isEnded(record)) === 0) continue;
    if (record.status === 'pending') await ask(record);
    else if (isEnded(record)) print(ending(record));
    else if (record.resume?.uncertain) print(`${record.id} is ${statusInWords(record)}`);
    else continue;
    told.add(key);
  }
}

function decided(answer: Winner): string {
  return `${answer.decision ?? answer.type} by ${plain(answer.subject)} over ${plain(answer.channel)}`;
}

function isEnded({ status }: ContinuationRecord): boolean {
  return status !== 'pending' && status !== 'resuming';
}

function ending(record: ContinuationRecord): string {
  const answer = record.answers.at(-1);
  const by = answer && record.status !== 'completed' ? `, ${decided(answer)}` : '';
  return `${record.id} is ${statusInWords(record)}${by}; follow-up: ${record.delivery.status}`;
}
