/** Runs one task for each row of a page, several at once, and says whether all of them succeeded. */

import type { Operation } from '../../../../shared/core/records/operation.ts';
import { forEachConcurrently } from '../../../../shared/runtime/concurrency.ts';

/**
 * This many rows of one project are recorded concurrently, so that the latency of one write does not hold a backfill
 * up.
 */
const RECORDS_AT_ONCE = 8;

export interface RowsResult {
  /** It is false when the stop signal came before the last row. */
  readonly areAllTried: boolean;
  /** It is false when a row that was tried may not be recorded. */
  readonly areAllSure: boolean;
}

/**
 * Starts with the oldest row, so that the events of one page leave roughly in the order in which the operations
 * began. `rows` are newest first. `task` resolves to false when the row may not be recorded.
 */
export async function forEachRow(
  rows: readonly Operation[],
  task: (row: Operation) => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<RowsResult> {
  let areAllSure = true;
  const tryRow = async (row: Operation) => {
    if (!(await task(row))) areAllSure = false;
  };
  const areAllTried = await forEachConcurrently(rows.toReversed(), RECORDS_AT_ONCE, tryRow, signal);
  return { areAllTried, areAllSure };
}
