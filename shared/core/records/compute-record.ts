/** Describes what is kept of one compute: its state, since when it has that state, and the operation behind it. */

import type { Journal } from '../journal/journal.ts';
import type { ComputeChangedEntry } from '../journal/journal-entries.ts';

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
