/** Bundle entry. Re-export these from your own workflows file to run them in your own worker. */
export { continuation } from './continuation.ts';
export { continuationMaintenance } from './maintenance.ts';
export * from './messages.ts';
