/**
 * Shares one account's rate limit between the poller and commands. Each may use what the other leaves: the poller
 * publishes what it holds, and commands are given no more beside that than the account's limit has room for.
 */

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
 * Commands may send this many requests in a second: the 40 that the service allows a route, without the six that the
 * poller may send at once on the same route.
 */
export const COMMANDS_PER_SECOND = 34;

/** Two looks of the poller at what commands use are this far apart. */
export const USAGE_LOOK_MS = 5_000;

/**
 * However much the poller borrows, this part of the commands' share is left to them, so that the first commands leave
 * at once. The poller gives the rest back at its next look.
 */
const SHARE_LEFT = 0.13;

/** The poller always holds this part of its share, also while it does not need it. */
const SHARE_HELD = 0.2;

/** What the poller needs is taken to be what it has sent in the last minute, and so much more. */
const NEED_GROWTH = 1.1;
const NEED_SPARE = 15;

/** Smaller changes are not worth a write. */
const STEP = 25;

export interface AccountRate {
  readonly pollerRequestsPerMinute: number;
  readonly commandRequestsPerMinute: number;
  /** The service allows the account this many requests a minute. */
  readonly limitRequestsPerMinute: number;
}

/** The poller says this of itself, in requests a minute. It sends no more than it holds, and would like to hold what it wants. */
export interface PollerPart {
  readonly holds: number;
  readonly wants: number;
}

/** Returns how many requests a minute the poller may send while there are no commands. */
export function sharedRequestsPerMinute(rate: AccountRate): number {
  return mostTogether(rate) - leftToCommands(rate);
}

/** Returns how many requests a minute the poller and commands may send together, also while one of them takes back requests that it has lent to the other. */
function mostTogether(rate: AccountRate): number {
  const { pollerRequestsPerMinute, commandRequestsPerMinute, limitRequestsPerMinute } = rate;
  const shares = pollerRequestsPerMinute + commandRequestsPerMinute;
  return Math.min(limitRequestsPerMinute, shares + leftToCommands(rate));
}

function leftToCommands({ commandRequestsPerMinute }: AccountRate): number {
  return Math.ceil(SHARE_LEFT * commandRequestsPerMinute);
}

/** Returns what the poller may send beside instances that cannot reach the table, which send no more than the commands' share. */
export function certainFor(rate: AccountRate): number {
  return mostTogether(rate) - rate.commandRequestsPerMinute;
}

/** Returns what the poller holds in any case, so that it may send that much without knowing anything. */
export function leastHeldBy({ pollerRequestsPerMinute }: AccountRate): number {
  return Math.max(2, Math.floor(SHARE_HELD * pollerRequestsPerMinute));
}

/** Returns the part of a poller that has not said anything yet. */
export function unknownPart({ pollerRequestsPerMinute: share }: AccountRate): PollerPart {
  return { holds: share, wants: share };
}

/**
 * Returns how many requests commands may send in any minute: their share, and what the poller leaves, but never more
 * than there is room for beside what the poller holds.
 */
export function commandsMaxBeside(rate: AccountRate, { holds, wants }: PollerPart): number {
  const left = sharedRequestsPerMinute(rate) - Math.max(holds, wants);
  const room = mostTogether(rate) - holds;
  return Math.max(0, Math.min(Math.max(rate.commandRequestsPerMinute, left), room));
}

export interface PollerUse {
  readonly holds: number;
  /** The process knows that it has sent this many requests in the last minute. */
  readonly sentCount: number;
  /** At most so many were sent, together with what earlier processes may have sent. */
  readonly sentCountMax: number;
  /** The poller had to wait for what it holds. */
  readonly isShort: boolean;
  /** The poller has not had to wait for a while. */
  readonly mayLower: boolean;
  /** Commands have sent, or may send, this many requests of the last minute. */
  readonly commandCount: number;
}

/**
 * Returns what the poller holds from now on. It never holds less than it has sent in the last minute, because that
 * cannot be undone. The more commands are sent, the less it borrows of their share.
 */
export function nextPart(rate: AccountRate, use: PollerUse): PollerPart {
  const { holds, commandCount } = use;
  const whole = sharedRequestsPerMinute(rate);
  const share = Math.min(rate.pollerRequestsPerMinute, whole);
  const lent = Math.ceil(commandCount / SHARE_LEFT / STEP) * STEP;
  const wants = Math.max(leastHeldBy(rate), Math.min(neededBy(use), Math.max(share, whole - lent)));
  // What is held already is certain, whatever commands have been given beside it.
  const room = Math.max(whole - commandCount, Math.min(share, mostTogether(rate) - commandCount), holds);
  return { holds: Math.max(Math.min(wants, room), Math.min(use.sentCountMax, holds)), wants };
}

function neededBy({ holds, sentCount, isShort, mayLower }: PollerUse): number {
  const needed = Math.ceil((NEED_GROWTH * sentCount + NEED_SPARE) / STEP) * STEP;
  if (isShort) return Math.max(needed, 2 * holds);
  return holds >= needed && (!mayLower || holds <= needed + STEP) ? holds : needed;
}
