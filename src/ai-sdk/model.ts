/** A language model of the SDK as the engine's model: one step of `generateText` or `streamText` for each invocation. */
import {
  gateway,
  generateText,
  type LanguageModel,
  type LanguageModelMiddleware,
  type StepResult,
  stepCountIs,
  streamText,
  type TextStreamPart,
  type ToolSet,
  wrapProvider,
} from 'ai';
import type { ModelInvocationResponse, ModelPort } from '../engine/index.ts';
import { uniqueCallIds } from './call-ids.ts';
import { modelFailure } from './failure.ts';
import { toEngine, toModel } from './messages.ts';
import type { PartListener, StepSettings } from './settings.ts';

type Step = StepResult<ToolSet>;
type Call = Parameters<typeof streamText>[0] & { readonly onStepFinish?: never };
/** Arguments as the model wrote them, by call id: the SDK hands out what it parsed. */
type Texts = Map<string, string>;

/** The model decides, the engine runs: tools are shown to it without what runs them or asks for approval. */
export function modelPort(settings: StepSettings<ToolSet>, onPart?: PartListener): ModelPort {
  const { model, tools, experimental_repairToolCall: repair, idempotentTools: _, question: __, ...rest } = settings;
  return {
    async invoke({ context }, { signal }) {
      const texts: Texts = new Map();
      const call = {
        ...rest,
        model: wrapModel(model, hearing(texts)),
        ...(tools && { tools: shown(tools) }),
        ...(repair && { experimental_repairToolCall: repairing(repair, texts) }),
        messages: context.messages.map(toModel),
        allowSystemInMessages: true,
        stopWhen: stepCountIs(1),
        abortSignal: signal,
      } as Call;
      try {
        return responseOf(onPart ? await streamed(call, onPart) : await generated(call), texts);
      } catch (error) {
        throw modelFailure(error);
      }
    },
  };
}

function shown(tools: ToolSet): ToolSet {
  const entries = Object.entries(tools).map(([name, { execute, needsApproval, ...tool }]) => [name, tool]);
  return Object.fromEntries(entries) as ToolSet;
}

/** As the SDK finds a model: an id is looked up at the default provider. */
export function wrapModel(model: LanguageModel, middleware: LanguageModelMiddleware) {
  const provider = typeof model === 'string' ? (globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway) : only(model);
  return wrapProvider({ provider, languageModelMiddleware: [middleware, uniqueCallIds] }).languageModel(
    typeof model === 'string' ? model : model.modelId,
  );
}

type Provider = Parameters<typeof wrapProvider>[0]['provider'];
function only(model: Exclude<LanguageModel, string>): Provider {
  return { specificationVersion: model.specificationVersion, languageModel: () => model } as unknown as Provider;
}

function hearing(texts: Texts): LanguageModelMiddleware {
  const hear = (part: { type: string; toolCallId?: string; input?: string }) => {
    if (part.type === 'tool-call' && part.toolCallId && part.input !== undefined)
      texts.set(part.toolCallId, part.input);
  };
  return {
    specificationVersion: 'v3',
    async wrapGenerate({ doGenerate }) {
      const result = await doGenerate();
      for (const part of result.content) hear(part as Parameters<typeof hear>[0]);
      return result;
    },
    async wrapStream({ doStream }) {
      const { stream, ...result } = await doStream();
      const tap = new TransformStream({
        transform(part, controller) {
          hear(part);
          controller.enqueue(part);
        },
      });
      return { ...result, stream: stream.pipeThrough(tap) };
    },
  };
}

type Repair = NonNullable<StepSettings<ToolSet>['experimental_repairToolCall']>;
function repairing(repair: Repair, texts: Texts): Repair {
  return async (options) => {
    const repaired = await repair(options);
    if (repaired) texts.set(repaired.toolCallId, repaired.input);
    return repaired;
  };
}

async function generated(call: Call): Promise<Step> {
  return lastOf((await generateText(call)).steps);
}

/** Of one step, what a listener to the whole turn wants to hear. */
const UNHEARD: ReadonlySet<TextStreamPart<ToolSet>['type']> = new Set(['start', 'finish']);

async function streamed(call: Call, onPart: PartListener): Promise<Step> {
  const result = streamText({ ...call, onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw call.abortSignal?.reason ?? new Error('the model was told to stop');
    if (!UNHEARD.has(part.type)) await onPart(part);
  }
  const step = lastOf(await result.steps);
  // What an `output` setting asks for is checked when it is read.
  if (call.output && step.toolCalls.length === 0) await result.output;
  return step;
}

function lastOf(steps: readonly Step[]): Step {
  const step = steps.at(-1);
  if (!step) throw new Error('the model gave no step');
  return step;
}

function responseOf(step: Step, texts: Texts): ModelInvocationResponse {
  const { finishReason, usage, text } = step;
  const calls = step.toolCalls.filter(({ providerExecuted }) => !providerExecuted);
  if (step.content.some(({ type }) => type === 'tool-approval-request'))
    throw new Error('a tool that its provider runs asks for approval: that works with createAiSdkAgentHarness only');
  if (finishReason === 'error' || (calls.length > 0 && finishReason !== 'stop' && finishReason !== 'tool-calls'))
    throw new Error(`the model stopped (${finishReason}) before its answer was complete`);
  const { inputTokens, outputTokens, totalTokens } = usage;
  const counted = inputTokens !== undefined && outputTokens !== undefined && totalTokens !== undefined;
  return {
    assistantMessages: step.response.messages.filter(({ role }) => role === 'assistant').map(toEngine),
    ...(counted && { usage: { inputTokens, outputTokens, totalTokens } }),
    ...(calls.length === 0
      ? { output: text }
      : {
          toolRequests: calls.map(({ toolCallId: id, toolName: name, input }) => ({
            id,
            name,
            arguments: texts.get(id) ?? JSON.stringify(input),
          })),
        }),
  };
}
