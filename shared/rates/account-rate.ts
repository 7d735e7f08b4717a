/**
 * Shares one account's rate limit between the poller and commands, paces what is sent within a share, and lowers a
 * share that the upstream refuses. Each may use what the other leaves: the poller publishes what it holds, and commands
 * are given no more beside that than the account's limit has room for.
 */

import { MINUTE_MS } from '../records/time.ts';

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

export interface RateLimit {
  /** Two requests of a steady stream are this far apart. */
  readonly intervalMs: number;
  /** A burst may run this far ahead of the steady stream. */
  readonly toleranceMs: number;
}

export interface RateLimitState {
  /**
   * The next request would leave at this time if all left evenly. It is the algorithm's theoretical arrival time, by
   * our clock.
   */
  readonly nextAtMs: number;
  /** Nothing leaves before this time, because the upstream asked for a pause. */
  readonly pausedUntilMs: number;
}

/** Returns the limit of which only `share` (0 to 1) is used. The burst shrinks with the rate. */
export function shareOf(limit: RateLimit, share: number): RateLimit {
  return { intervalMs: limit.intervalMs / share, toleranceMs: limit.toleranceMs };
}

export const UNUSED: RateLimitState = { nextAtMs: 0, pausedUntilMs: 0 };

/**
 * Returns the state of a process that does not know what left before it: nothing is saved up for a burst. If the
 * previous process kept the limit, the two together keep it, however often processes end and begin.
 */
export function startEmpty({ intervalMs, toleranceMs }: RateLimit, nowMs: number): RateLimitState {
  return { nextAtMs: nowMs + intervalMs + toleranceMs, pausedUntilMs: 0 };
}

/**
 * The burst is at most this share of the minute. With more, a steady stream would get less than nine tenths of the
 * limit.
 */
const BURST_SHARE_MAX = 0.1;

/** Below this rate a single request would already be a burst. */
const REQUESTS_PER_MINUTE_MIN = 2;

/**
 * Returns a limit with which at most `requestsPerMinute` leave in any 60 s, whether the upstream counts in a sliding
 * window or fills a bucket: the burst belongs to the minute (60 s x rate + burst <= requestsPerMinute). Throws
 * `RangeError` below two a minute.
 */
export function rateLimitOf(requestsPerMinute: number, burst: number): RateLimit {
  if (!(requestsPerMinute >= REQUESTS_PER_MINUTE_MIN))
    throw new RangeError(
      `A rate limit needs at least ${REQUESTS_PER_MINUTE_MIN} a minute, not ${requestsPerMinute}`,
    );
  const burstRequests = Math.max(1, Math.min(burst, Math.floor(requestsPerMinute * BURST_SHARE_MAX)));
  const intervalMs = MINUTE_MS / (requestsPerMinute - burstRequests);
  return { intervalMs, toleranceMs: intervalMs * (burstRequests - 1) };
}

/**
 * Returns the milliseconds until the next request may leave, or 0 when it may leave now. They are whole, because
 * timers cut fractions off.
 */
export function waitMs(limit: RateLimit, state: RateLimitState, nowMs: number): number {
  const earliestMs = Math.max(state.nextAtMs - limit.toleranceMs, state.pausedUntilMs);
  return Math.max(0, Math.ceil(earliestMs - nowMs));
}

/** Returns the state after requests left at `nowMs`, whether or not the limit had room for them. */
export function spend(
  limit: RateLimit,
  state: RateLimitState,
  nowMs: number,
  requestCount = 1,
): RateLimitState {
  return { ...state, nextAtMs: Math.max(state.nextAtMs, nowMs) + requestCount * limit.intervalMs };
}

/** Returns the state in which nothing may leave for a minute. After that, no window of a minute holds what left before. */
export function usedUp({ toleranceMs }: RateLimit, nowMs: number): RateLimitState {
  return { nextAtMs: nowMs + toleranceMs + MINUTE_MS, pausedUntilMs: 0 };
}

