/** Lists the kinds of record, all of which have a journal, describes those that are derived from operations, and decides whether a record needs further work. */

import * as z from 'zod';
import type { AccountRecord } from './account-record.ts';
import type { CommandRecord } from './command-record.ts';
import { isPending, type Journal, pendingEntries } from './journal.ts';
import {
  type BranchEntry,
  type ComputeChangedEntry,
  commandOrigin,
  type Fields,
  type Unchangeable,
} from './journal-entries.ts';
import { isOpen, isUnderived, type OperationRecord } from './operation-record.ts';
import type { ProjectRecord } from './project-record.ts';

export const branchFields = {
  kind: z.literal('branch'),
  account_id: z.string(),
  project_id: z.string(),
  branch_id: z.string(),
  /** A branch can be used when it is `ready`. It is `failed` when an operation of its creation came to nothing. */
  readiness: z.enum(['pending', 'ready', 'failed']),
  /** This operation created the branch. */
  created_by: z.string(),
  /** The upstream created that operation at this time. It is kept as received. */
  began_at: z.string(),
  /** These operations were started together to create the branch. The first of them is `created_by`. */
  operation_ids: z.array(z.string()),
  /** This command through the bridge created the branch. It is undefined when no such command is known. */
  command: commandOrigin.optional(),
};

export interface BranchRecord extends Fields<typeof branchFields>, Journal<BranchEntry> {}

export type Readiness = BranchRecord['readiness'];

const computeOperation = z.object({
  operation_id: z.string(),
  action: z.string(),
  /** The upstream created the operation at this time. It is kept as received. */
  created_at: z.string(),
});

export type ComputeOperation = Unchangeable<z.output<typeof computeOperation>>;

export const computeFields = {
  kind: z.literal('compute'),
  account_id: z.string(),
  project_id: z.string(),
  endpoint_id: z.string(),
  branch_id: z.string().optional(),
  state: z.enum(['active', 'idle']),
  /** Counts the Compute State Changed events of the compute. */
  sequence: z.number().int().nonnegative(),
  /** The state began at this time by the upstream's clock, as received. It is undefined when that is not known. */
  state_since: z.string().optional(),
  /** The operation that brought the state. It is undefined when the state was read and not derived. */
  state_operation: computeOperation.optional(),
};

export interface ComputeRecord extends Fields<typeof computeFields>, Journal<ComputeChangedEntry> {}

export type ComputeState = ComputeRecord['state'];

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
