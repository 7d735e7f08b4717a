/**
 * Decides for how long an account is set aside whose poller threw an error. An account that fails again and again
 * costs its lane less and less, and is tried again for ever.
 */

import { MINUTE_MS } from '../../../shared/core/time/durations.ts';

export interface SetAside {
  /** The poller of the account has thrown in this many invocations in a row. */
  readonly failureCount: number;
  /** The account is polled again from this time on, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** The first failure costs the account the rest of its minute. Most failures have passed by then. */
const FIRST_MS = MINUTE_MS;

/** After the longest pause a repaired account is polled again within a quarter of an hour. */
export const SET_ASIDE_MS_MAX = 15 * MINUTE_MS;

/** Returns the pause after one more failure. It doubles from a minute to a quarter of an hour. */
export function setAsideAfter(before: SetAside | undefined, nowMs: number): SetAside {
  const failureCount = (before?.failureCount ?? 0) + 1;
  const pauseMs = Math.min(SET_ASIDE_MS_MAX, FIRST_MS * 2 ** Math.min(failureCount - 1, 10));
  return { failureCount, untilMs: nowMs + pauseMs };
}

/**
 * Says whether the account waits. A time that lies further ahead than any pause was written by a clock that was wrong,
 * and is ignored.
 */
export function isSetAside(account: SetAside | undefined, nowMs: number): boolean {
  if (account === undefined) return false;
  const restMs = account.untilMs - nowMs;
  return restMs > 0 && restMs <= SET_ASIDE_MS_MAX;
}

/** Says how the polling of an account ended in one invocation. */
export type PollEnding = 'ended' | 'failed';

/**
 * Says whether a failure is that of the lane and not of its accounts: all of several accounts failed, so the table or
 * the function itself is in trouble, and no account is set aside for that. The only account of a lane is never set
 * aside, because no other account gains by it.
 */
export function isFailureOfLane(endings: readonly PollEnding[]): boolean {
  return endings.every((ending) => ending === 'failed');
}
