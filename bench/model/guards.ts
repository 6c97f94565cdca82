/** What keeps the promises, one by one. The model can be explored without one of them, to see what it is for. */
export const GUARDS = {
  // PostgreSQL: sql/turns.ts
  token: 'beginTurn: a turn that runs is granted again only to the token that it was granted to',
  acknowledged: 'beginTurn: one’s own token is an acknowledgement that got lost',
  ended: 'beginTurn: a turn that has ended is not begun again',
  fence: 'endTurn: only the execution that holds the fence ends the turn',
  hidden: 'endTurn: a turn that asks again leaves the row as it is until the workflow can take an answer',
  settledFirst: 'closeTurn: a turn that has ended is not closed any more',
  started: 'closeTurn: the start window closes no turn that has started',
  basedOn: 'closeTurn: only what was computed from the row as it is',
  // PostgreSQL: sql/deliveries.ts
  attempting: 'beginDelivery: an attempt without a recorded end may have arrived',
  deliveryToken: 'endDelivery: only the execution that was granted the attempt ends it',
  // PostgreSQL: sql/records.ts
  forward: 'write: only where the revision grows',
  goesOn: 'write: only what knows every answer that the row knows',
  final: 'write: never over an end',
  // client, workflow, activities
  recordFirst: 'create: the row is there before the workflow starts',
  startOnce: 'start: an id whose workflow has closed is not started again',
  handler: 'answer: decided in the handler, on the record of that moment',
  stamp: 'answer: counts when it was given, not when it is handled',
  rowKnows: 'answer: a winner that the row knows is told, not the one that a reset workflow took',
  locked: 'stop: a running turn is closed under its lock, not in the workflow alone',
  heardFirst: 'stop: what an attempt to deliver comes to is heard before it is suppressed',
  mayHaveArrived: 'stop: a follow-up whose attempt is under way is not told as suppressed',
  committed: 'end: the workflow closes when the row knows its end',
  maintenance: 'maintenance: what has no workflow is found',
} as const;

export type Guard = keyof typeof GUARDS;
export const isGuard = (name: string): name is Guard => Object.hasOwn(GUARDS, name);

/** The guards that are left out. */
export type Without = ReadonlySet<Guard>;
