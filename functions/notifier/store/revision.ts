/**
 * Derives the next revision of an item, and the condition under which a write may replace the revision that was read.
 * An item that was edited by hand may hold something else there, which is then overwritten.
 */

import type { Condition } from '../../../shared/store/table.ts';
import type { Revision } from '../sending/stored-incident.ts';

export function revisionAfter(revision: Revision): number {
  return typeof revision === 'number' ? revision + 1 : 1;
}

/**
 * Returns the condition of a write that follows a read of this revision. A revision that cannot be compared may be
 * overwritten, because it would otherwise block its item for good.
 */
export function conditionOf(revision: Revision): { readonly condition?: Condition } {
  if (revision === undefined) return { condition: { kind: 'absent', name: 'revision' } };
  const isComparable = typeof revision === 'number' || typeof revision === 'string';
  return isComparable ? { condition: { kind: 'equals', name: 'revision', value: revision } } : {};
}
