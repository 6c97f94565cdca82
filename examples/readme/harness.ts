import type { Harness } from 'temporal-continuations';

/** Runs one bounded turn from the state that you stored and the answer that came. */
export const harness: Harness = {
  async runResumedTurn({ continuation, trigger }) {
    const { order } = continuation.continuation.state as { order: string };
    const decision = trigger.type === 'approval_resolution' ? trigger.decision : trigger.type;
    // Here your agent goes on: its own loop, an SDK, an HTTP service.
    return { outcome: 'completed', assistantMessage: { text: `Refund of order ${order}: ${decision}.` } };
  },
};
