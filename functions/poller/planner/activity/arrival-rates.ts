/**
 * Counts how often operations begin in all projects together. That rate is the prior belief about a project that has
 * shown none yet.
 */

import { DAY_MS } from '../../../../shared/core/time/durations.ts';
import type { ArrivalHistory } from './arrival-history.ts';
import { ARRIVALS_PER_MS_ASSUMED } from './expected-transitions.ts';

export interface ArrivalRates {
  /**
   * Counts one project's history instead of the one that was counted before, each for a day at most. `undefined`
   * stands for a history that does not exist.
   */
  replace(before: ArrivalHistory | undefined, after: ArrivalHistory | undefined): void;
  /** Returns how many operations begin in a mean project per millisecond. */
  perMsMean(): number;
}

/** The prior belief weighs as much as one day of one project at the assumed rate. */
const PRIOR_ARRIVALS = 8;

export function createArrivalRates(): ArrivalRates {
  let arrivalCount = 0;
  let observedMs = 0;
  return {
    replace(before, after) {
      count(before, -1);
      count(after, 1);
    },
    perMsMean: () =>
      (arrivalCount + PRIOR_ARRIVALS) / (observedMs + PRIOR_ARRIVALS / ARRIVALS_PER_MS_ASSUMED),
  };

  function count(history: ArrivalHistory | undefined, sign: 1 | -1): void {
    if (history === undefined) return;
    // Quiet projects are known for a longer time, and must not count for more than busy ones.
    const share = Math.min(1, DAY_MS / history.observedMs);
    arrivalCount += sign * share * history.arrivalCount;
    observedMs += sign * share * history.observedMs;
  }
}
