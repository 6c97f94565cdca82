/** What is under way beside the main coroutine, which waits for it and for messages at the same time. */
import { CancellationScope, sleep } from '@temporalio/workflow';
import type { Committed } from '../activities/contract.ts';

/** A durable timer. */
export class Timer {
  readonly #scope = new CancellationScope();
  #fired = false;

  /** `at`: the instant, ISO; `summary`: what it is for, in the Temporal UI. */
  constructor(at: string, summary: string) {
    const ms = Math.max(1, Date.parse(at) - Date.now());
    this.#scope
      .run(() => sleep(ms, { summary }))
      .then(
        () => {
          this.#fired = true;
        },
        () => undefined,
      );
  }

  get fired(): boolean {
    return this.#fired;
  }

  cancel(): void {
    this.#scope.cancel();
  }
}

/** An activity that carries something out. */
export class Execution {
  readonly #scope = new CancellationScope();
  #end: { readonly committed: Committed } | { readonly error: unknown } | undefined;

  constructor(activity: () => Promise<Committed>) {
    this.#scope.run(activity).then(
      (committed) => {
        this.#end = { committed };
      },
      (error: unknown) => {
        this.#end = { error };
      },
    );
  }

  /** How it ended; undefined while it runs. */
  get end(): { readonly committed: Committed } | { readonly error: unknown } | undefined {
    return this.#end;
  }

  /** Asks it to stop: how it ends is its own affair. */
  cancel(): void {
    this.#scope.cancel();
  }
}
