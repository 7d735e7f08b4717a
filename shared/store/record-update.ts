/** Makes the one conditional write of a record: its state, its journal, and its place in the work index. */

import { hasWork, type JournalRecord } from '../records/journal-record.ts';
import type { Clock } from '../runtime/clock.ts';
import { attributesOf, keyOf } from './items.ts';
import { workOf } from './keys.ts';
import { expiryAttributes } from './retention.ts';
import type { Condition, Update } from './table.ts';

export function recordUpdate(
  next: JournalRecord,
  expectedRevision: number | undefined,
  clock: Clock,
): Update {
  const work = hasWork(next);
  const keeps = work ? { work: workOf(next.account_id) } : expiryAttributes(next, clock);
  const remove = work ? ['expires_at'] : ['work'];
  return {
    key: keyOf(next),
    set: { ...attributesOf(next), ...keeps },
    remove: [...remove, ...endedOf(next)],
    condition: conditionOf(next, unchangedSince(expectedRevision, next.kind)),
  };
}

/**
 * A project's item can exist before its first journal entry, because its bound is written separately. Any other item
 * that exists, however damaged, is not new.
 */
export function unchangedSince(revisionRead: number | undefined, kind: JournalRecord['kind']): Condition {
  const neverJournalled: Condition = { kind: 'absent', name: 'revision' };
  if (revisionRead === undefined)
    return kind === 'project' ? neverJournalled : { kind: 'absent', name: 'pk' };
  const unchanged: Condition = { kind: 'equals', name: 'revision', value: revisionRead };
  return revisionRead === 0 ? { kind: 'any', of: [neverJournalled, unchanged] } : unchanged;
}

/** Names what the record no longer has, of what not every write of it sets. */
function endedOf(next: JournalRecord): readonly string[] {
  if (next.kind === 'account' && next.degraded_reason === undefined) return ['degraded_reason'];
  return next.kind === 'project' && next.moved_to === undefined ? ['moved_to'] : [];
}

/**
 * An operation that went on in another account is not written any more. A project is closed only beside the wish that was
 * read, so that none is passed over which came meanwhile.
 */
function conditionOf(next: JournalRecord, unchanged: Condition): Condition {
  if (next.kind === 'operation')
    return { kind: 'all', of: [unchanged, { kind: 'absent', name: 'moved_by' }] };
  if (next.kind !== 'project' || next.is_visible) return unchanged;
  const { wanted_at_ms } = next;
  const name = 'wanted_at_ms';
  const isSame: Condition =
    wanted_at_ms === undefined ? { kind: 'absent', name } : { kind: 'equals', name, value: wanted_at_ms };
  return { kind: 'all', of: [unchanged, isSame] };
}
