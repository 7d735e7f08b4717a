/**
 * Shares one bucket between all requests of an account: commands take what they need, up to their share, and the
 * poller has the rest. The poller learns some seconds late what commands have sent, and that much is kept free below
 * the upstream's limit.
 */

import { type RateLimit, rateLimitOf } from './rate-limit.ts';

/** One account may send this many requests a minute (specification, "Limits"), unless the service has raised its limit. */
export const LIMIT_PER_MINUTE = 700;

/**
 * No limit that the service may grant is taken to be higher. At this rate one poller would parse 1,700 pages a second, which
 * is more than a function of Lambda can.
 */
export const REQUESTS_PER_MINUTE_MAX = 100_000;

/** An account that names no shares gets these, in requests a minute. The rest is for the Console and for scripts. */
export const SHARES_PER_MINUTE = { poller: 350, commands: 250 } as const;

/**
 * This share of a minute's commands may leave at once after a quiet moment: a person's clicks and a script's first
 * lines.
 */
const COMMAND_BURST_SHARE = 0.08;

export function commandBurstOf(commandRequestsPerMinute: number): number {
  return Math.floor(COMMAND_BURST_SHARE * commandRequestsPerMinute);
}

/**
 * A permit to send a command is used at most this long after its time in the schedule: longer than an instance waits
 * to ask for more.
 */
export const PERMIT_MS = 1_200;

/** Two looks at what commands have sent are this far apart. At a read unit each they cost less than a dollar a year. */
export const USAGE_LOOK_MS = 5_000;

/**
 * An instance of the API notes at most this often what it has sent. What it sends meanwhile goes along with the next
 * note.
 */
export const USAGE_NOTE_MS = 1_000;

/** Between the end of one invocation and the first look of the next, nothing is seen for this long. */
const BLIND_MS = 1_000;

/** A command is seen at most this long after it was sent. */
const SEEN_LATE_MS = USAGE_NOTE_MS + USAGE_LOOK_MS + BLIND_MS;

export interface AccountRate {
  readonly pollerRequestsPerMinute: number;
  readonly commandRequestsPerMinute: number;
  /** The service allows the account this many requests a minute. The default is `LIMIT_PER_MINUTE`. */
  readonly limitRequestsPerMinute?: number | undefined;
}

/**
 * Returns how many requests a minute fit into the bucket that the poller takes its requests from. Commands are taken
 * out of it as they become known.
 */
export function sharedRequestsPerMinute(rate: AccountRate): number {
  const { pollerRequestsPerMinute, commandRequestsPerMinute } = rate;
  const limit = rate.limitRequestsPerMinute ?? LIMIT_PER_MINUTE;
  const together = pollerRequestsPerMinute + commandRequestsPerMinute;
  const safe = limit - unknownCommandsMax(commandRequestsPerMinute);
  // If commands suddenly use their whole share, what is polled until that is known has to fit beside it.
  const besideAll = ((limit - commandRequestsPerMinute) * 60_000) / SEEN_LATE_MS;
  return Math.floor(Math.min(together, safe, besideAll));
}

/**
 * Returns a limit with which at most `commandRequestsPerMinute` commands leave in any minute, from any number of
 * instances. Permits stand an interval apart, and each is used between `toleranceMs` before its time and `PERMIT_MS`
 * after it. So the permits of one minute stand within 60 s + PERMIT_MS + toleranceMs, which is room for (60 s +
 * PERMIT_MS + toleranceMs) / intervalMs + 1 = commandRequestsPerMinute of them.
 */
export function commandLimitOf(commandRequestsPerMinute: number): RateLimit {
  const { intervalMs, toleranceMs } = rateLimitOf(
    commandRequestsPerMinute,
    commandBurstOf(commandRequestsPerMinute),
  );
  const stretched = (60_000 + PERMIT_MS) / 60_000;
  return { intervalMs: intervalMs * stretched, toleranceMs: toleranceMs * stretched };
}

/** Returns the largest number of requests that commands can have sent since the poller last looked. */
export function unknownCommandsMax(commandRequestsPerMinute: number): number {
  if (commandRequestsPerMinute === 0) return 0;
  const { intervalMs, toleranceMs } = commandLimitOf(commandRequestsPerMinute);
  return Math.ceil((toleranceMs + PERMIT_MS + SEEN_LATE_MS) / intervalMs) + 1;
}
