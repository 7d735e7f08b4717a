/**
 * Gives a few runs a list or a project that cannot be read for long, while processes live on. In other runs a process has ended, or the
 * fault is over, before the bridge must report it.
 */

import { seededRandom } from '../../../shared/runtime/random.ts';
import { NOTHING_SLOW } from './long-lists.ts';
import { DAY_MS, dice, type WidePlan } from './plan.ts';

/**
 * `list`: the project list cannot be read to its end when the schedule is switched off, and can be when it is switched on again weeks
 * later. `project`: a project alone answers with 500 for a quarter of an hour.
 */
const KINDS = ['list', 'project'] as const;

type LongOutage = (typeof KINDS)[number];

/** 2,000 runs have fifteen of each kind. */
const SHARE = 0.015;

/** With this salt none of the seeds that had broken a promise before has a long outage. */
const SALT = 0xa30;

export function drawLongOutage(seed: number): LongOutage | undefined {
  const { chance, pick } = dice(seededRandom(seed ^ SALT));
  return chance(SHARE) ? pick(KINDS) : undefined;
}

/** After so many days the gap begins with seven calm minutes, in which the bridge asks for a listing. */
const ASLEEP_DAYS = [30, 60] as const;

export function withLongOutage(plan: WidePlan, kind: LongOutage): WidePlan {
  const { whole } = dice(seededRandom(plan.seed ^ SALT ^ 1));
  const longLived = {
    ...plan.faults,
    ...NOTHING_SLOW,
    lambda_cold_start: 0,
    invocation_overlapping: 0,
    key_revoked: 0,
    project_bound_met: 0,
  };
  const usual = { ...plan, isBurst: false, operationCount: whole(2, 6), projectsMax: undefined };
  switch (kind) {
    case 'list':
      return {
        ...usual,
        projectCount: whole(3, 5),
        projectPageMax: 2,
        requestsPerMinute: whole(50, 90),
        gapMs: whole(...ASLEEP_DAYS) * DAY_MS,
        isAsleep: true,
        faults: {
          ...longLived,
          project_list_failing: 1,
          project_deleted: 1,
          project_returned: 0,
          project_page_capped: 1,
          project_page_partial: 0,
          project_unavailable: 0,
          project_row_malformed: 0,
        },
      };
    case 'project':
      // The calm is as long as everything takes that has to be read, and with so few requests that is a quarter of an hour.
      return {
        ...usual,
        projectCount: whole(6, 7),
        historyCount: whole(10, 14),
        requestsPerMinute: whole(18, 22),
        walkLimits: { ...plan.walkLimits, widePageRows: 7 },
        // With pages of one row, so few requests would not read these lists in the time of a run.
        operationPageMax: 1_000,
        gapMs: 0,
        faults: {
          ...longLived,
          operation_page_capped: 0,
          project_operations_failing: 1,
          project_deleted: 0,
          // Every process knows the project from the list.
          project_row_malformed: 0,
          project_unavailable: 0,
        },
      };
  }
}
