/** What a person reads about a continuation in the Temporal UI. Text of users and models is never markup. Workflow-safe. */
import type { ContinuationRecord, WaitCondition, WaitType } from './schema.ts';

const MAX_LINE = 200;
/** The UI carries current details in a URL; longer ones break the page. */
const MAX_DETAILS = 4096;

/** One line without markup characters, at most 200 characters. */
export function line(text: string): string {
  const plain = text
    .replace(/[\p{C}\s]+/gu, ' ')
    .replace(/[<>*`#[\]$\\|~]/g, '')
    // Inside a word an underscore is no markup, and ids have them.
    .replace(/(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, '')
    .trim();
  const points = [...plain];
  return points.length <= MAX_LINE ? plain : `${points.slice(0, MAX_LINE - 1).join('')}…`;
}

/** Text as the UI's markdown shows it literally: everything it could read as markup becomes a numeric entity. */
export function literal(text: string): string {
  return text.replace(/[^\p{L}\p{N} ,;?\n]/gu, (char) => `&#${char.codePointAt(0)};`).replace(/\n/g, '<br>');
}

/** A code block whose fence is longer than any run of backticks inside. */
export function fenced(code: string, language = ''): string {
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${code}\n${fence}`;
}

const WAITS: Record<WaitType, string> = {
  user_reply: 'a reply',
  approval_resolution: 'an approval',
  external_result: 'a result',
  agent_reply: "another agent's answer",
  scheduled_wake: 'a wake',
};

/** What is waited for, in words: `an approval (approvalId refund-42)`. */
export function waitInWords(waitFor: WaitCondition): string {
  const [key, value] = Object.entries(waitFor).find(([name]) => name !== 'type') ?? [];
  return value === undefined ? WAITS[waitFor.type] : `${WAITS[waitFor.type]} (${key} ${value})`;
}

/** The UI makes links of bare addresses too; what a model wrote is not for following. */
function unlinked(text: string): string {
  return text.replace(/:\/\//g, ': //').replace(/www\./gi, 'www .').replace(/@/g, ' @ ');
}

export function staticSummary(record: ContinuationRecord): string {
  return line(
    `${record.assistantId} waits for ${waitInWords(record.waitFor)}: ${unlinked(record.suspension.question)}`,
  );
}

/** Question, link and how to answer; they describe the first pause and need no worker to be shown. */
export function staticDetails(record: ContinuationRecord, link?: string): string {
  const { waitFor, suspension, bounds } = record;
  const parts = [
    `**${literal(record.assistantId)}** waits for ${literal(waitInWords(waitFor))}`,
    literal(suspension.question.slice(0, 2000)),
    bounds.expiresAt ? `Answer before ${literal(minutes(bounds.expiresAt))}` : 'It never expires',
    ...(link ? [`[Answer it](${encodeURI(link)})`] : []),
    `Send Signal, name \`${waitFor.type}\`, input:`,
    fenced(JSON.stringify(exampleAnswer(record), null, 2), 'json'),
  ];
  return parts.join('\n\n');
}

/** The body of a signal named after the wait type that answers this record. */
export function exampleAnswer({ waitFor, suspension, answers }: ContinuationRecord): object {
  const trigger = exampleTrigger(waitFor);
  return answers.length === 0 ? trigger : { suspensionId: suspension.id, trigger };
}

function exampleTrigger(waitFor: WaitCondition): object {
  switch (waitFor.type) {
    case 'user_reply':
      return {
        message: { text: 'your reply' },
        ...(waitFor.correlationKey && { correlationKey: waitFor.correlationKey }),
      };
    case 'approval_resolution':
      return { approvalId: waitFor.approvalId, decision: 'approved' };
    case 'external_result':
      return { operationId: waitFor.operationId, payload: {} };
    case 'agent_reply':
      return { replyWith: waitFor.replyWith, performative: 'inform', content: 'your answer' };
    case 'scheduled_wake':
      return { wakeUpId: waitFor.wakeUpId };
    default:
      return waitFor satisfies never;
  }
}

/** What changes over the life of a continuation. */
export function currentDetails(record: ContinuationRecord): string {
  const answer = record.answers.at(-1);
  const by =
    answer &&
    `${answer.decision ?? answer.type} by ${answer.subject} over ${answer.channel} at ${minutes(answer.receivedAt)}`;
  const parts = [
    `Status **${record.status}**${record.terminalReason ? ` ${literal(record.terminalReason)}` : ''}`,
    ...(by ? [`Last answer ${literal(by)}`] : []),
    ...(record.resume?.uncertain
      ? [`**The outcome of ${literal(record.resume.turnId)} is unknown** ${literal(record.resume.uncertain.message)}`]
      : []),
  ];
  if (record.resume?.outcome && record.delivery.status !== 'not_applicable') {
    parts.push(`Follow-up ${literal(record.delivery.status)}`);
  }
  if (record.status === 'pending') {
    parts.push(`Waits for ${literal(waitInWords(record.waitFor))}`, literal(record.suspension.question.slice(0, 500)));
    parts.push(fenced(JSON.stringify(exampleAnswer(record)), 'json'));
  }
  return parts.join('\n\n').slice(0, MAX_DETAILS);
}

/** Label of the timer: what is waited for and until when. */
export function timerSummary(record: ContinuationRecord): string {
  const until = record.bounds.expiresAt;
  return line(`Waits for ${waitInWords(record.waitFor)}${until ? `; expires ${minutes(until)}` : ''}`);
}

function minutes(instant: string): string {
  return `${instant.slice(0, 16).replace('T', ' ')} UTC`;
}
