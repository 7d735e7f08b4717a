/**
 * One bucket for all requests of an account: commands take what they need, up to their part, and the poller has the rest. The
 * poller learns some seconds late what commands have sent, and that much is kept free below the upstream's limit.
 */

import { rateLimitOf } from './rate-limit.ts';

/** Specification "Limits": requests a minute of one account. */
export const REQUESTS_PER_MINUTE_MAX = 700;

/** The parts of an account that says nothing of them, requests a minute; the rest is for the Console and for scripts. */
export const PARTS_PER_MINUTE = { poller: 350, commands: 250 } as const;

/** Commands that may leave at once after a quiet moment: a person's clicks and a script's first lines. */
export const COMMAND_BURST = 25;

/** Between two looks at what commands have sent; a read unit each is less than a dollar a year. */
export const USAGE_LOOK_MS = 5_000;

/** An instance of the API notes what it has sent at most so often: the rest goes along with the next note. */
export const USAGE_NOTE_MS = 1_000;

/** Between the end of one invocation and the first look of the next. */
const BLIND_MS = 1_000;

/** From a command to the look that finds it. */
const SEEN_LATE_MS = USAGE_NOTE_MS + USAGE_LOOK_MS + BLIND_MS;

export interface AccountRate {
  readonly pollerRequestsPerMinute: number;
  readonly commandRequestsPerMinute: number;
}

/** Of the bucket that the poller takes its requests from, and out of which commands are taken as they become known. */
export function sharedRequestsPerMinute(rate: AccountRate): number {
  const { pollerRequestsPerMinute, commandRequestsPerMinute } = rate;
  const together = pollerRequestsPerMinute + commandRequestsPerMinute;
  const safe = REQUESTS_PER_MINUTE_MAX - unknownCommandsMax(commandRequestsPerMinute);
  // Should commands take their whole part all of a sudden, what is polled until that is known has to fit beside it.
  const besideAll = ((REQUESTS_PER_MINUTE_MAX - commandRequestsPerMinute) * 60_000) / SEEN_LATE_MS;
  return Math.floor(Math.min(together, safe, besideAll));
}

/** The most that commands can have sent since the poller last looked. */
export function unknownCommandsMax(commandRequestsPerMinute: number): number {
  if (commandRequestsPerMinute === 0) return 0;
  const { intervalMs, toleranceMs } = rateLimitOf(commandRequestsPerMinute, COMMAND_BURST);
  return Math.ceil((toleranceMs + SEEN_LATE_MS) / intervalMs) + 1;
}
