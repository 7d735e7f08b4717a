/** Describes what is kept of a branch and of a compute: the operations behind each, and the state that these say. */

import type { Journal } from './journal.ts';
import type { BranchEntry, CommandOrigin, ComputeChangedEntry } from './journal-entries.ts';

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
  /** Short names of the last operations that have changed the state, the newest at the end. */
  readonly applied: readonly string[];
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
