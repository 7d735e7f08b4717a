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
import { MINUTE_MS } from '../../core/time.ts';
import { CALLERS_MAX } from './shared-use.ts';

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

/** Requests are counted by the second, so that what is remembered does not grow with the limit. */
const SECOND_MS = 1_000;

export interface InstancePartOptions {
  /** Returns the limit of all callers and all instances together. */
  readonly limitAt: (nowMs: number) => RateLimit;
  readonly callerRequestsPerMinute: number;
  /** At most this many instances send requests at once. */
  readonly instancesMax: number;
}

interface Second {
  readonly atMs: number;
  /** The keys are the names of callers. */
  readonly sent: Map<string, number>;
}

export class InstancePart {
  readonly #options: InstancePartOptions;
  /** The instance sends without the table since then. It is undefined while the table answers. */
  #sinceMs: number | undefined;
  /** Until then a minute holds requests of which the table does not know, so what the table permits counts, too. */
  #untilMs = 0;
  #seconds: readonly Second[] = [];
  /** The time at which each caller last asked. */
  readonly #askedAtMs = new Map<string, number>();

  constructor(options: InstancePartOptions) {
    this.#options = options;
  }

  /** Returns true when a request of the caller may leave. `isAway` says that the table does not answer now. */
  hasRoom(name: string, nowMs: number, isAway: boolean): boolean {
    if (!isAway && nowMs >= this.#untilMs) return true;
    this.#sinceMs ??= nowMs;
    this.#forget(nowMs);
    if (this.#askedAtMs.size < CALLERS_MAX) this.#askedAtMs.set(name, nowMs);
    const { callerRequestsPerMinute, instancesMax } = this.#options;
    // Each instance has a part at once, so that a caller is answered while the table is away.
    const part = 1 / instancesMax;
    const whole = Math.floor((part * MINUTE_MS) / this.#options.limitAt(nowMs).intervalMs);
    const even = Math.ceil(whole / Math.max(1, this.#askedAtMs.size));
    const ofCaller = Math.min(Math.floor(part * callerRequestsPerMinute), even);
    const sent = this.#seconds.map((second) => second.sent);
    return (
      sumOf(sent, (counts) => sumOf([...counts.values()], (count) => count)) < whole &&
      sumOf(sent, (counts) => counts.get(name) ?? 0) < ofCaller
    );
  }

  /** Counts a request that leaves, after `hasRoom` has returned true for it. */
  noteSent(name: string, nowMs: number, isAway: boolean): void {
    if (isAway) this.#untilMs = nowMs + MINUTE_MS;
    // The table has given a permit, so it answers again.
    else if (nowMs >= this.#untilMs) this.#sinceMs = undefined;
    if (this.#sinceMs === undefined) return;
    const last = this.#seconds.at(-1);
    const isSame = last !== undefined && nowMs - last.atMs < SECOND_MS;
    const second = isSame ? last : { atMs: nowMs, sent: new Map<string, number>() };
    second.sent.set(name, (second.sent.get(name) ?? 0) + 1);
    if (!isSame) this.#seconds = [...this.#seconds, second];
  }

  /** A second counts until its last moment is a minute ago. */
  #forget(nowMs: number): void {
    this.#seconds = this.#seconds.filter(({ atMs }) => nowMs - atMs < MINUTE_MS + SECOND_MS);
    for (const [name, atMs] of this.#askedAtMs) if (nowMs - atMs >= MINUTE_MS) this.#askedAtMs.delete(name);
  }
}

function sumOf<T>(values: readonly T[], countOf: (value: T) => number): number {
  return values.reduce((sum, value) => sum + countOf(value), 0);
}
