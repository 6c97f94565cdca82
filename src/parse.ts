/** Parses what callers give: a value, or a refusal with the path of what is wrong. */
import type { z } from 'zod';
import { formatPath } from './json.ts';
import type { Refused } from './schema.ts';

export function parseInput<T extends z.ZodType>(schema: T, given: unknown): { ok: true; value: z.output<T> } | Refused {
  const parsed = schema.safeParse(given);
  if (parsed.success) return { ok: true, value: parsed.data };
  const issue = deepest(parsed.error.issues[0]);
  return invalidInput(formatPath(issue.path), issue.message);
}

export function invalidInput(path: string, message: string): Refused {
  return {
    ok: false,
    refusal: { code: 'invalid_input', message: path ? `${path} ${message}` : message, ...(path && { path }) },
  };
}

type Issue = z.core.$ZodIssue;
/** Of a union, the branch that got furthest says best what is wrong. */
function deepest(issue: Issue | undefined): { path: PropertyKey[]; message: string } {
  if (!issue) return { path: [], message: 'is invalid' };
  if (issue.code !== 'invalid_union') return issue;
  const found = issue.errors
    .flatMap((branch) => branch.slice(0, 1).map(deepest))
    .sort((a, b) => b.path.length - a.path.length)[0];
  return found ? { path: [...issue.path, ...found.path], message: found.message } : issue;
}
