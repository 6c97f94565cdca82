/** A release that changes the workflow: it writes the row before it schedules a turn, so its commands come in another order. */
import type { Mutation } from './mutated-bundle.ts';

const file = 'workflows/continuation.ts';
const imported = (...names: string[]) => `import { ${names.join(', ')}, sleep } from '@temporalio/workflow';`;
const names = ['allHandlersFinished', 'CancellationScope', 'condition', 'isCancellation', 'log'];

function writesFirst(when: string): Mutation[] {
  const record = '  const record = life.record as ResumingRecord;\n';
  return [
    {
      file,
      from: `${record}  return startBy`,
      to: `${record}  ${when} void effects.project(record);\n  return startBy`,
    },
    { file, from: imported(...names), to: imported(...names, 'patched') },
  ];
}

/** As docs/changing-the-workflow.md says. */
export const GUARDED = writesFirst("if (patched('row-before-turn'))");
export const UNGUARDED = writesFirst("if (typeof patched === 'function')");
