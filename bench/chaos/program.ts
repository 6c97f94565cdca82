/** How the programs of this folder are asked from outside: loaded once, each answers one message by one. */
export type Handle<Asked, Answer> = (asked: Asked) => Promise<Answer>;

/** Tells the parent process that everything is loaded, and answers what it asks until it is gone; a throw ends the program. */
export function answerParent<Asked, Answer>(handle: Handle<Asked, Answer>): void {
  process.on('disconnect', () => process.exit());
  process.on('message', async (asked: Asked) => {
    process.send?.(await handle(asked));
  });
  process.send?.('loaded');
}
