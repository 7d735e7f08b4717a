/** Compare-and-set on an item's revision, also when somebody's hand has left something else there. */

import type { Attribute, Condition } from '../../shared/store/table.ts';

/** As it was read: a number; undefined for an item that is not there. */
export type Revision = Attribute | undefined;

export function revisionAfter(revision: Revision): number {
  return typeof revision === 'number' ? revision + 1 : 1;
}

/** Of the write that follows. What cannot be compared may be overwritten, as it would block its item for good. */
export function conditionOf(revision: Revision): { readonly condition?: Condition } {
  if (revision === undefined) return { condition: { kind: 'absent', name: 'revision' } };
  const isComparable = typeof revision === 'number' || typeof revision === 'string';
  return isComparable ? { condition: { kind: 'equals', name: 'revision', value: revision } } : {};
}
