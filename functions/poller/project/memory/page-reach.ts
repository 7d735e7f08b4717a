/** Derives how far back one page of a list reaches, and how many rows a page needs to show the open operations, too. */

import type { Operation } from '../../../../shared/core/records/operation.ts';
import type { WalkLimits } from '../../walk-plan/walk-state.ts';

/** Says how far back a first page reached, by the upstream's clock. */
export interface PageReach {
  readonly rowCount: number;
  /** The newest and the oldest row were created at these times, in milliseconds since the epoch. */
  readonly newestMs: number;
  readonly oldestMs: number;
}

/** The page size has this safety margin, because operations may arrive faster before the next page is read. */
const ROWS_MARGIN = 1.5;

/**
 * Returns the page size that also covers operations created at `createdMs`. The limit counts requests and not rows,
 * so one larger page is cheaper than a GET per operation. Returns undefined when the usual page shows them, or no
 * page does.
 */
export function rowsToShow(
  createdMs: readonly number[],
  reach: PageReach | undefined,
  { firstPageRows, widePageRows }: WalkLimits,
): number | undefined {
  if (reach === undefined || reach.newestMs <= reach.oldestMs) return undefined;
  const rowsPerMs = reach.rowCount / (reach.newestMs - reach.oldestMs);
  const needs = createdMs
    .map((openedMs) => Math.ceil((reach.newestMs - openedMs) * rowsPerMs * ROWS_MARGIN))
    .filter((rows) => rows <= widePageRows);
  const most = Math.max(0, ...needs);
  // The size grows in steps, so that it does not change with every poll.
  const inSteps = Math.ceil(most / firstPageRows) * firstPageRows;
  return most > firstPageRows ? Math.min(widePageRows, inSteps) : undefined;
}

/** Returns undefined when the page does not show how often rows come. */
export function reachOf(rows: readonly Pick<Operation, 'created_at'>[]): PageReach | undefined {
  const times = rows.map(({ created_at }) => Date.parse(created_at)).filter((time) => !Number.isNaN(time));
  if (times.length < 2) return undefined;
  return { rowCount: times.length, newestMs: Math.max(...times), oldestMs: Math.min(...times) };
}
