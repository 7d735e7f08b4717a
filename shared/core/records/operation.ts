/** Describes the upstream's operation with its own field names (specification, "Operation"). */

import type { ReadingFields } from '../journal/journal-entries.ts';

export interface Operation extends ReadingFields {
  /** The id is a UUID today. Any non-empty text is accepted, because older answers use other forms. */
  readonly id: string;
  readonly project_id: string;
  readonly branch_id?: string | undefined;
  /** It is absent on operations that are not tied to a compute. */
  readonly endpoint_id?: string | undefined;
  /** The set is open, and unknown actions are carried along. */
  readonly action: string;
  /** The set is open. Unknown statuses are carried along and count as not terminal. */
  readonly status: string;
  readonly failures_count: number;
  /** The time is kept as received, ISO 8601. It must be compared only through `normaliseTimestamp`. */
  readonly created_at: string;
  readonly updated_at: string;
}

/**
 * An operation does not leave these statuses. `error` stands in the public contract, although the specification does
 * not list it. `failed` is missing because a failed operation can be retried (specification, "States and
 * transitions").
 */
const TERMINAL_STATUSES: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);

export function isTerminal(status: string): boolean {
  return TERMINAL_STATUSES.has(status);
}
