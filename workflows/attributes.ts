/** Search attributes that tell continuations apart in the UI; never text of users. */
import { defineSearchAttributeKey, type SearchAttributePair, SearchAttributeType } from '@temporalio/common';
import { shownStatus } from '../src/record.ts';
import type { ContinuationRecord } from '../src/schema.ts';

const statusAttribute = defineSearchAttributeKey('ContinuationStatus', SearchAttributeType.KEYWORD);
const waitAttribute = defineSearchAttributeKey('ContinuationWait', SearchAttributeType.KEYWORD);
const sessionAttribute = defineSearchAttributeKey('ContinuationSession', SearchAttributeType.KEYWORD);
const expiresAtAttribute = defineSearchAttributeKey('ContinuationExpiresAt', SearchAttributeType.DATETIME);

/** All attributes of a record, as its workflow is started. */
export function attributesOf(record: ContinuationRecord): SearchAttributePair[] {
  const { expiresAt } = record.bounds;
  return [
    { key: statusAttribute, value: shownStatus(record) },
    { key: waitAttribute, value: record.waitFor.type },
    ...(record.sessionId ? [{ key: sessionAttribute, value: record.sessionId }] : []),
    ...(expiresAt ? [{ key: expiresAtAttribute, value: new Date(expiresAt) }] : []),
  ];
}

/** What a search has to be told after a change. */
export function changedAttributes(before: ContinuationRecord, after: ContinuationRecord): SearchAttributePair[] {
  const shown = new Map(attributesOf(before).map(({ key, value }) => [key.name, String(value)]));
  return attributesOf(after).filter(({ key, value }) => shown.get(key.name) !== String(value));
}
