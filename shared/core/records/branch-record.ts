/** Describes what is kept of one branch: the operations that created it, and whether it can be used. */

import type { Journal } from '../journal/journal.ts';
import type { BranchEntry, CommandOrigin } from '../journal/journal-entries.ts';

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
