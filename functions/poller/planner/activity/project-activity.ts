/** Derives from one page of a project's operations how soon the next transition is to be expected. */

import { isTerminal } from '../../../../shared/core/records/operation.ts';
import { createLifetimeReader, type Lifetime, type LifetimeRow, SUSPEND_ACTION } from './lifetimes.ts';

/** Says how many operations began in which time. Suspends are left out, because a running compute announces them. */
export interface ArrivalHistory {
  readonly arrivalCount: number;
  readonly observedMs: number;
}

/** Describes what one page shows. `observedMs` is the time that the page reaches back. */
export interface ProjectActivity extends ArrivalHistory {
  /** The youngest open operation was created at this time, by the upstream's clock. It is undefined when none is open. */
  readonly openSinceMs: number | undefined;
  /** That operation has this action. */
  readonly openAction?: string | undefined;
  /** Each running compute was last seen to start at one of these times. It can be suspended some minutes later. */
  readonly activeSinceMs: readonly number[];
  /** The page shows what has lasted how long. It is absent when it shows nothing of that. */
  readonly lifetimes?: readonly Lifetime[];
}

/**
 * Returns what is known after one more page. The page of a busy project reaches back only an hour or two, and the
 * page of a quiet project a whole day. So a page counts only for the time that has passed since the page before;
 * otherwise the rate of a busy project would be that of its last hour.
 */
export function longRunHistory(
  before: ArrivalHistory | undefined,
  page: ArrivalHistory,
  elapsedMs: number,
): ArrivalHistory {
  const saysItAll = page.observedMs >= HISTORY_MS_MAX || elapsedMs >= page.observedMs;
  if (before === undefined || saysItAll) return page;
  const observedMs = Math.min(HISTORY_MS_MAX, before.observedMs + elapsedMs);
  const keptCount = (before.arrivalCount * (observedMs - elapsedMs)) / before.observedMs;
  const newCount = (page.arrivalCount * elapsedMs) / page.observedMs;
  return { arrivalCount: keptCount + newCount, observedMs };
}

/** A page that fills up within a minute shows a burst, which says little about the day. */
const OBSERVED_MS_MIN = 60_000;

/** A rate of yesterday says more about today than one of last month. */
const HISTORY_MS_MAX = 24 * 3_600_000;

/** `rows` are newest first. `isWhole` says that the list ends with them. `nowMs` is in milliseconds since the epoch. */
export function activityOf(rows: readonly LifetimeRow[], isWhole: boolean, nowMs: number): ProjectActivity {
  const reader = createLifetimeReader();
  let open: Pick<ProjectActivity, 'openSinceMs' | 'openAction'> = { openSinceMs: undefined };
  let arrivalCount = 0;
  let oldestMs = nowMs;
  for (const row of rows) {
    const createdMs = Date.parse(row.created_at);
    if (!(createdMs >= nowMs - HISTORY_MS_MAX)) {
      oldestMs = nowMs - HISTORY_MS_MAX;
      break;
    }
    oldestMs = Math.min(oldestMs, createdMs);
    if (open.openSinceMs === undefined && !isTerminal(row.status))
      open = { openSinceMs: createdMs, openAction: row.action };
    reader.take(row, createdMs);
    if (row.action !== SUSPEND_ACTION) arrivalCount += 1;
  }
  const observedMs = isWhole ? HISTORY_MS_MAX : Math.max(OBSERVED_MS_MIN, nowMs - oldestMs);
  const { lifetimes } = reader;
  return {
    ...open,
    activeSinceMs: reader.activeSinceMs(),
    arrivalCount,
    observedMs,
    ...(lifetimes.length > 0 && { lifetimes }),
  };
}
