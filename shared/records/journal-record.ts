/** Lists the kinds of record, all of which have a journal, and decides whether one of them needs further work. */

import type { AccountRecord } from './account-record.ts';
import type { CommandRecord } from './command-record.ts';
import type { BranchRecord, ComputeRecord } from './derived-records.ts';
import { pendingEntries } from './journal.ts';
import { isOpen, isUnderived, type OperationRecord } from './operation-record.ts';
import type { ProjectRecord } from './project-record.ts';

/** These records are derived from operations, and are never read from the upstream. */
export type DerivedRecord = BranchRecord | ComputeRecord;

export type JournalRecord = OperationRecord | ProjectRecord | AccountRecord | CommandRecord | DerivedRecord;

/**
 * Says whether something is left to read, to publish or to derive. Such a record is in the work index. A derived record is
 * not: until its events are published, the operations that it rests on are there. A change by a configuration is the
 * exception, because a process that met the compute active has acknowledged the configuration without a change.
 */
export function hasWork(record: JournalRecord): boolean {
  if (record.kind === 'branch') return false;
  if (record.kind === 'compute')
    return pendingEntries(record).some(({ action }) => action === 'apply_config');
  if (record.published < record.revision) return true;
  if (record.kind === 'command') return !record.is_settled;
  return record.kind === 'operation' && (isOpen(record) || isUnderived(record));
}

/** Says how far a record is acknowledged: its entries up to `through` are published, and up to `derived` also derived. */
export interface Acknowledged {
  readonly through: number;
  readonly derived: number;
}

/** Returns the record with its journal acknowledged so far. */
export function acknowledged<R extends JournalRecord>(record: R, { through, derived }: Acknowledged): R {
  const published = Math.max(record.published, through);
  if (record.kind !== 'operation') return { ...record, published };
  const { derived: _before, ...rest } = record;
  return (derived < published ? { ...rest, derived, published } : { ...rest, published }) as R;
}
