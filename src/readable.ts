/** Where a part of a page would be a wrong answer. */
import { ContinuationError } from './errors.ts';
import type { Page } from './ports.ts';

/** The page, when all of it can be read; else throws `record_malformed`. */
export function readable(page: Page): Page {
  const [first] = page.malformed ?? [];
  if (first) throw new ContinuationError('record_malformed', first.message);
  return page;
}
