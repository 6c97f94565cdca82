/** The script that stands for a language model: a pure function of the conversation, so it runs without a network or a key. */
import type { Message, ModelInvocationResponse, ModelPort } from '../../src/engine/index.ts';

/** What to do next: say something, which ends the turn, or call a tool. */
type Step = { readonly say: string } | { readonly call: string; readonly with: Readonly<Record<string, string>> };
type Conversation = readonly Message[];

/** What the customer wants, from the words of the first message. */
const INTENTS: ReadonlyArray<[RegExp, (conversation: Conversation) => Step]> = [
  [/money back|refund/i, refund],
  [/where is|not arrived|track/i, findParcel],
  [/fit|compatible|work with/i, compatibility],
];

export const scriptedModel: ModelPort = {
  async invoke({ context: { messages, iteration } }): Promise<ModelInvocationResponse> {
    const wish = textOf(messages[0]);
    const plan = INTENTS.find(([pattern]) => pattern.test(wish))?.[1];
    const step = plan?.(messages) ?? { say: 'I am sorry, I can help with refunds, parcels and spare parts only.' };
    if ('say' in step) return { output: step.say };
    const request = { id: `call_${iteration}_${step.call}`, name: step.call, arguments: JSON.stringify(step.with) };
    return { toolRequests: [request] };
  },
};

function refund(conversation: Conversation): Step {
  const order = orderNumber(conversation);
  if (!order)
    return { call: 'ask_customer', with: { question: 'Which order is it about? The number is on the invoice.' } };
  const found = resultOf(conversation, 'look_up_order');
  if (!found) return { call: 'look_up_order', with: { order } };
  if (!found.item) return { say: `I cannot find order ${order}.` };
  const paid = resultOf(conversation, 'refund');
  if (!paid) return { call: 'refund', with: { order, amount: String(found.price), reason: 'arrived broken' } };
  if (!paid.refundId) return { say: `I am sorry, we cannot refund order ${order}: ${paid.text}` };
  return { say: `Your ${found.item} is refunded: ${paid.amount} are on their way back to you (${paid.refundId}).` };
}

function findParcel(conversation: Conversation): Step {
  const order = orderNumber(conversation);
  if (!order) return { call: 'ask_customer', with: { question: 'Which order do you wait for?' } };
  const trace = resultOf(conversation, 'trace_parcel');
  if (!trace) return { call: 'trace_parcel', with: { order } };
  if (trace.status === 'lost')
    return { say: `The carrier has lost the parcel of order ${order}; we send a new one today.` };
  const checked = resultOf(conversation, 'check_back');
  if (!checked) return { call: 'check_back', with: { order, after: String(trace.arrivesAt) } };
  const parcel = resultOf(conversation, 'look_up_order');
  if (!parcel) return { call: 'look_up_order', with: { order } };
  return parcel.delivered
    ? { say: `Order ${order} was found at ${trace.place} and has just been delivered. Enjoy your ${parcel.item}!` }
    : { say: `Order ${order} is at ${trace.place} and has still not arrived; I have told the carrier.` };
}

function compatibility(conversation: Conversation): Step {
  const answer = resultOf(conversation, 'ask_colleague');
  if (!answer) return { call: 'ask_colleague', with: { colleague: 'parts-agent', question: textOf(conversation[0]) } };
  if (answer.error || answer.text === 'no answer in time')
    return { say: 'I could not find out; a person will write to you today.' };
  return { say: `I asked our parts specialist: ${answer.text}` };
}

/** From what the customer wrote at first, or replied since. */
function orderNumber(conversation: Conversation): string | undefined {
  const texts = [textOf(conversation[0]), resultOf(conversation, 'ask_customer')?.text ?? ''];
  return texts.map((text) => /\b\d{4}\b/.exec(text)?.[0]).find((number) => number !== undefined);
}

/** What the last call of a tool came to: its fields when it is JSON, and its words. */
function resultOf(conversation: Conversation, tool: string): { text: string; [field: string]: unknown } | undefined {
  const told = conversation.findLast(({ role, metadata }) => role === 'tool' && metadata?.name === tool);
  if (!told) return undefined;
  const text = textOf(told);
  return { ...fieldsOf(text), text };
}

function fieldsOf(text: string): object {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function textOf(message: Message | undefined): string {
  return message?.parts.map(({ value }) => value).join('') ?? '';
}
