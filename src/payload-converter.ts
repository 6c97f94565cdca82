/**
 * Payload converter of clients, workers and the workflow bundle. Decoding never throws (C15): what cannot be decoded
 * arrives as a marker, which every reader refuses like any other malformed message. Workflow-safe.
 */
import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';

export const UNDECODABLE = { undecodable: true } as const;

export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload<T>(payload: Payload): T {
    try {
      return defaultPayloadConverter.fromPayload<T>(payload);
    } catch {
      return UNDECODABLE as T;
    }
  },
};
