/** The inbox: pages on which people answer. */
export type { InboxOptions } from './env.ts';
export { createInbox } from './inbox.tsx';
