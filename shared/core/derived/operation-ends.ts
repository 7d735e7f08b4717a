/**
 * Finds the ends of an operation in its journal. An operation that was reopened has left its end, and the end still
 * counts: otherwise what derives from it would depend on which process reads the operation first (ADR 0014).
 */

import { entriesAfter } from '../journal/journal.ts';
import type { OperationEntry, StateChangedEntry } from '../journal/journal-entries.ts';
import { isTerminal } from '../records/operation.ts';
import { derivedThrough, type OperationRecord } from '../records/operation-record.ts';

/** Says whether nothing more is expected of the operation. A failed one may be retried while it is watched. */
export function hasEnded({ status, watch_ended }: Pick<OperationRecord, 'status' | 'watch_ended'>): boolean {
  return isTerminal(status) || watch_ended;
}

/** Returns the entries from which nothing is derived yet. */
export function underivedEntries(operation: OperationRecord): readonly OperationEntry[] {
  return entriesAfter(operation, derivedThrough(operation));
}

/** Returns the operation as it stood at each of its ends that are news and from which nothing is derived yet, oldest first. */
export function pendingEnds(operation: OperationRecord): readonly OperationRecord[] {
  return underivedEntries(operation)
    .filter(isEnd)
    .map((end) => asOf(operation, end))
    .filter((ended) => !isHistory(ended));
}

/** Returns the operation as it stood at each of its ends that are known, oldest first. */
export function knownEnds(operation: OperationRecord): readonly OperationRecord[] {
  const left = operation.entries.filter((entry) => isEnd(entry) && entry.revision < operation.revision);
  return [...left.map((end) => asOf(operation, end)), ...(hasEnded(operation) ? [operation] : [])];
}

/** Says whether the operation had ended before the bridge first saw its project. */
export function isHistory(operation: OperationRecord): boolean {
  const last = operation.entries.findLast(isStateChanged);
  return last?.observed_by === 'backfill' && hasEnded(operation);
}

function isStateChanged(entry: OperationEntry): entry is StateChangedEntry {
  return entry.type === 'state_changed';
}

/** A stall is recorded only while its operation is open, so it is no end. */
function isEnd({ type, status }: OperationEntry): boolean {
  return type === 'watch_ended' || isTerminal(status);
}

/** Returns the operation as it stood at this end. */
function asOf(operation: OperationRecord, end: OperationEntry): OperationRecord {
  const { revision, status, failures_count } = end;
  const entries = operation.entries.filter((entry) => entry.revision <= revision);
  const updated_at = entries.findLast(isStateChanged)?.operation_updated_at ?? operation.updated_at;
  return {
    ...operation,
    entries,
    revision,
    status,
    failures_count,
    updated_at,
    watch_ended: end.type === 'watch_ended',
  };
}
