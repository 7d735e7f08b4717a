/**
 * Decides how far two readings of one project are apart at least. An account of ten projects is polled twice a second in
 * all, which leaves its rate limit to its own users. With more projects an account comes near the rate limit anyway, so
 * that each of them may be read at once again when something is expected there.
 */

import type { ListingLimits } from './project-list/page-turns.ts';

/** It is a time in milliseconds, or is chosen by the number of projects. */
export type IntervalMsMin = number | 'by_size';

/** An account with at most this number of projects is small, and one with at least the second number is large. */
const SMALL_PROJECTS = 10;
const LARGE_PROJECTS = 50;

interface IntervalsMs {
  readonly small: number;
  readonly large: number;
}

/**
 * A project of a small account is read every five seconds, which the specification suggests ("Operations"). One of a large
 * account may be read four times a second, because the rate limit bounds the polls of all of them: with 50 projects the
 * mean delay is a twelfth shorter than with half of that, and a still shorter interval changes nothing.
 */
const POLL_INTERVALS_MS: IntervalsMs = { small: 5_000, large: 250 };

/**
 * Two readings of a page of the project list for its hints are this far apart at least. In a large account the weight of
 * a page alone says how often it is read, because the rate limit is used up anyway.
 */
const HINT_INTERVALS_MS: IntervalsMs = { small: 1_250, large: 125 };

/** Returns milliseconds. Between the two sizes, the polls per second of a project rise evenly with their number. */
export function pollIntervalMsFor(projectCount: number): number {
  return intervalMsFor(projectCount, POLL_INTERVALS_MS);
}

/** Returns the shortest time between two readings of a page of the project list for its hints, in milliseconds. */
export function listIntervalMsFor(projectCount: number): number {
  return projectCount >= LARGE_PROJECTS ? 0 : intervalMsFor(projectCount, HINT_INTERVALS_MS);
}

function intervalMsFor(projectCount: number, { small, large }: IntervalsMs): number {
  const size = (projectCount - SMALL_PROJECTS) / (LARGE_PROJECTS - SMALL_PROJECTS);
  const share = Math.min(1, Math.max(0, size));
  return 1 / ((1 - share) / small + share / large);
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
  return {
    ...others,
    get pollIntervalMsMin() {
      return pollIntervalMsMin === 'by_size' ? pollIntervalMsFor(projectCount()) : pollIntervalMsMin;
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
