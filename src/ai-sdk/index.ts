/** Agents of the AI SDK (`ai` 6) with durable approvals: on the turn engine, or whole, with their messages as state. */
import { checkpointKind } from '../engine/answers.ts';
import type { StateKind } from '../ports.ts';
import { messagesKind } from './agent-state.ts';

export { type AgentResult, type AgentRun, type AiSdkAgentHarnessOptions, createAiSdkAgentHarness } from './agent.ts';
export { MESSAGES_TYPE } from './agent-state.ts';
export {
  type AiSdkHarness,
  type AiSdkHarnessOptions,
  aiSdkPorts,
  createAiSdkHarness,
  type FirstTurnInput,
  type TurnPlace,
} from './harness.ts';
export type { StepSettings } from './settings.ts';
export { idempotencyKey } from './tool-call.ts';

/** For `stateKinds` of client and worker: states of agents of the AI SDK are checked at every pause. */
export const stateKinds: readonly StateKind[] = [checkpointKind, messagesKind];
