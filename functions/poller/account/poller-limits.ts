/** Sets the poller's bounds, each with its reason. */

import type { Backfill } from '../../../shared/core/records/operation-record.ts';
import { DAY_MS, MINUTE_MS } from '../../../shared/core/time/durations.ts';
import type { PollOptions, StallThresholdsMs } from '../project/poll-deps.ts';
import type { AccountLimits } from './account-deps.ts';

/**
 * The polls end within this time after the stop signal. They begin no page, no row and no call of the bus but those
 * of their last relay. The longest chain of calls that is left to a poll: a write that is under way and its
 * repetition (2 calls of the table), the progress of the walk (2), a command (2), a call of the bus, its
 * acknowledgement and what a newer entry makes of that (2). With 200 ms a call of the table and a second for the bus
 * this takes 2.6 s.
 */
export const POLLS_END_MS = 3_000;

/**
 * The account's health takes two calls of the table, one of the bus and two of the table. The status takes four calls
 * beside it.
 */
export const REPORT_MS = 2_500;

/** The release of the lease is one write, on which nothing depends. */
export const RELEASE_MS = 500;

/** It takes this long to write the metrics out and to hand the answer over. */
const FLUSH_MS = 500;

/**
 * The stop signal comes this long before the time-out that kills the function. Polling ends half a second before the
 * next minute begins. The next invocation waits for work that ends later than that.
 */
export const STOP_RESERVE_MS = POLLS_END_MS + REPORT_MS + RELEASE_MS + FLUSH_MS;

/** A dozen polls at once use the usual rate limit even if the upstream takes a second for each answer. */
const POLLS_AT_ONCE_MIN = 12;

/** Each poll has a socket and a page of rows in memory. With this many, pages of usual size take less than 64 MB. */
export const POLLS_AT_ONCE_MAX = 400;

/**
 * A process has at most this many sockets to upstreams, whatever its number of accounts: as many as one account of the
 * highest rate uses. They take about 25 MB, and Lambda allows 1,024 open files (AWS Lambda quotas).
 */
export const UPSTREAM_SOCKETS_MAX = 400;

/** Returns how many polls run at once: one for each request of a second, so that answers may take a second. */
export function pollsAtOnceFor(requestsPerMinute: number): number {
  const requestsPerSecond = Math.ceil(requestsPerMinute / 60);
  return Math.min(POLLS_AT_ONCE_MAX, Math.max(POLLS_AT_ONCE_MIN, requestsPerSecond));
}

export const accountLimits = {
  run: {
    pollsAtOnce: POLLS_AT_ONCE_MIN,
    discoveryIntervalMs: MINUTE_MS,
    // Each look costs half a read unit: two dollars a year for commands whose end is seen within a second.
    workIntervalMs: 1_000,
    failingMsMax: 3 * MINUTE_MS,
  } satisfies Omit<AccountLimits, 'requestsPerMinute'>,
  planner: { failureBackoffMsMax: 5 * MINUTE_MS },
} as const;

export function pollOptionsFor(backfill: Backfill, stallThresholdsMs: StallThresholdsMs): PollOptions {
  return {
    walkLimits: {
      // A page of 100 rows has 32 kB. It is parsed in a fraction of a millisecond, and shows a day of most projects.
      firstPageRows: 100,
      // The list gives at most this many (public contract: 1 to 1000).
      widePageRows: 1_000,
      // One poll reads at most 20,000 operations. The next poll continues from the stored cursor.
      pagesMax: 20,
      // A row may become visible this late without waiting for the sweep. It is the start value of the design.
      overlapMs: 5 * MINUTE_MS,
    },
    backfill,
    boundStepRows: 24,
    sweepIntervalMs: DAY_MS,
    stallThresholdsMs,
  };
}
