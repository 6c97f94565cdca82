/** From what a form says to the message that it stands for. */
import { formatPath, type Json, jsonFault } from '../../json.ts';
import { MAX_PENDING_CALLS } from '../../schema/calls.ts';
import { type ResumeContinuationInput, WaitType } from '../../schema.ts';

type Trigger = ResumeContinuationInput['trigger'];
type Approval = Extract<Trigger, { type: 'approval_resolution' }>;
type External = Extract<Trigger, { type: 'external_result' }>;

/** Arguments that replace those of the model. */
export interface Edit {
  readonly callId: string;
  readonly name: string;
  readonly before: string;
  readonly after: string;
}
/** A call as the page showed it. */
export interface ShownCall {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}
export type ReadAnswer =
  | { readonly ok: true; readonly input: ResumeContinuationInput; readonly edits: readonly Edit[] }
  | { readonly ok: false; readonly faults: Readonly<Record<string, string>> };

/** `shown`: the calls of the suspension that the form is about; empty when that no longer waits, and the answer comes too late. */
export function readAnswer(id: string, fields: URLSearchParams, shown: readonly ShownCall[]): ReadAnswer {
  const form = new Form(fields, shown);
  const type = WaitType.safeParse(fields.get('type'));
  const trigger = type.success ? READERS[type.data](form) : undefined;
  if (!trigger) form.fault('type', 'This form is not known: load the page again.');
  if (!trigger || form.isFaulty) return { ok: false, faults: form.faults };
  const [messageId, suspensionId] = [form.text('messageId'), form.text('suspensionId')];
  const suspensionDigest = form.text('suspensionDigest') as `sha256:${string}`;
  return {
    ok: true,
    input: { continuationId: id, messageId, suspensionId, suspensionDigest, trigger },
    edits: form.edits,
  };
}

/** What was typed, as it was meant: browsers send their own line ends. */
class Form {
  readonly faults: Record<string, string> = {};
  readonly edits: Edit[] = [];
  readonly #fields: URLSearchParams;
  readonly #shown: readonly ShownCall[];
  constructor(fields: URLSearchParams, shown: readonly ShownCall[]) {
    this.#fields = fields;
    this.#shown = shown;
  }

  get isFaulty(): boolean {
    return Object.keys(this.faults).length > 0;
  }
  /** The numbers of the calls that the form is about. */
  get numbers(): number[] {
    return Array.from({ length: Math.min(Number(this.text('calls')) || 0, MAX_PENDING_CALLS) }, (_, number) => number);
  }

  text(name: string): string {
    return lines(this.#fields.get(name) ?? '');
  }

  needed(name: string, message: string): string {
    const text = this.text(name);
    if (text.trim() === '') this.fault(name, message);
    return text;
  }

  fault(name: string, message: string): void {
    this.faults[name] ??= message;
  }

  /** Text, or JSON when the form says that it is. */
  value(name: string, format: string): Json {
    const text = this.needed(name, 'Say what came of it.');
    if (this.text(format) !== 'json' || text.trim() === '') return text;
    const { value, fault } = parseJson(text);
    if (fault) this.fault(name, fault);
    return value ?? null;
  }

  /** What replaces the arguments of a call; undefined when they are as they were shown. */
  edit(number: number): string | undefined {
    const name = `arguments-${number}`;
    const call = this.#shown.find(({ id }) => id === this.text(`call-${number}`));
    if (!call || !this.#fields.has(name)) return undefined;
    const after = this.text(name);
    if (after === lines(call.text).replaceAll('\u0000', '\ufffd')) return undefined;
    const { fault } = parseJson(after);
    if (fault && !parseJson(call.text).fault) this.fault(name, fault);
    this.edits.push({ callId: call.id, name: call.name, before: call.text, after });
    return after;
  }
}

const READERS: Readonly<Record<WaitType, (form: Form) => Trigger>> = {
  user_reply: (form) => {
    const correlationKey = form.text('correlation');
    const text = form.needed('text', 'Write a reply.');
    return { type: 'user_reply', message: { text }, ...(correlationKey && { correlationKey }) };
  },
  approval_resolution: (form) => ({
    type: 'approval_resolution',
    approvalId: form.text('correlation'),
    ...(form.numbers.length > 1 ? { calls: form.numbers.map((number) => decided(form, number)) } : decidedAtOnce(form)),
  }),
  external_result: (form) => ({
    type: 'external_result',
    operationId: form.text('correlation'),
    ...(form.numbers.length > 0
      ? { calls: form.numbers.map((number) => cameOut(form, number)) }
      : { payload: form.value('payload', 'format') }),
  }),
  agent_reply: (form) => ({
    type: 'agent_reply',
    replyWith: form.text('correlation'),
    performative: form.text('performative') as 'inform',
    content: form.value('content', 'format'),
  }),
  scheduled_wake: (form) => ({ type: 'scheduled_wake', wakeUpId: form.text('correlation') }),
};

function decidedAtOnce(form: Form): Pick<Approval, 'decision' | 'reason' | 'arguments'> {
  const decision = decisionOf(form, 'decision');
  const reason = form.text('reason');
  const edited = decision === 'approved' ? form.edit(0) : undefined;
  return { decision, ...(reason.trim() && { reason }), ...(edited !== undefined && { arguments: edited }) };
}

function decided(form: Form, number: number): NonNullable<Approval['calls']>[number] {
  const seen = seenCall(form, number);
  if (decisionOf(form, `decision-${number}`) === 'denied') {
    const reason = form.text(`reason-${number}`);
    return { ...seen, decision: 'denied', ...(reason.trim() && { reason }) };
  }
  const edited = form.edit(number);
  return { ...seen, decision: 'approved', ...(edited !== undefined && { arguments: edited }) };
}

function decisionOf(form: Form, name: string): 'approved' | 'denied' {
  const decision = form.text('all') || form.text(name);
  if (decision !== 'approved' && decision !== 'denied') form.fault(name, 'Approve or deny.');
  return decision === 'approved' ? 'approved' : 'denied';
}

function cameOut(form: Form, number: number): NonNullable<External['calls']>[number] {
  const seen = seenCall(form, number);
  const outcome = form.text(`outcome-${number}`);
  if (outcome === 'execute') return { ...seen, execute: true };
  if (outcome === 'error') return { ...seen, error: form.needed(`result-${number}`, 'Say what went wrong.') };
  if (outcome !== 'result') form.fault(`outcome-${number}`, 'Say what came of it.');
  return { ...seen, result: form.value(`result-${number}`, `format-${number}`) };
}

function seenCall(form: Form, number: number): { callId: string; argumentsDigest: `sha256:${string}` } {
  return {
    callId: form.text(`call-${number}`),
    argumentsDigest: form.text(`digest-${number}`) as `sha256:${string}`,
  };
}

/** With the line ends that we keep. */
export const lines = (text: string): string => text.replace(/\r\n?/g, '\n');

/** A JSON value, or what is wrong with the text, in words for whoever typed it. */
function parseJson(text: string): { value?: Json; fault?: string } {
  try {
    const value = JSON.parse(text) as Json;
    const fault = jsonFault(value);
    return fault ? { fault: `${formatPath(fault.path.slice(0, 10)) || 'It'} ${fault.message}.` } : { value };
  } catch (error) {
    return { fault: `This is not JSON: ${(error as Error).message}.` };
  }
}
