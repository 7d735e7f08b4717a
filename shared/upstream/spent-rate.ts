/**
 * Computes how much of an account's rate limit is spent, by this process and by all, and how much of the limit may be
 * used at present.
 */

import {
  forgive,
  type RateLimit,
  type RateLimitState,
  rateLimitOf,
  shareOf,
  spend,
  startEmpty,
  UNUSED,
  unspend,
  usedUp,
  waitMs,
} from '../core/rates/rate-limit.ts';
import { afterRefusal, FULL_SHARE, type RateShare, shareAt } from '../core/rates/rate-share.ts';

/** The times say when the next request would leave if all left evenly, in milliseconds since the epoch. */
export interface Spending {
  /** Counts everything that is sent for the account. */
  readonly whole_next_at_ms: number;
  /** Counts only what this process sends. */
  readonly own_next_at_ms: number;
}

export interface SpentRateOptions {
  readonly requestsPerMinute: number;
  /**
   * Only this process uses this part of them, whatever others send out of the same limit. By default there is no such
   * part.
   */
  readonly ownRequestsPerMinute?: number | undefined;
  readonly burst: number;
  /** This is set when an earlier process may have sent until now. There is no burst then until one was saved up. */
  readonly startsEmpty?: boolean | undefined;
}

/**
 * This class has two token buckets. A request may leave when either has room: the whole limit, or the own part of
 * this process. A request that leaves is spent in both, and a process never owes more than a used-up minute. Every
 * method takes our clock's time.
 */
export class SpentRate {
  readonly #wholeLimit: RateLimit;
  readonly #ownLimit: RateLimit | undefined;
  #share: RateShare = FULL_SHARE;
  /** Counts what all processes have sent. */
  #whole: RateLimitState;
  /** Counts what this process has sent. An earlier process may have used up the minute. */
  #own: RateLimitState;

  constructor(
    { requestsPerMinute, ownRequestsPerMinute, burst, startsEmpty }: SpentRateOptions,
    nowMs: number,
  ) {
    this.#wholeLimit = rateLimitOf(requestsPerMinute, burst);
    this.#ownLimit =
      ownRequestsPerMinute === undefined ? undefined : rateLimitOf(ownRequestsPerMinute, burst);
    this.#whole = startsEmpty === true ? startEmpty(this.#wholeLimit, nowMs) : UNUSED;
    this.#own = startsEmpty === true && this.#ownLimit !== undefined ? usedUp(this.#ownLimit, nowMs) : UNUSED;
  }

  get pausedUntilMs(): number {
    return this.#whole.pausedUntilMs;
  }

  get share(): RateShare {
    return this.#share;
  }

  /** Returns the milliseconds until the next request may leave, and 0 when it may leave now. */
  delayMs(nowMs: number): number {
    const delayMs = waitMs(this.#usable(this.#wholeLimit, nowMs), this.#whole, nowMs);
    if (this.#ownLimit === undefined) return delayMs;
    const own = { ...this.#own, pausedUntilMs: this.#whole.pausedUntilMs };
    return Math.min(delayMs, waitMs(this.#usable(this.#ownLimit, nowMs), own, nowMs));
  }

  /** `ownCount` of the `count` requests were sent by this process. */
  spend(nowMs: number, count: number, ownCount: number): void {
    const whole = this.#usable(this.#wholeLimit, nowMs);
    this.#whole = forgive(whole, spend(whole, this.#whole, nowMs, count), nowMs);
    if (this.#ownLimit === undefined || ownCount === 0) return;
    const own = this.#usable(this.#ownLimit, nowMs);
    this.#own = forgive(own, spend(own, this.#own, nowMs, ownCount), nowMs);
  }

  /** Gives back the permit of this process's last request, which was not sent after all. */
  unspend(nowMs: number): void {
    this.#whole = unspend(this.#usable(this.#wholeLimit, nowMs), this.#whole);
    if (this.#ownLimit !== undefined) this.#own = unspend(this.#usable(this.#ownLimit, nowMs), this.#own);
  }

  pauseUntil(atMs: number): void {
    this.#whole = { ...this.#whole, pausedUntilMs: Math.max(this.#whole.pausedUntilMs, atMs) };
  }

  noteRefusal(nowMs: number): void {
    this.#share = afterRefusal(this.#share, nowMs);
  }

  restoreShare(share: RateShare): void {
    this.#share = share;
  }

  spending(): Spending {
    return { whole_next_at_ms: this.#whole.nextAtMs, own_next_at_ms: this.#own.nextAtMs };
  }

  /** Says whether this process could send a whole burst now out of its own part, so that it needs nothing of others. */
  isOwnUnused(nowMs: number): boolean {
    return this.#ownLimit !== undefined && this.#own.nextAtMs <= nowMs;
  }

  /** When the previous process did not hand over what it has spent, it is assumed to have spent everything. */
  takeOver(spending: Spending | undefined, nowMs: number): void {
    const wholeNextAtMs = spending?.whole_next_at_ms ?? startEmpty(this.#wholeLimit, nowMs).nextAtMs;
    this.#whole = forgive(this.#wholeLimit, { ...this.#whole, nextAtMs: wholeNextAtMs }, nowMs);
    if (this.#ownLimit === undefined) return;
    const ownNextAtMs = spending?.own_next_at_ms ?? usedUp(this.#ownLimit, nowMs).nextAtMs;
    this.#own = forgive(this.#ownLimit, { ...this.#own, nextAtMs: ownNextAtMs }, nowMs);
  }

  /** Returns the limit as far as refusals have not lowered it. */
  #usable(limit: RateLimit, nowMs: number): RateLimit {
    return shareOf(limit, shareAt(this.#share, nowMs));
  }
}
