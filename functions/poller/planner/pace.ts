/** Computes at which pace an account is read: intervals, rounds, waits and permits, by its number of projects and its rate limit. */

/** The shortest time between two polls of a project, in milliseconds, or chosen by the number of projects. */
export type IntervalMsMin = number | 'by_size';

/** The project list is never read when `listing` is undefined. */
export interface PlannerLimits {
  /** No project is polled more often, unless the list or a command asks for it. */
  readonly pollIntervalMsMin: IntervalMsMin;
  readonly listing:
    | {
        /** The list is read once in this time, or in a large account once in at most five times it. */
        readonly usualIntervalMs: number;
        /** Two readings of a page for its hints are at least this far apart. It is undefined when the list gives no hints. */
        readonly hintIntervalMsMin: IntervalMsMin | undefined;
      }
    | undefined;
  /** The poller may send this many requests a minute, which determines how long a round of all projects takes. */
  readonly requestsPerMinute: number;
  /** The lists of computes are read where that pays. Undefined means that they are not. */
  readonly readsComputes?: boolean | undefined;
  /** The back-off of a project doubles with each failure, up to this time. */
  readonly failureBackoffMsMax: number;
}

/**
 * No project waits for more rounds than this, whatever else there is to read, or for a minute in a small account. Where the list shows every
 * transition, this costs a quarter of the permits: sixteen rounds had a mean of 0.25 s with 500 projects in the place of 0.29, of 0.78 s with
 * 5,000 in the place of 1.08, and of 7.5 s in the place of 12.8 where 5,000 projects are ten times as busy.
 */
const ROUNDS_MAX = 4;
const WAIT_MS_MIN = 60_000;

/** Projects that are due get every second permit, and with these all projects can be read in two rounds. */
const ROUNDS_TO_SERVE = 2;

/** Permits come a little more slowly than the limit says, because a burst belongs to the same minute. */
const FILL_SHARE = 0.97;

/** A project rests for this long after the first of several consecutive failures. Most failures have passed by then. */
const FAILURE_BACKOFF_MS = 5_000;

/** A project of a small account is read every five seconds, which the specification suggests ("Operations"), and its list four times as often. */
const [SMALL_PROJECTS, SMALL_INTERVAL_MS] = [10, 5_000];
const [LARGE_PROJECTS, LARGE_INTERVAL_MS] = [50, 250];
const LISTS_PER_POLL = 4;

/** Returns milliseconds. Between the two sizes, the polls per second of a project rise evenly with their number. */
function intervalMsFor(projectCount: number): number {
  const size = (projectCount - SMALL_PROJECTS) / (LARGE_PROJECTS - SMALL_PROJECTS);
  const share = Math.min(1, Math.max(0, size));
  return 1 / ((1 - share) / SMALL_INTERVAL_MS + share / LARGE_INTERVAL_MS);
}

export interface Pace {
  /** No project is polled more often, unless the list or a command asks for it. */
  readonly intervalMs: number;
  /** One page shows many projects, so it may be read oftener than one of them, and in a large account as often as its weight says. */
  readonly listIntervalMs: number;
  /** The longest time for which a project may wait. */
  readonly waitMsMax: number;
  /** Every second permit is enough to read everything in this time. */
  readonly serveMs: number;
}

export function paceOf(limits: PlannerLimits, projectCount: number, pageCount: number): Pace {
  const { pollIntervalMsMin, listing, requestsPerMinute } = limits;
  const intervalMs = pollIntervalMsMin === 'by_size' ? intervalMsFor(projectCount) : pollIntervalMsMin;
  const { hintIntervalMsMin = Number.POSITIVE_INFINITY } = listing ?? {};
  const bySizeMs = projectCount >= LARGE_PROJECTS ? 0 : intervalMs / LISTS_PER_POLL;
  // In a round the rate limit allows one reading of everything.
  const roundMs = ((projectCount + pageCount) * 60_000) / requestsPerMinute;
  const serveMs = ROUNDS_TO_SERVE * roundMs;
  return {
    intervalMs,
    listIntervalMs: hintIntervalMsMin === 'by_size' ? bySizeMs : hintIntervalMsMin,
    waitMsMax: Math.max(WAIT_MS_MIN, ROUNDS_MAX * roundMs, intervalMs + serveMs),
    serveMs,
  };
}

export function backoffMsOf(limits: PlannerLimits, failureCount: number, intervalMs: number): number {
  const firstMs = Math.max(FAILURE_BACKOFF_MS, intervalMs);
  return Math.min(firstMs * 2 ** (failureCount - 1), limits.failureBackoffMsMax);
}

/** Follows the bucket of the rate limit, which saves up a few permits. */
export function createPermitBucket(requestsPerMinute: number) {
  const permitMs = 60_000 / (FILL_SHARE * requestsPerMinute);
  /** The bucket was empty at this time. */
  let emptyMs = Number.NEGATIVE_INFINITY;
  return {
    spend(nowMs: number): void {
      emptyMs = Math.min(nowMs, Math.max(emptyMs, nowMs - SAVED_PERMITS * permitMs) + permitMs);
    },
    setBack(byMs: number): void {
      emptyMs -= byMs;
    },
    /** Returns when the bucket holds one permit beside the next one. */
    savedMs: (): number => emptyMs + 2 * permitMs,
  };
}

/** No more permits than these are taken to be in the bucket. */
const SAVED_PERMITS = 4;
