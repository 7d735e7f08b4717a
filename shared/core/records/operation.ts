/** The upstream's operation as the core sees it. Field names are the upstream's own. Specification: "Operation". */

import type { ReadingFields } from './journal-entries.ts';

export interface Operation extends ReadingFields {
  /** A UUID today; any non-empty text is accepted, because older answers use other forms. */
  readonly id: string;
  readonly project_id: string;
  readonly branch_id?: string | undefined;
  /** Absent on operations that are not tied to a compute. */
  readonly endpoint_id?: string | undefined;
  /** An open set: unknown actions are carried along. */
  readonly action: string;
  /** An open set: unknown statuses are carried along and count as not terminal. */
  readonly status: string;
  readonly failures_count: number;
  /** ISO 8601, as received. Compare only through `normaliseTimestamp`. */
  readonly created_at: string;
  readonly updated_at: string;
}

/**
 * Statuses that end an operation. `error` is seen in the public contract though the specification does not
 * list it. `failed` is not here: a failed operation can be retried ("States and transitions").
 */
const TERMINAL_STATUSES: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);

export function isTerminal(status: string): boolean {
  return TERMINAL_STATUSES.has(status);
}
