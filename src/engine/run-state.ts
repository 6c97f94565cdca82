/**
 * The state of a run that paused, frozen (001 `Continuation`): a prompt edited, a tool granted or a limit raised meanwhile does
 * not apply to it. Only its own fields are looked at; the messages stay the JSON text that they were given as.
 */
import { z } from 'zod';
import { ContinuationError } from '../errors.ts';
import { formatPath, jsonFault } from '../json.ts';
import { textKind } from './text-kind.ts';

export const RUN_TYPE = 'application/vnd.continuations.run+json';

const count = z.int().min(0);
const Config = z.looseObject({
  model: z.string().min(1),
  temperature: z.number().optional(),
  /** Steps that the run may take in all, over all pauses. */
  maxSteps: count.optional(),
  maxTokens: count.optional(),
  tools: z.array(z.string().min(1)).default([]),
  /** With it an empty list means none; a state older than the field was never restricted (001). */
  toolsRestricted: z.boolean().default(false),
});
const RunState = z
  .looseObject({
    schemaVersion: z.literal(1).default(1),
    /** The whole list, history included. */
    messages: z.array(z.looseObject({ role: z.string().min(1) })),
    /** As it was assembled. */
    systemPrompt: z.string().default(''),
    /** The next step to run. */
    stepIndex: count,
    tokensUsed: count.default(0),
    /** Where the run's own messages start: only those are ever saved to a conversation. */
    newMessagesFrom: count.default(0),
    sessionId: z.string().min(1).optional(),
    config: Config,
  })
  .refine((run) => run.newMessagesFrom <= run.messages.length, {
    path: ['newMessagesFrom'],
    message: 'lies beyond the messages',
  });
export type RunState = z.infer<typeof RunState>;
export type RunStateInput = z.input<typeof RunState>;

/** The state to pause with, `continuation.state`: an object, or its JSON text, which is then kept as it is. Throws `invalid_run_state`. */
export function runState(run: RunStateInput | string): { text: string; mediaType: string } {
  const text = typeof run === 'string' ? run : JSON.stringify(run);
  readRunState({ text });
  return { text, mediaType: RUN_TYPE };
}

/** Reads a stored state; fields that an older one lacks get the value that grants and restricts nothing new. Throws `invalid_run_state`. */
export function readRunState(state: unknown): RunState {
  const text = (state as { text?: unknown } | null)?.text;
  if (typeof text !== 'string') throw invalid('it holds no text');
  const parsed = RunState.safeParse(parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalid(`${formatPath(issue?.path ?? [])} ${issue?.message ?? 'is invalid'}`);
}

/** The run that may go on: it has steps left. Throws `no_step_budget` for a config without one, `steps_used_up` on the last step. */
export function resumeRun(state: unknown): RunState & { readonly stepsLeft: number } {
  const run = readRunState(state);
  const { maxSteps } = run.config;
  if (!maxSteps)
    throw new ContinuationError('no_step_budget', 'The run has no step budget: set config.maxSteps at the pause.');
  if (run.stepIndex >= maxSteps)
    throw new ContinuationError(
      'steps_used_up',
      `The run paused on the last of its ${maxSteps} steps: none is left to use the answer.`,
    );
  return { ...run, stepsLeft: maxSteps - run.stepIndex };
}

/** Whether the run may use a tool: a restricted list allows what it names, and an unrestricted one without names everything. */
export function mayUseTool({ config }: RunState, name: string): boolean {
  return config.tools.includes(name) || (!config.toolsRestricted && config.tools.length === 0);
}

export const runKind = textKind(RUN_TYPE, readRunState);

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const fault = jsonFault(value, false);
    if (!fault) return value;
    throw invalid(`${formatPath(fault.path)} ${fault.message}`);
  } catch (error) {
    throw error instanceof ContinuationError ? error : invalid(`it is not JSON: ${(error as Error).message}`);
  }
}

function invalid(message: string): ContinuationError {
  return new ContinuationError('invalid_run_state', `The run state cannot be used: ${message}.`);
}
