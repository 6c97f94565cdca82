/** Agents of the AI SDK (`ai` 6) with durable approvals: on the turn engine, or whole, with their messages as state. */
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
