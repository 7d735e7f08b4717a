/**
 * Queues the poller's requests for its share of the account's rate limit. Requests leave in order, each when the
 * limit allows it by what this process and all others have spent.
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
import {
  afterRefusal,
  FULL_SHARE,
  type LearnedLimit,
  type RateShare,
  shareAt,
} from '../core/rates/rate-share.ts';
import { RETRY_AFTER_MS_MAX } from '../core/rates/retry-decision.ts';
import type { Clock } from '../runtime/clock.ts';

/** The times say when the next request would leave if all left evenly, in milliseconds since the epoch. */
interface Spending {
  /** Counts everything that is sent for the account. */
  readonly whole_next_at_ms: number;
  /** Counts only what this process sends. */
  readonly own_next_at_ms: number;
}

interface SpentRateOptions {
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
class SpentRate {
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

export interface RequestBudget {
  /** Resolves when a request may leave. Rejects with the signal's reason when it aborts first; then nothing is spent. */
  take(signal?: AbortSignal): Promise<void>;
  /**
   * The upstream refused a request for the rate. Nothing leaves for `durationMs`, and less than before for some minutes. After the
   * longest pause that is honoured (`RETRY_AFTER_MS_MAX`), one request at a time leaves until the upstream accepts one.
   */
  pauseFor(durationMs: number): void;
  /** The upstream answered and did not refuse for the rate. */
  noteAccepted?(): void;
}

/** The poller takes a permit first and decides then what to send with it, so that no decision is old when its request leaves. */
export interface PollerBudget extends RequestBudget {
  /** Returns the last permit, because nothing was sent with it. */
  giveBack(): void;
  /** Other processes have sent this number of requests out of the same limit. */
  charge(requestCount: number): void;
  /** Returns what was spent up to now, for the next process. */
  spending(): Spending;
  /** Continues from what the previous process has spent. When it did not hand that over, it is assumed to have spent everything. */
  takeOver(spending: Spending | undefined): void;
  /**
   * Says whether the poller sends less than its own share at present, so that what commands send does not matter to it
   * until it sends more.
   */
  isOwnShareUnused(): boolean;
  learned(): LearnedLimit;
  restore(learned: LearnedLimit): void;
}

/** This permit was taken before its request was known. */
export interface Permit {
  /**
   * Returns true the first time, and the request may leave. Afterwards it returns false, and the request must take
   * another permit.
   */
  use(): boolean;
}

export function takenPermit(): Permit {
  let isLeft = true;
  return {
    use() {
      const had = isLeft;
      isLeft = false;
      return had;
    },
  };
}

/**
 * Two requests that probe are this far apart. It is longer than the time-out of a request, so that only one is under
 * way.
 */
const PROBE_INTERVAL_MS = 15_000;

export interface RequestBudgetOptions extends SpentRateOptions {
  readonly clock: Clock;
}

export function createRequestBudget(options: RequestBudgetOptions): PollerBudget {
  const { clock } = options;
  const spent = new SpentRate(options, clock.now());
  let isProbing = false;
  let probedAtMs = Number.NEGATIVE_INFINITY;

  const tryLeave = (): number => {
    const nowMs = clock.now();
    const probeDelayMs = isProbing ? probedAtMs + PROBE_INTERVAL_MS - nowMs : 0;
    const delayMs = Math.max(spent.delayMs(nowMs), probeDelayMs);
    if (delayMs > 0) return delayMs;
    spent.spend(nowMs, 1, 1);
    probedAtMs = nowMs;
    return 0;
  };

  return {
    take: createTurns(clock, tryLeave),
    pauseFor(durationMs) {
      const nowMs = clock.now();
      spent.noteRefusal(nowMs);
      isProbing ||= durationMs >= RETRY_AFTER_MS_MAX;
      spent.pauseUntil(nowMs + Math.min(durationMs, RETRY_AFTER_MS_MAX));
    },
    noteAccepted() {
      isProbing = false;
    },
    giveBack() {
      probedAtMs = Number.NEGATIVE_INFINITY;
      spent.unspend(clock.now());
    },
    charge: (requestCount) => spent.spend(clock.now(), requestCount, 0),
    spending: () => spent.spending(),
    takeOver: (spending) => spent.takeOver(spending, clock.now()),
    isOwnShareUnused: () => spent.isOwnUnused(clock.now()),
    learned: () => ({
      share: spent.share,
      pausedUntilMs: spent.pausedUntilMs,
      ...(isProbing && { isProbing }),
    }),
    restore(learned) {
      spent.restoreShare(learned.share);
      isProbing = learned.isProbing === true;
      // A process with a clock that was ahead, or an earlier version, may have stored a pause of any length.
      spent.pauseUntil(Math.min(learned.pausedUntilMs, clock.now() + RETRY_AFTER_MS_MAX));
    },
  };
}

/**
 * The callers that ask leave in the order in which they asked. `tryLeave` spends a permit and returns 0, or returns
 * the milliseconds after which it must be asked again.
 */
function createTurns(clock: Clock, tryLeave: () => number): RequestBudget['take'] {
  let queue: Promise<void> = Promise.resolve();
  let waitingCount = 0;

  /** Calls `leave` in the same step in which the permit is spent, so that no abort comes between the two. */
  const takeInTurn = async ({ leave, cancel, listen }: Caller, signal: AbortSignal | undefined) => {
    try {
      for (;;) {
        if (signal?.aborted) return cancel();
        const delayMs = tryLeave();
        if (delayMs === 0) return leave();
        listen();
        await clock.sleep(delayMs, signal);
      }
    } finally {
      waitingCount -= 1;
    }
  };

  return (signal) => {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // An abort takes effect at once, also in the middle of the queue, because the request in front may have to wait for long.
    const cancel = () => reject(signal?.reason);
    let isListening = false;
    const listen = () => {
      isListening = true;
      signal?.addEventListener('abort', cancel, { once: true });
    };
    const leave = () => {
      if (isListening) signal?.removeEventListener('abort', cancel);
      resolve();
    };
    // The first caller in line is served, or begins to wait, in the next step. It needs no listener, which costs more than a permit.
    if (waitingCount > 0) listen();
    waitingCount += 1;
    queue = queue.then(() => takeInTurn({ leave, cancel, listen }, signal)).catch(reject);
    return promise;
  };
}

/** A caller that waits for a permit. */
interface Caller {
  readonly leave: () => void;
  readonly cancel: () => void;
  /** Makes an abort of the caller's signal cancel the wait. */
  readonly listen: () => void;
}
