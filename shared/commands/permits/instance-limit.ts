/**
 * Keeps the commands' rate limit on one instance of the API by itself, so that the instance also keeps it while it
 * learns nothing of the others.
 */

import {
  type RateLimit,
  type RateLimitState,
  shareOf,
  spend,
  UNUSED,
  waitMs,
} from '../../core/rates/rate-limit.ts';
import { afterRefusal, FULL_SHARE, shareAt } from '../../core/rates/rate-share.ts';

/** This bounds the memory of admitted requests, because an admitted request may never be sent. */
const ADMITTED_MAX = 100;

export class InstanceLimit {
  readonly #whole: RateLimit;
  #share = FULL_SHARE;
  #sent: RateLimitState = UNUSED;
  /** Counts the requests that were admitted and are not sent yet. */
  #admittedCount = 0;

  constructor(whole: RateLimit) {
    this.#whole = whole;
  }

  /** Returns the limit as far as refusals of the upstream have not lowered it. */
  limitAt(nowMs: number): RateLimit {
    return shareOf(this.#whole, shareAt(this.#share, nowMs));
  }

  /** Returns the milliseconds until this instance may send another request, and 0 when it may send now. */
  waitMs(nowMs: number): number {
    return waitMs(this.limitAt(nowMs), this.#sent, nowMs);
  }

  /** Spends one request, which will be sent soon. */
  admit(nowMs: number): void {
    this.#admittedCount = Math.min(this.#admittedCount + 1, ADMITTED_MAX);
    this.#sent = spend(this.limitAt(nowMs), this.#sent, nowMs);
  }

  /** Notes that one request leaves. It is spent now if no admitted request was left to send. */
  send(nowMs: number): void {
    if (this.#admittedCount > 0) this.#admittedCount -= 1;
    else this.#sent = spend(this.limitAt(nowMs), this.#sent, nowMs);
  }

  /** Lowers the limit after a refusal (429), and sends nothing for `durationMs`. */
  pauseFor(durationMs: number, nowMs: number): void {
    this.#share = afterRefusal(this.#share, nowMs);
    const pausedUntilMs = Math.max(this.#sent.pausedUntilMs, nowMs + durationMs);
    this.#sent = { ...this.#sent, pausedUntilMs };
  }
}
