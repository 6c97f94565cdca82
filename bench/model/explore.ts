/** Breadth first over all states, so that the first violation has a shortest trace. */
import { createHash } from 'node:crypto';
import type { Without } from './guards.ts';
import { type Problem, problemsOf, restingProblems } from './invariants.ts';
import { transitions } from './transitions.ts';
import { type State, stateName } from './world.ts';

export interface Violation extends Problem {
  /** What happened, in order. */
  readonly trace: readonly string[];
}
export interface Explored {
  readonly states: number;
  readonly transitions: number;
  /** Steps from the beginning to the states that were looked at last. */
  readonly depth: number;
  /** Every state was looked at. */
  readonly exhausted: boolean;
  readonly seconds: number;
  readonly violations: readonly Violation[];
}
export interface Limits {
  /** Default: until nothing is left to look at. */
  readonly depth?: number;
  readonly without?: Without;
}

interface Node {
  readonly state: State;
  readonly label: string;
  readonly from?: Node;
}

export function explore(initial: State, { depth = Number.POSITIVE_INFINITY, without = new Set() }: Limits): Explored {
  const began = performance.now();
  const seen = new Set([keyOf(initial)]);
  const violations: Violation[] = [];
  let frontier: Node[] = [{ state: initial, label: '' }];
  let count = 0;
  let level = 0;
  while (frontier.length > 0 && level < depth && violations.length === 0) {
    const next: Node[] = [];
    for (const node of frontier) {
      const moves = transitions(node.state, without);
      if (moves.every(({ optional }) => optional)) note(violations, restingProblems(node.state), node);
      for (const { label, state } of moves) {
        count += 1;
        const problems = problemsOf(state, node.state);
        if (problems.length > 0) note(violations, problems, { state, label, from: node });
        const key = keyOf(state);
        if (seen.has(key)) continue;
        seen.add(key);
        next.push({ state, label, from: node });
      }
      if (violations.length > 0) break;
    }
    frontier = next;
    level += 1;
  }
  const seconds = (performance.now() - began) / 1000;
  return { states: seen.size, transitions: count, depth: level, exhausted: frontier.length === 0, seconds, violations };
}

function note(violations: Violation[], problems: readonly Problem[], node: Node): void {
  for (const problem of problems) violations.push({ ...problem, trace: traceTo(node) });
}

function traceTo(node: Node): string[] {
  const trace: string[] = [];
  for (let at: Node | undefined = node; at?.from; at = at.from) trace.unshift(at.label);
  return trace;
}

function keyOf(state: State): string {
  return createHash('md5').update(stateName(state)).digest('base64');
}
