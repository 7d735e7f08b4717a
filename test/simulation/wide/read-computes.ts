/**
 * Gives a few runs many projects, a small rate limit and computes that run for minutes, so that the poller reads lists of
 * computes. In other runs such a reading would spare too little.
 */

import { seededRandom } from '../../../shared/runtime/random.ts';
import { WIDE_FAULT_RATES } from './faults.ts';
import { NOTHING_FOR_SWEEPS } from './long-lists.ts';
import { DAY_MS, dice, type WidePlan } from './plan.ts';

const SHARE = 0.025;

/** With this salt none of the seeds that had broken a promise before reads computes. */
const SALT = 0x25bf1;

/** In these shares of such runs the key has no right to read computes, and what the lists say of their use is wrong. */
const REFUSED_SHARE = 0.4;
const WRONG_SHARE = 0.4;

export function drawReadComputes(seed: number): boolean {
  return dice(seededRandom(seed ^ SALT)).chance(SHARE);
}

/**
 * A compute can be suspended five minutes after its start, so a run is busy for longer than that, and for less than the ten minutes after
 * which a project that the faults have kept from being read is published as unreachable. Each of the two busy times has half of it.
 */
const BUSY_S = [180, 240] as const;

/** Few requests leave no time for sweeps of lists that are this long, so nothing is hidden that only a sweep finds. */
const SWEEPLESS_MS = 7 * DAY_MS;

export function withComputes(plan: WidePlan): WidePlan {
  const { chance, whole } = dice(seededRandom(plan.seed ^ SALT ^ 1));
  return {
    ...plan,
    projectCount: whole(12, 18),
    operationCount: whole(40, 60),
    historyCount: whole(0, 3),
    isBurst: false,
    busyMs: whole(...BUSY_S) * 1_000,
    gapMs: 0,
    requestsPerMinute: whole(14, 22),
    pollIntervalSeconds: whole(2, 6),
    pollsAtOnce: 2,
    lingerMs: undefined,
    sweepIntervalMs: SWEEPLESS_MS,
    visibleLateMsMax: plan.walkLimits.overlapMs,
    operationPageMax: 1_000,
    projectsMax: undefined,
    faults: {
      ...plan.faults,
      ...NOTHING_FOR_SWEEPS,
      operation_page_capped: 0,
      operation_row_tied: 0,
      project_bound_met: 0,
      computes_refused: Number(chance(REFUSED_SHARE)),
      computes_wrong: chance(WRONG_SHARE) ? WIDE_FAULT_RATES.computes_wrong : 0,
    },
  };
}
