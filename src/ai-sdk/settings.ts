/** What an agent of the SDK is made of, as far as the engine's loop takes it. */
import type { generateText, OutputInterface, TextStreamPart, ToolSet } from 'ai';

type Generate<TOOLS extends ToolSet> = Parameters<typeof generateText<TOOLS>>[0];
type Setting =
  | 'model'
  | 'tools'
  | 'toolChoice'
  | 'activeTools'
  | 'maxRetries'
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'stopSequences'
  | 'seed'
  | 'headers'
  | 'timeout'
  | 'providerOptions'
  | 'onStepFinish'
  | 'experimental_context'
  | 'experimental_telemetry'
  | 'experimental_download'
  | 'experimental_repairToolCall';

/** Settings of `generateText` and `ToolLoopAgent`, with their meaning there; `maxRetries` are those of one call of the model. */
export type StepSettings<TOOLS extends ToolSet> = Pick<Generate<TOOLS>, Setting> & {
  /** What the turn must end with, as of `Output.object`; the follow-up is its JSON. */
  readonly output?: OutputInterface;
  /** Tools that may be run again with the same `idempotencyKey`. A run of any other that a crash cut off is asked about (C8). */
  readonly idempotentTools?: ReadonlyArray<keyof NoInfer<TOOLS>>;
  /** What the person who must approve a call, or answer it, is asked. Default: the tool's name. */
  readonly question?: Question;
};

export type Question = (call: {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}) => string | undefined;

/** Hears the parts of a turn as they come. */
export type PartListener = (part: TextStreamPart<ToolSet>) => Promise<void>;
