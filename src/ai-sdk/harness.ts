/**
 * An agent of the AI SDK on the turn engine: `createAiSdkHarness({…})` stands where `new ToolLoopAgent({…})` stood, and every step of
 * its turns is in the journal. A tool that needs approval ends the turn resumably, one that has run is never run again (C7).
 */
import type { ModelMessage, SystemModelMessage, TextStreamPart, ToolSet } from 'ai';
import { createEngineHarness, type EnginePorts } from '../engine/index.ts';
import { ContinuationError } from '../errors.ts';
import type { Harness } from '../ports.ts';
import type { HarnessResultInput } from '../schema.ts';
import { toEngine, toModel } from './messages.ts';
import { modelPort } from './model.ts';
import type { PartListener, StepSettings } from './settings.ts';
import { conversationPort, toolPort } from './tools.ts';

/** The turn that something belongs to. */
export interface TurnPlace {
  readonly sessionId?: string;
  /** Of a resumed turn that of its run, else the one that was given. */
  readonly turnId: string;
  /** Absent in a first turn. */
  readonly continuationId?: string;
  /** More than 1: what was heard of the turn before may come again. */
  readonly attempt: number;
}

export interface AiSdkHarnessOptions<TOOLS extends ToolSet> extends StepSettings<TOOLS> {
  /** As of `ToolLoopAgent`; part of the conversation from its first turn on, so an edit does not reach one that waits. */
  readonly instructions?: string | SystemModelMessage | SystemModelMessage[];
  /** Most steps of a turn, pauses included; default 20. A turn that needs more fails. */
  readonly maxSteps?: number;
  /** Hears texts, reasoning, calls and results as they come, as in `streamText`'s `fullStream`; waited for. */
  readonly onPart?: (part: TextStreamPart<TOOLS>, turn: TurnPlace) => Promise<void> | void;
  /** Runs after a turn has ended well; `messages` is the whole conversation without its system messages, as the SDK's users keep it. */
  readonly onFinish?: (
    end: { readonly messages: ModelMessage[]; readonly text: string },
    turn: TurnPlace,
  ) => Promise<void> | void;
}

export interface FirstTurnInput {
  /** Also `originTurnId` of the continuation that it may become. */
  readonly turnId: string;
  readonly sessionId?: string;
  readonly prompt?: string;
  readonly messages?: readonly ModelMessage[];
}

export interface AiSdkHarness extends Harness {
  /**
   * Runs the first turn of a conversation, without a journal: a crash loses it. Its result is for `client.create` when it waits. Throws
   * `TransientError` when the model could not be reached.
   */
  runFirstTurn(first: FirstTurnInput, options?: { signal?: AbortSignal }): Promise<HarnessResultInput>;
}

/** Throws `invalid_configuration` for a tool that could run elsewhere before anybody approves it. */
export function createAiSdkHarness<TOOLS extends ToolSet>(options: AiSdkHarnessOptions<TOOLS>): AiSdkHarness {
  checkTools(options.tools ?? {});
  const { maxSteps = 20 } = options;
  // The SDK's own retries know which errors may pass, and how long the provider asks to wait.
  const budgets = { maxIterations: maxSteps, maxModelAttempts: 1 };
  const engineFor = (turn: TurnPlace) => createEngineHarness({ ...portsOf(options, turn), budgets });
  return {
    replayable: true,
    runFirstTurn(first, runOptions) {
      const { turnId, sessionId = turnId } = first;
      const engine = engineFor({ turnId, sessionId, attempt: 1 });
      const messages = [...systemOf(options.instructions), ...given(first)].map(toEngine);
      return engine.runFirstTurn({ turnId, sessionId, messages }, runOptions);
    },
    runResumedTurn(turn) {
      const { id: continuationId, sessionId } = turn.continuation;
      const place = {
        turnId: turn.resumedTurnId,
        continuationId,
        attempt: turn.attempt,
        ...(sessionId && { sessionId }),
      };
      return engineFor(place).runResumedTurn(turn);
    },
  };
}

/** The ports of the engine that a model and tools of the SDK make, for a harness with ports of its own besides. */
export function aiSdkPorts<TOOLS extends ToolSet>(
  settings: StepSettings<TOOLS>,
): Pick<EnginePorts, 'model' | 'tools' | 'conversation'> {
  return stepPorts(settings as unknown as StepSettings<ToolSet>);
}

function stepPorts(settings: StepSettings<ToolSet>, onPart?: PartListener) {
  return {
    model: modelPort(settings, onPart),
    tools: toolPort(settings, onPart),
    conversation: conversationPort(settings),
  };
}

function portsOf<TOOLS extends ToolSet>(
  options: AiSdkHarnessOptions<TOOLS>,
  turn: TurnPlace,
): Omit<EnginePorts, 'journal'> {
  const { instructions: _, maxSteps: __, onPart, onFinish, ...settings } = options;
  const listener = onPart && safely((part: TextStreamPart<ToolSet>) => onPart(part as TextStreamPart<TOOLS>, turn));
  return {
    ...stepPorts(settings as unknown as StepSettings<ToolSet>, listener),
    ...(onFinish && {
      postCommit: {
        async run({ messages, output }) {
          const kept = messages.map(toModel).filter(({ role }) => role !== 'system');
          await onFinish({ messages: kept, text: String(output ?? '') }, turn);
        },
      },
    }),
  };
}

/** What a listener throws is its own affair: by then the tool has run. */
function safely<T>(listener: (value: T) => Promise<void> | void): (value: T) => Promise<void> {
  return async (value) => {
    try {
      await listener(value);
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  };
}

function systemOf(instructions: AiSdkHarnessOptions<ToolSet>['instructions']): ModelMessage[] {
  if (instructions === undefined) return [];
  if (typeof instructions === 'string') return [{ role: 'system', content: instructions }];
  return Array.isArray(instructions) ? instructions : [instructions];
}

export function given({ prompt, messages }: FirstTurnInput): readonly ModelMessage[] {
  if ((prompt === undefined) === (messages === undefined))
    throw new ContinuationError('invalid_configuration', 'Give a first turn either prompt or messages.');
  return messages ?? [{ role: 'user', content: prompt ?? '' }];
}

export function checkTools(tools: ToolSet): void {
  for (const [name, { execute, needsApproval }] of Object.entries(tools))
    if (needsApproval && !execute)
      throw new ContinuationError(
        'invalid_configuration',
        `Tool ${name} needs approval and has no execute: what runs elsewhere cannot be held back here. Ask for approval there, or give it an execute.`,
      );
}
