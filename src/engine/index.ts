/** States that are known and checked: the exact transcript of a tool call (000), the frozen state of a run (001). */
import type { StateKind } from '../ports.ts';
import { runKind } from './run-state.ts';
import { transcriptKind } from './transcript.ts';

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

/** For `stateKinds` of client and worker: states of these types are checked at every pause. */
export const stateKinds: readonly StateKind[] = [transcriptKind, runKind];
