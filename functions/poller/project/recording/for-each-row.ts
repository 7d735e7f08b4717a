/** Runs one task for each row of a page, several at once, and says whether all of them succeeded. */

import type { Operation } from '../../../../shared/core/records/operation.ts';
import { forEachConcurrently } from '../../../../shared/runtime/concurrency.ts';

/** Rows of one project that are recorded concurrently: the latency of one write does not hold a backfill up. */
const RECORDS_AT_ONCE = 8;

export interface RowsResult {
  /** False when the stop signal came before the last row. */
  readonly areAllTried: boolean;
  /** False when a row that was tried may not be recorded. */
  readonly areAllSure: boolean;
}

/**
 * The oldest row comes first, so that the events of one page leave roughly in the order in which the operations began. `rows`:
 * newest first. `task` returns false when the row may not be recorded.
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
