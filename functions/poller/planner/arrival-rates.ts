/** How often something happens in all projects together: what a project is believed to do before it has shown anything. */

import { ARRIVALS_PER_MS_ASSUMED } from './poll-intensity.ts';
import type { ArrivalHistory } from './project-activity.ts';

export interface ArrivalRates {
  /** Takes one project's history in the place of what was known of it. */
  note(before: ArrivalHistory | undefined, after: ArrivalHistory | undefined): void;
  perMsMean(): number;
}

/** Of prior belief: a day of one project at the assumed rate. */
const PRIOR_ARRIVALS = 8;

export function createArrivalRates(): ArrivalRates {
  let arrivalCount = 0;
  let observedMs = 0;
  return {
    note(before, after) {
      arrivalCount += (after?.arrivalCount ?? 0) - (before?.arrivalCount ?? 0);
      observedMs += (after?.observedMs ?? 0) - (before?.observedMs ?? 0);
    },
    perMsMean: () =>
      (arrivalCount + PRIOR_ARRIVALS) / (observedMs + PRIOR_ARRIVALS / ARRIVALS_PER_MS_ASSUMED),
  };
}
