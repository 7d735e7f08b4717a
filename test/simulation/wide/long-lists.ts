/**
 * Gives a few runs long lists with short pages. No poll reads such a list to its end, so these runs show mistakes in
 * what is kept of a walk or of a sweep between two polls.
 */

import { seededRandom } from '../../../shared/runtime/random.ts';
import { DAY_MS, dice, type WidePlan } from './plan.ts';

/**
 * `swept`: some rows become visible so late that only a sweep finds them. `unswept`: rows become visible late, and no
 * sweep mends what a walk leaves out. `asleep`: a project fails in the middle of a walk, and goes on after weeks.
 */
const KINDS = ['swept', 'unswept', 'asleep'] as const;

/**
 * `cut short`: a project whose history is published fails in the middle of its first walk. When it goes on, the table has forgotten what
 * that walk has recorded.
 */
type LongLists = (typeof KINDS)[number] | 'cut short';

/** Such a run sends more requests than others, and few of them are enough. */
const SHARE = 0.045;

export function drawLongLists(seed: number): LongLists | undefined {
  const { chance, pick } = dice(seededRandom(seed ^ SALT));
  if (chance(SHARE)) return pick(KINDS);
  return dice(seededRandom(seed ^ CUT_SHORT_SALT)).chance(CUT_SHORT_SHARE) ? 'cut short' : undefined;
}

/**
 * Draws from dice of its own, as the plan does for faults that were added later. One such run in twelve notices that what an interrupted walk has
 * recorded is published again, so 2,000 runs have five of these.
 */
const CUT_SHORT_SHARE = 0.03;
/** With this salt, of the seeds that once broke a promise only those are cut short that broke it so: 2953 and 500020203. */
const CUT_SHORT_SALT = 0x12a5;

/** With this salt none of the seeds that once broke a promise has long lists. */
const SALT = 0xf61;

const LATE_ROWS = 0.4;

/** A row of thirty days ago may be forgotten, and the table keeps a settled record for 45 days. */
const ASLEEP_DAYS = [33, 60] as const;
const FORGOTTEN_DAYS = [47, 60] as const;

export function withLongLists(plan: WidePlan, kind: LongLists): WidePlan {
  const { whole } = dice(seededRandom(plan.seed ^ SALT ^ 1));
  const long = {
    ...plan,
    projectCount: whole(1, 2),
    operationCount: whole(8, 14),
    historyCount: whole(4, 8),
    requestsPerMinute: whole(60, 90),
    pollIntervalSeconds: whole(5, 8),
    lingerMs: undefined,
    operationPageMax: whole(2, 3),
    walkLimits: { ...plan.walkLimits, firstPageRows: 2, widePageRows: 7, pagesMax: 4 },
    isBurst: false,
    gapMs: 0,
    projectsMax: undefined,
  };
  // Rows of one microsecond on both sides of a page end that never moves cannot be found.
  const faults = {
    ...plan.faults,
    operation_list_long: 1,
    operation_page_capped: 1,
    operation_row_tied: 0,
    project_bound_met: 0,
  };
  const { overlapMs } = plan.walkLimits;
  switch (kind) {
    case 'swept':
      return {
        ...long,
        sweepIntervalMs: 100_000,
        visibleLateMsMax: 3 * overlapMs,
        faults: { ...faults, operation_row_late: LATE_ROWS },
      };
    case 'unswept':
      return {
        ...long,
        sweepIntervalMs: 7 * DAY_MS,
        visibleLateMsMax: overlapMs,
        faults: { ...faults, ...NOTHING_FOR_SWEEPS, operation_row_late: LATE_ROWS },
      };
    case 'asleep':
      return {
        ...long,
        projectCount: whole(4, 6),
        historyCount: whole(10, 16),
        pollIntervalSeconds: whole(12, 18),
        gapMs: whole(...ASLEEP_DAYS) * DAY_MS,
        isAsleep: false,
        faults: { ...faults, ...NOTHING_SLOW, project_operations_failing: 1, item_expired: 1 },
      };
    case 'cut short':
      return {
        ...long,
        projectCount: 2,
        operationCount: 1,
        historyCount: whole(20, 26),
        pollIntervalSeconds: whole(12, 18),
        gapMs: whole(...FORGOTTEN_DAYS) * DAY_MS,
        isAsleep: false,
        backfill: 'all',
        faults: {
          ...faults,
          ...NOTHING_SLOW,
          ...NOTHING_HIDDEN,
          lambda_crashed: plan.faults.lambda_crashed,
          table_throttled: plan.faults.table_throttled,
          project_walk_cut_short: 1,
          item_expired: 1,
        },
      };
  }
}

/** Only a sweep finds what these faults hide. */
export const NOTHING_FOR_SWEEPS = {
  operation_reopened: 0,
  operation_row_malformed: 0,
  table_restored: 0,
} as const;

/** After these faults a project rests for minutes, or its walk begins anew, and the run ends before its list is read to the end. */
export const NOTHING_SLOW = {
  item_unreadable: 0,
  http_retry_after_a_day: 0,
  project_not_found_for_a_while: 0,
  lambda_crashed: 0,
  lambda_frozen: 0,
  table_throttled: 0,
  table_restored: 0,
} as const;

/**
 * A walk that is cut short says how deep and how high it has recorded everything. A row in between that it was not shown, or could not
 * parse, counts as recorded, too (docs/simulation.md).
 */
const NOTHING_HIDDEN = {
  operation_row_late: 0,
  operation_row_malformed: 0,
  operation_missing_once: 0,
  project_operations_failing: 0,
} as const;
