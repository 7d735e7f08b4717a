/**
 * Decides how far two readings of one project are apart at least. An account of ten projects is polled twice a second in
 * all, which leaves its rate limit to its own users. With more projects an account comes near the rate limit anyway, so
 * that each of them may be read at once again when something is expected there.
 */

import type { ListingLimits } from './project-list/page-turns.ts';

/** It is a time in milliseconds, or is chosen by the number of projects. */
export type IntervalMsMin = number | 'by_size';

/** Up to this number of projects each is read every five seconds, which the specification suggests ("Operations"). */
const SMALL_PROJECTS = 10;
const SMALL_INTERVAL_MS = 5_000;

/** From this number of projects on each may be read twice a second. The rate limit allows eleven polls a second. */
const LARGE_PROJECTS = 50;
const LARGE_INTERVAL_MS = 500;

/** In a small account a page of the project list may be read four times in the interval of one project's polls. */
const SMALL_LIST_INTERVAL_MS = SMALL_INTERVAL_MS / 4;

/** Returns milliseconds. Between the two sizes, the polls per second of a project rise evenly with their number. */
export function pollIntervalMsFor(projectCount: number): number {
  return betweenSizes(projectCount, SMALL_INTERVAL_MS, LARGE_INTERVAL_MS);
}

/** Returns the shortest time between two readings of a page of the project list, in milliseconds. */
export function listIntervalMsFor(projectCount: number): number {
  if (projectCount >= LARGE_PROJECTS) return 0;
  return betweenSizes(projectCount, SMALL_LIST_INTERVAL_MS, LARGE_INTERVAL_MS / 4);
}

/** Between the two sizes, the readings per second rise evenly with the number of projects. */
function betweenSizes(projectCount: number, smallMs: number, largeMs: number): number {
  const size = (projectCount - SMALL_PROJECTS) / (LARGE_PROJECTS - SMALL_PROJECTS);
  const share = Math.min(1, Math.max(0, size));
  return 1 / ((1 - share) / smallMs + share / largeMs);
}

export interface IntervalLimits {
  readonly pollIntervalMsMin: IntervalMsMin;
  readonly listing:
    | (Omit<ListingLimits, 'hintIntervalMsMin'> & {
        /** It is undefined when the list gives no hints. */
        readonly hintIntervalMsMin: IntervalMsMin | undefined;
      })
    | undefined;
}

export type PacedLimits<Limits> = Omit<Limits, keyof IntervalLimits> & {
  readonly pollIntervalMsMin: number;
  readonly listing: ListingLimits | undefined;
};

/** Returns limits whose intervals follow the number of projects wherever they are chosen by size. */
export function pacedLimits<Limits extends IntervalLimits>(
  limits: Limits,
  projectCount: () => number,
): PacedLimits<Limits> {
  const { pollIntervalMsMin, listing, ...others } = limits;
  const bySizeMs = () => pollIntervalMsFor(projectCount());
  return {
    ...others,
    get pollIntervalMsMin() {
      return pollIntervalMsMin === 'by_size' ? bySizeMs() : pollIntervalMsMin;
    },
    listing: listing && {
      intervalMsMax: listing.intervalMsMax,
      get hintIntervalMsMin() {
        const { hintIntervalMsMin } = listing;
        return hintIntervalMsMin === 'by_size' ? listIntervalMsFor(projectCount()) : hintIntervalMsMin;
      },
    },
  };
}