/** Returns the state in which at most as much is owed as in `usedUp`. */
export function forgive(limit: RateLimit, state: RateLimitState, nowMs: number): RateLimitState {
  return { ...state, nextAtMs: Math.min(state.nextAtMs, usedUp(limit, nowMs).nextAtMs) };
}

/** Returns the state as if the last request had not left. It allows no more than the state before that request did. */
export function unspend(limit: RateLimit, state: RateLimitState): RateLimitState {
  return { ...state, nextAtMs: state.nextAtMs - limit.intervalMs };
}

/** The share is plain data that is kept across restarts. */
export interface RateShare {
  /** This share (0 to 1) was in use at `changedAtMs`, and grows from there. */
  readonly share: number;
  readonly changedAtMs: number;
  /** This share was in use at the last refusal. It is approached, and tried again only when the hold is over. */
  readonly ceiling: number;
  readonly holdMs: number;
}

/**
 * The share is multiplied by this after each refusal. Two users of one limit that both fall by a factor and rise with
 * time end up with equal shares.
 */
const SHARE_KEPT = 0.8;

/** Below the last refused share, the share would grow from 0 to 1 in this time. */
const RECOVERY_MS_FULL = 10 * MINUTE_MS;

/**
 * Above the last refused share, the share would grow from 0 to 1 in this time: so slowly that the upstream's
 * one-minute window refuses us before we overshoot far.
 */
const TRIAL_MS_FULL = 20 * MINUTE_MS;

/** Up to this share of the last refused share it is safe enough to stay. */
const CEILING_SHARE = 0.95;

/**
 * A refusal may have been chance, so the refused share is tried again after this time. After each further refusal it
 * is tried after twice the time.
 */
const HOLD_MS_MIN = 5 * MINUTE_MS;

/** A hold takes at most this long, and so it takes at most this long to notice that a second user has gone. */
const HOLD_MS_MAX = 40 * MINUTE_MS;

/** A refusal at more than this multiple of the last refused share means that the other user takes less than before. */
const CEILING_RAISED = 1.1;

/** At least this share is used, so that something still gets through whatever others do. */
const SHARE_MIN = 0.1;

/** Refusals within this time count as one, because requests that were under way together are refused together. */
const REFUSALS_TOGETHER_MS = 5_000;

export const FULL_SHARE: RateShare = {
  share: 1,
  changedAtMs: 0,
  ceiling: 1,
  holdMs: 0,
};

export function shareAt({ share, changedAtMs, ceiling, holdMs }: RateShare, nowMs: number): number {
  const sinceMs = Math.max(0, nowMs - changedAtMs);
  const approached = Math.min(share + sinceMs / RECOVERY_MS_FULL, Math.max(share, CEILING_SHARE * ceiling));
  return Math.min(1, approached + Math.max(0, sinceMs - holdMs) / TRIAL_MS_FULL);
}

export function afterRefusal(before: RateShare, nowMs: number): RateShare {
  const sinceMs = Math.abs(nowMs - before.changedAtMs);
  if (sinceMs < REFUSALS_TOGETHER_MS) return before;
  // The upstream counts a minute, so the mean share of the last minute was too much.
  const refused = (shareAt(before, nowMs) + shareAt(before, nowMs - MINUTE_MS)) / 2;
  return {
    share: Math.max(SHARE_MIN, refused * SHARE_KEPT),
    changedAtMs: nowMs,
    ceiling: refused,
    holdMs: holdAfter(before, refused, sinceMs),
  };
}

function holdAfter({ ceiling, holdMs }: RateShare, refused: number, sinceMs: number): number {
  const isNews = refused >= 1 || refused > ceiling * CEILING_RAISED;
  if (isNews) return HOLD_MS_MIN;
  const wasTried = sinceMs >= holdMs;
  return wasTried ? Math.min(HOLD_MS_MAX, 2 * holdMs) : holdMs;
}

/** What refusals have taught, so that the next process need not be refused to learn it. */
export interface LearnedLimit {
  readonly share: RateShare;
  readonly pausedUntilMs: number;
  /** Whether only one request at a time leaves, to find out whether the upstream answers again. */
  readonly isProbing?: boolean | undefined;
}
