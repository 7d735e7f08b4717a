/** Lists the kinds of record, all of which have a journal, describes those that are derived from operations, and decides whether a record needs further work. */

import type { AccountRecord } from './account-record.ts';
import type { CommandRecord } from './command-record.ts';
import { isPending, type Journal, pendingEntries } from './journal.ts';
import type { BranchEntry, CommandOrigin, ComputeChangedEntry } from './journal-entries.ts';
import { isOpen, isUnderived, type OperationRecord } from './operation-record.ts';
import type { ProjectRecord } from './project-record.ts';

/** A branch can be used when it is `ready`. It is `failed` when an operation of its creation came to nothing. */
export type Readiness = 'pending' | 'ready' | 'failed';

export interface BranchRecord extends Journal<BranchEntry> {
  readonly kind: 'branch';
  readonly account_id: string;
  readonly project_id: string;
  readonly branch_id: string;
  readonly readiness: Readiness;
  /** This operation created the branch. */
  readonly created_by: string;
  /** The upstream created that operation at this time. It is kept as received. */
  readonly began_at: string;
  /** These operations were started together to create the branch. The first of them is `created_by`. */
  readonly operation_ids: readonly string[];
  /** This command through the bridge created the branch. It is undefined when no such command is known. */
  readonly command?: CommandOrigin | undefined;
}

export type ComputeState = ComputeChangedEntry['state'];

export interface ComputeRecord extends Journal<ComputeChangedEntry> {
  readonly kind: 'compute';
  readonly account_id: string;
  readonly project_id: string;
  readonly endpoint_id: string;
  readonly branch_id?: string | undefined;
  readonly state: ComputeState;
  /** Counts the Compute State Changed events of the compute. */
  readonly sequence: number;
  /** The state began at this time by the upstream's clock, as received. It is undefined when that is not known. */
  readonly state_since?: string | undefined;
  /** The operation that brought the state. It is undefined when the state was read and not derived. */
  readonly state_operation?: ComputeOperation | undefined;
}

export interface ComputeOperation {
  readonly operation_id: string;
  readonly action: string;
  /** The upstream created the operation at this time. It is kept as received. */
  readonly created_at: string;
}

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
  if (isPending(record)) return true;
  if (record.kind === 'command') return !record.is_settled;
  return record.kind === 'operation' && (isOpen(record) || isUnderived(record));
}

/** Says whether something of the record is left to publish or to derive. */
export function isBehind(record: JournalRecord): boolean {
  return isPending(record) || isUnderived(record);
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
