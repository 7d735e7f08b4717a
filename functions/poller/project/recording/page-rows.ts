/** Sorts the rows of one page by what has to be read before they can be recorded. */

import type { Operation } from '../../../../shared/core/records/operation.ts';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import { isInReach } from '../../walk-plan/walk-bound.ts';
import type { WalkState } from '../../walk-plan/walk-state.ts';
import type { SettledRows } from '../memory/settled-rows.ts';

/**
 * Sorts those rows of a page that the poll has to look at, newest first. Each of them stands in exactly one of the
 * lists. Rows that are too old for the walk, and that are not watched, stand in none.
 */
export interface PageRows {
  /** The records of these rows were read before the page was asked for. */
  readonly watched: readonly Operation[];
  /** An earlier poll has seen these operations settled in the same state, so their records need no reading. */
  readonly remembered: readonly Operation[];
  /** The records of these rows have not been read yet. */
  readonly unread: readonly Operation[];
}

/** `state` has this page taken already. `records` are the operations that the poll has read from the table, by id. */
export function sortRows(
  rows: readonly Operation[],
  state: WalkState,
  records: ReadonlyMap<string, OperationRecord>,
  settled: Pick<SettledRows, 'has'>,
): PageRows {
  const watched = rows.filter((row) => records.has(row.id));
  const others = rows.filter((row) => !records.has(row.id) && isInReach(state, row.created_at));
  const remembered = new Set(others.filter((row) => settled.has(row.id, row)));
  return { watched, remembered: [...remembered], unread: others.filter((row) => !remembered.has(row)) };
}

/** Returns the rows without repetitions. An operation that stands on the page twice is taken from its first row. */
export function uniqueRows(rows: readonly Operation[]): readonly Operation[] {
  const seen = new Set<string>();
  return rows.filter(({ id }) => {
    const isFirst = !seen.has(id);
    seen.add(id);
    return isFirst;
  });
}
