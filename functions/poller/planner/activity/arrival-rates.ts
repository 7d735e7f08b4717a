/**
 * Counts how often operations begin in all projects together. That rate is the prior belief about a project that has
 * shown none yet.
 */

import { ARRIVALS_PER_MS_ASSUMED } from './expected-transitions.ts';
import type { ArrivalHistory } from './project-activity.ts';

export interface ArrivalRates {
  /**
   * Counts one project's history instead of the one that was counted before. `undefined` stands for a history that
   * does not exist.
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
      arrivalCount += (after?.arrivalCount ?? 0) - (before?.arrivalCount ?? 0);
      observedMs += (after?.observedMs ?? 0) - (before?.observedMs ?? 0);
    },
    perMsMean: () =>
      (arrivalCount + PRIOR_ARRIVALS) / (observedMs + PRIOR_ARRIVALS / ARRIVALS_PER_MS_ASSUMED),
  };
}
