/** The script that stands for a language model: a pure function of the transcript, so it runs without a network or a key. */
import type { Model, ToolCall, Transcript } from './agent.ts';

type Step = ReturnType<Model>;

/** What the customer wants, from the words of the first message. */
const INTENTS: ReadonlyArray<[RegExp, (transcript: Transcript) => Step]> = [
  [/money back|refund/i, refund],
  [/where is|not arrived|track/i, findParcel],
  [/fit|compatible|work with/i, compatibility],
];

export const scriptedModel: Model = (transcript) => {
  const [first] = transcript;
  const wish = first && 'text' in first ? first.text : '';
  const plan = INTENTS.find(([pattern]) => pattern.test(wish))?.[1];
  return plan ? plan(transcript) : { say: 'I am sorry, I can help with refunds, parcels and spare parts only.' };
};

function refund(transcript: Transcript): Step {
  const order = orderNumber(transcript);
  if (!order)
    return {
      call: { name: 'ask_customer', arguments: { question: 'Which order is it about? The number is on the invoice.' } },
    };
  const found = resultOf(transcript, 'look_up_order');
  if (!found) return { call: { name: 'look_up_order', arguments: { order } } };
  if (!found.item) return { say: `I cannot find order ${order}.` };
  const paid = resultOf(transcript, 'refund');
  if (!paid)
    return { call: { name: 'refund', arguments: { order, amount: String(found.price), reason: 'arrived broken' } } };
  if (paid.denied)
    return { say: `I am sorry, we cannot refund order ${order}${paid.reason ? `: ${paid.reason}` : ''}.` };
  return { say: `Your ${found.item} is refunded: ${paid.amount} are on their way back to you (${paid.refundId}).` };
}

function findParcel(transcript: Transcript): Step {
  const order = orderNumber(transcript);
  if (!order) return { call: { name: 'ask_customer', arguments: { question: 'Which order do you wait for?' } } };
  const trace = resultOf(transcript, 'trace_parcel');
  if (!trace) return { call: { name: 'trace_parcel', arguments: { order } } };
  if (trace.status === 'lost')
    return { say: `The carrier has lost the parcel of order ${order}; we send a new one today.` };
  const checked = resultOf(transcript, 'check_back');
  if (!checked) return { call: { name: 'check_back', arguments: { order, after: String(trace.arrivesAt) } } };
  const parcel = resultOf(transcript, 'look_up_order');
  if (!parcel) return { call: { name: 'look_up_order', arguments: { order } } };
  return parcel.delivered
    ? { say: `Order ${order} was found at ${trace.place} and has just been delivered. Enjoy your ${parcel.item}!` }
    : { say: `Order ${order} is at ${trace.place} and has still not arrived; I have told the carrier.` };
}

function compatibility(transcript: Transcript): Step {
  const asked = resultOf(transcript, 'ask_colleague');
  const [first] = transcript;
  if (!asked) {
    const question = first && 'text' in first ? first.text : '';
    return { call: { name: 'ask_colleague', arguments: { colleague: 'parts-agent', question } } };
  }
  if (asked.performative !== 'inform') return { say: 'I could not find out; a person will write to you today.' };
  return { say: `I asked our parts specialist: ${asked.content}` };
}

/** From what the customer wrote at first, or replied since. */
function orderNumber(transcript: Transcript): string | undefined {
  const [first] = transcript;
  const texts = [first && 'text' in first ? first.text : '', String(resultOf(transcript, 'ask_customer')?.reply ?? '')];
  return texts.map((text) => /\b\d{4}\b/.exec(text)?.[0]).find((number) => number !== undefined);
}

/** Result of the last call of a tool, when there is one. */
function resultOf(transcript: Transcript, name: string): Record<string, unknown> | undefined {
  const call = transcript
    .filter((message): message is { role: 'agent'; call: ToolCall } => 'call' in message && message.call.name === name)
    .at(-1)?.call;
  const answer = transcript.find((message) => message.role === 'tool' && message.callId === call?.id);
  return answer?.role === 'tool' ? (answer.result as Record<string, unknown>) : undefined;
}
