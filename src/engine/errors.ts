/** Errors of the turn engine; `code` is stable. */
import type { EngineCheckpoint, ModelToolResult } from './types.ts';

export class EngineError extends Error {
  override readonly name: string = 'EngineError';
  readonly code: 'invalid_request' | 'recovery_required';
  constructor(code: EngineError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A write failed after an effect: what happened is here and nowhere else. Never run the turn again without it (003). */
export class RecoveryRequired extends EngineError {
  override readonly name = 'RecoveryRequired';
  readonly stage: string;
  readonly checkpoint: EngineCheckpoint;
  readonly toolResults: readonly ModelToolResult[];
  readonly requestId: string | undefined;
  constructor(stage: string, checkpoint: EngineCheckpoint, cause: unknown, requestId?: string) {
    super('recovery_required', `What ${stage} came to could not be written to the journal.`, { cause });
    this.stage = stage;
    this.checkpoint = checkpoint;
    this.toolResults = checkpoint.completedToolResults ?? [];
    this.requestId = requestId;
  }
}

/** A passing error of a port: the turn is run again. */
export const isTransient = (error: unknown): boolean => error instanceof Error && error.name === 'TransientError';
