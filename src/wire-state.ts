/** Bytes in JSON: state that is neither JSON nor text travels as base64. */
import { isExactState } from './schema.ts';

type Members = Readonly<Record<string, unknown>>;

function members(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
}

/** The input of a create, with a state of bytes as the client takes it. */
export function readState(input: Members): Members {
  const result = members(input.harnessResult);
  const continuation = members(result?.continuation);
  const state = members(continuation?.state);
  if (!state || Object.keys(state).length !== 2 || typeof state.base64 !== 'string' || !('mediaType' in state))
    return input;
  const bytes = new Uint8Array(Buffer.from(state.base64, 'base64'));
  const exact = { ...continuation, state: { bytes, mediaType: state.mediaType } };
  return { ...input, harnessResult: { ...result, continuation: exact } };
}

/** State as it can be sent. */
export function writeState(state: unknown): unknown {
  if (!isExactState(state) || !('bytes' in state)) return state;
  return { base64: Buffer.from(state.bytes).toString('base64'), mediaType: state.mediaType };
}
