/**
 * One bucket for all requests of an account: commands take what they need, up to their part, and the poller has the rest. The
 * poller learns some seconds late what commands have sent, and that much is kept free below the upstream's limit.
 */

import { type RateLimit, rateLimitOf } from './rate-limit.ts';

/** Specification "Limits": requests a minute of one account. */
export const REQUESTS_PER_MINUTE_MAX = 700;

/** The parts of an account that says nothing of them, requests a minute; the rest is for the Console and for scripts. */
export const PARTS_PER_MINUTE = { poller: 350, commands: 250 } as const;

/** Commands that may leave at once after a quiet moment, of those of a minute: a person's clicks and a script's first lines. */
const COMMAND_BURST_SHARE = 0.08;

export function commandBurstOf(commandRequestsPerMinute: number): number {
  return Math.floor(COMMAND_BURST_SHARE * commandRequestsPerMinute);
}

/** A permit to send a command is used at most so long after its place in the minute: longer than an instance waits to ask for more. */
export const PERMIT_MS = 1_200;

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

/**
 * In any minute at most `commandRequestsPerMinute` commands leave, from however many instances. Permits stand an interval apart; each
 * is used between `toleranceMs` before its place and `PERMIT_MS` behind it. So those of one minute stand within
 * 60 s + PERMIT_MS + toleranceMs, where there are (60 s + PERMIT_MS + toleranceMs) / intervalMs + 1 places = commandRequestsPerMinute.
 */
export function commandLimitOf(commandRequestsPerMinute: number): RateLimit {
  const { intervalMs, toleranceMs } = rateLimitOf(
    commandRequestsPerMinute,
    commandBurstOf(commandRequestsPerMinute),
  );
  const stretched = (60_000 + PERMIT_MS) / 60_000;
  return { intervalMs: intervalMs * stretched, toleranceMs: toleranceMs * stretched };
}

/** The most that commands can have sent since the poller last looked. */
export function unknownCommandsMax(commandRequestsPerMinute: number): number {
  if (commandRequestsPerMinute === 0) return 0;
  const { intervalMs, toleranceMs } = commandLimitOf(commandRequestsPerMinute);
  return Math.ceil((toleranceMs + PERMIT_MS + SEEN_LATE_MS) / intervalMs) + 1;
}
