/** The poller's bounds, each with its reason. */

import type { Backfill } from '../../../shared/core/records/operation-record.ts';
import { DAY_MS, MINUTE_MS } from '../../../shared/core/time/durations.ts';
import type { PollOptions } from '../project/poll-deps.ts';
import type { StallThresholdsMs } from '../project/recording/stall.ts';
import type { AccountLimits } from './account-deps.ts';

/**
 * After the stop signal a poll begins no page, no row and no call of the bus but those of its last relay. The longest chain of
 * calls that is left to it: a write that is under way and its repetition (2 calls of the table), the progress of the walk (2), a
 * command (2), a call of the bus, its acknowledgement and what a newer entry makes of that (2). With 200 ms a call of the table
 * and a second for the bus these are 2.6 s.
 */
export const POLLS_END_MS = 3_000;

/** The account's health (two calls of the table, one of the bus, two of the table) and, beside it, the status (four). */
export const REPORT_MS = 2_500;

/** One write, on which nothing depends. */
export const RELEASE_MS = 500;

/** To write the metrics out and to hand the answer over. */
const FLUSH_MS = 500;

/**
 * Between the stop signal and the time-out that kills the function. Polling ends half a second before the next minute begins;
 * what ends later than that, the next invocation waits for.
 */
export const STOP_RESERVE_MS = POLLS_END_MS + REPORT_MS + RELEASE_MS + FLUSH_MS;

export const accountLimits = {
  run: {
    pollsAtOnce: 12,
    discoveryIntervalMs: MINUTE_MS,
    // Half a read unit each: two dollars a year for commands that are seen to their end within a second.
    workIntervalMs: 1_000,
    failingMsMax: 3 * MINUTE_MS,
  } satisfies Omit<AccountLimits, 'requestsPerMinute'>,
  planner: { failureBackoffMsMax: 5 * MINUTE_MS },
} as const;

export function pollOptionsFor(backfill: Backfill, stallThresholdsMs: StallThresholdsMs): PollOptions {
  return {
    walkLimits: {
      // A page of 100 rows is 32 kB: parsed in a fraction of a millisecond, and enough for a day of most projects.
      firstPageRows: 100,
      // The most that the list gives (public contract: 1 to 1000).
      widePageRows: 1_000,
      // 20,000 operations in one poll; the rest waits for the next turn, from the stored cursor.
      pagesMax: 20,
      // Start value of the design: how late a row may become visible without waiting for the sweep.
      overlapMs: 5 * MINUTE_MS,
    },
    backfill,
    // Nothing older can be recorded as settled and still be kept when a walk meets it again.
    backfillDepthMs: 30 * DAY_MS,
    watermarkStepRows: 24,
    sweepIntervalMs: DAY_MS,
    stallThresholdsMs,
  };
}
