/**
 * The turn engine: a bounded loop of model and tools that survives a crash in the middle of a turn (003); and states that are
 * known and checked: the exact transcript of a tool call (000), the frozen state of a run (001).
 */
import type { StateKind } from '../ports.ts';
import { checkpointKind } from './answers.ts';
import { runKind } from './run-state.ts';
import { transcriptKind } from './transcript.ts';

export type { Json } from '../json.ts';
export { CHECKPOINT_TYPE } from './answers.ts';
export { delegatedUnder, type FirstTurn, type ResumeOptions, type RunOptions } from './begin.ts';
export { resumeTurn, runTurn } from './engine.ts';
export { EngineError, RecoveryRequired } from './errors.ts';
export { postCommitId } from './finish.ts';
export { createEngineHarness, type EngineHarness, type EngineHarnessOptions } from './harness.ts';
export type {
  AgentDescription,
  ContextPort,
  ConversationPort,
  EnginePorts,
  Gate,
  InvocationOptions,
  Journal,
  JournalWrite,
  ModelPort,
  PermissionDecision,
  PermissionPort,
  PolicyPort,
  PostCommitPort,
  SubAgent,
  ToolCallOptions,
  ToolDescription,
  ToolPort,
} from './ports.ts';
export { type Budgets, nextSequence, type Resolution, startIteration } from './resume.ts';
export {
  mayUseTool,
  RUN_TYPE,
  type RunState,
  type RunStateInput,
  readRunState,
  resumeRun,
  runState,
} from './run-state.ts';
export {
  readTranscript,
  resumeMessages,
  TRANSCRIPT_TYPE,
  type Transcript,
  type TranscriptInput,
  transcriptState,
  validateSingleton,
} from './transcript.ts';
export type { CallAnswer, TurnEnd, WaitingCall } from './turn.ts';
export {
  type ContextSnapshot,
  type EngineCheckpoint,
  type EngineEvent,
  type InvocationContextState,
  loadCheckpoint,
  loadResumeContext,
  type Message,
  type ModelInvocationRequest,
  type ModelInvocationResponse,
  type ModelToolRequest,
  type ModelToolResult,
  type ResumeContext,
  type TurnCommit,
  type TurnStatus,
} from './types.ts';

/** For `stateKinds` of client and worker: states of these types are checked at every pause. */
export const stateKinds: readonly StateKind[] = [transcriptKind, runKind, checkpointKind];
