/** Ids are made at the edges and sort by creation. */
import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';

export const newContinuationId = (): string => `cont_${ulid()}`;
export const newSuspensionId = (): string => `sus_${ulid()}`;
export const newWakeUpId = (): string => `wake_${ulid()}`;
export const newKeyId = (): string => `key_${ulid()}`;
/** Names one execution of an activity, so that it recognises its own writes after a lost acknowledgement. */
export const newToken = (): string => randomUUID();
