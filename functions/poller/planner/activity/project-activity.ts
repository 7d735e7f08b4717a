/** Derives from one page of a project's operations how soon the next transition is to be expected. */

import { isTerminal } from '../../../../shared/core/records/operation.ts';
import { DAY_MS } from '../../../../shared/core/time/durations.ts';
import type { ArrivalHistory } from './arrival-history.ts';
import { createDailyArrivals } from './daily-arrivals.ts';
import { createLifetimeReader, type Lifetime, type LifetimeRow, SUSPEND_ACTION } from './lifetimes.ts';

/**
 * Describes what one page shows. `observedMs` is the time for which it counts the operations, and is a week when the
 * list ends before that. Whether the account is that old only the pages of all projects show.
 */
export interface ProjectActivity extends ArrivalHistory {
  /**
   * The page shows an operation that was created at this time, by the upstream's clock, and none that is older. It is absent when
   * the page shows none.
   */
  readonly oldestMs?: number;
  /** The youngest open operation was created at this time, by the upstream's clock. It is undefined when none is open. */
  readonly openSinceMs: number | undefined;
  /** That operation has this action. */
  readonly openAction?: string | undefined;
  /** Each running compute was last seen to start at one of these times. It can be suspended some minutes later. */
  readonly activeSinceMs: readonly number[];
  /** The ids of these computes, in the same order. It is absent when none runs. */
  readonly activeIds?: readonly string[];
  /** The page shows what has lasted how long. It is absent when it shows nothing of that. */
  readonly lifetimes?: readonly Lifetime[];
}

/** `rows` are newest first. `isWhole` says that the list ends with them. `nowMs` is in milliseconds since the epoch. */
export function activityOf(rows: readonly LifetimeRow[], isWhole: boolean, nowMs: number): ProjectActivity {
  const reader = createLifetimeReader();
  const arrivals = createDailyArrivals(nowMs);
  let open: Pick<ProjectActivity, 'openSinceMs' | 'openAction'> = { openSinceMs: undefined };
  for (const row of rows) {
    const createdMs = Date.parse(row.created_at);
    if (!arrivals.take(createdMs, row.action !== SUSPEND_ACTION)) break;
    if (createdMs < nowMs - DAY_MS) continue;
    if (open.openSinceMs === undefined && !isTerminal(row.status))
      open = { openSinceMs: createdMs, openAction: row.action };
    reader.take(row, createdMs);
  }
  const { lifetimes } = reader;
  const activeIds = reader.activeIds();
  return {
    ...open,
    activeSinceMs: reader.activeSinceMs(),
    ...arrivals.history(isWhole),
    ...(activeIds.length > 0 && { activeIds }),
    ...(lifetimes.length > 0 && { lifetimes }),
  };
}
