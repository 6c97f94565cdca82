/** Ids are made at the edges and sort by creation. */
import { randomInt, randomUUID } from 'node:crypto';
import { monotonicFactory } from 'ulid';

/** In order also within a millisecond. Its own source of randomness would ask the system for every character. */
const newUlid = monotonicFactory(() => randomInt(32) / 32);

export const newContinuationId = (): string => `cont_${newUlid()}`;
export const newSuspensionId = (): string => `sus_${newUlid()}`;
export const newWakeUpId = (): string => `wake_${newUlid()}`;
export const newKeyId = (): string => `key_${newUlid()}`;
export const newRunId = (): string => `run_${newUlid()}`;
export const newCheckpointId = (): string => `checkpoint_${newUlid()}`;
/** Names one execution of an activity, so that it recognises its own writes after a lost acknowledgement. */
export const newToken = (): string => randomUUID();
