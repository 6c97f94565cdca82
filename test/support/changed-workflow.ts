/** A release that changes the workflow: it writes the row before it schedules a turn, so its commands come in another order. */
import type { Mutation } from './mutated-bundle.ts';

const file = 'workflows/continuation.ts';
const imported = (...names: string[]) => `import { ${names.join(', ')} } from '@temporalio/workflow';`;
const names = ['allHandlersFinished', 'CancellationScope', 'condition', 'isCancellation', 'log'];

function writesFirst(when: string): Mutation[] {
  const execution = '  const execution = new Execution(';
  const written = `  if (todo.do === 'runTurn' && ${when}) void effects.project(record);\n`;
  return [
    { file, from: execution, to: written + execution },
    { file, from: imported(...names), to: imported(...names, 'patched') },
  ];
}

/** As docs/changing-the-workflow.md says. */
export const GUARDED = writesFirst("patched('row-before-turn')");
export const UNGUARDED = writesFirst("typeof patched === 'function'");
