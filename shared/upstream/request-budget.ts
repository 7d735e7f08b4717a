/**
 * Queues the poller's requests for its share of the account's rate limit. Requests leave in order, each when the
 * limit allows it by what this process and all others have spent.
 */

import {
  afterRefusal,
  FULL_SHARE,
  forgive,
  type LearnedLimit,
  type RateLimit,
  type RateLimitState,
  type RateShare,
  rateLimitOf,
  shareAt,
  shareOf,
  spend,
  startEmpty,
  UNUSED,
  unspend,
  waitMs,
} from '../rates/account-rate.ts';
import { RETRY_AFTER_MS_MAX } from '../rates/retry-decision.ts';
import { MINUTE_MS } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import type { LeaseSpending } from '../store/bridge-store.ts';

interface SpentRateOptions {
  readonly requestsPerMinute: number;
  readonly burst: number;
  /** This is set when an earlier process may have sent until now. There is no burst then until one was saved up. */
  readonly startsEmpty?: boolean | undefined;
}

interface ChangedRate {
  readonly requestsPerMinute: number;
  readonly burst: number;
  /** No more than this leaves in any minute. It is more than the rate while the rate falls. */
  readonly most: number;
  /** Nobody has said yet what earlier processes held. The next limit does. */
  readonly isGuess?: boolean | undefined;
}

interface SentInMinute {
  /** This process has sent so many. */
  readonly count: number;
  /** This process and those before it have sent at most so many. */
  readonly countMax: number;
}

/** What was sent is counted by the second, and a second counts until its last moment is a minute ago. */
const SECOND_MS = 1_000;
const COUNTED_MS = MINUTE_MS + SECOND_MS;

/**
 * Is a token bucket whose limit may change. A process never owes more than a used-up minute. Every method takes our
 * clock's time.
 */
class SpentRate {
  #limit: RateLimit;
  /** No more than this is sent in any minute, also while the limit falls. */
  #most = Number.POSITIVE_INFINITY;
  #knowsEarlier = false;
  #share: RateShare = FULL_SHARE;
  #state: RateLimitState;
  /** The process knows since then what was sent. In the minute before, at most so many requests left, evenly. */
  #knownSinceMs: number;
  #unknownCount: number;
  #seconds: readonly { readonly atMs: number; readonly count: number }[] = [];

  constructor({ requestsPerMinute, burst, startsEmpty }: SpentRateOptions, nowMs: number) {
    this.#limit = rateLimitOf(requestsPerMinute, burst);
    this.#state = startsEmpty === true ? startEmpty(this.#limit, nowMs) : UNUSED;
    this.#unknownCount = requestsPerMinute;
    this.#knownSinceMs = startsEmpty === true ? nowMs : Number.NEGATIVE_INFINITY;
  }

  get pausedUntilMs(): number {
    return this.#state.pausedUntilMs;
  }

  get share(): RateShare {
    return this.#share;
  }

  limitTo({ requestsPerMinute, burst, most, isGuess = false }: ChangedRate, nowMs: number): void {
    if (!this.#knowsEarlier) this.#unknownCount = most;
    this.#knowsEarlier ||= !isGuess;
    this.#most = most;
    this.#limit = rateLimitOf(requestsPerMinute, burst);
    this.#state = forgive(this.#limit, this.#state, nowMs);
  }

  sent(nowMs: number): SentInMinute {
    this.#seconds = this.#seconds.filter(({ atMs }) => nowMs - atMs < COUNTED_MS);
    const count = this.#seconds.reduce((sum, second) => sum + second.count, 0);
    const unknownShare = Math.max(0, 1 - (nowMs - this.#knownSinceMs) / MINUTE_MS);
    return { count, countMax: count + Math.ceil(unknownShare * this.#unknownCount) };
  }

  /** Returns the milliseconds until the next request may leave, and 0 when it may leave now. */
  delayMs(nowMs: number): number {
    const delayMs = waitMs(this.#usable(nowMs), this.#state, nowMs);
    if (this.#most === Number.POSITIVE_INFINITY || this.sent(nowMs).countMax < this.#most) return delayMs;
    return Math.max(delayMs, SECOND_MS);
  }

  spend(nowMs: number): void {
    const limit = this.#usable(nowMs);
    this.#state = forgive(limit, spend(limit, this.#state, nowMs), nowMs);
    const last = this.#seconds.at(-1);
    const isSame = last !== undefined && nowMs - last.atMs < SECOND_MS;
    const second = isSame ? { ...last, count: last.count + 1 } : { atMs: nowMs, count: 1 };
    this.#seconds = [...(isSame ? this.#seconds.slice(0, -1) : this.#seconds), second];
  }

  /** Gives back the permit of this process's last request, which was not sent after all. */
  unspend(nowMs: number): void {
    this.#state = unspend(this.#usable(nowMs), this.#state);
    const last = this.#seconds.at(-1);
    if (last !== undefined)
      this.#seconds = [...this.#seconds.slice(0, -1), { ...last, count: last.count - 1 }];
  }

  pauseUntil(atMs: number): void {
    this.#state = { ...this.#state, pausedUntilMs: Math.max(this.#state.pausedUntilMs, atMs) };
  }

  noteRefusal(nowMs: number): void {
    this.#share = afterRefusal(this.#share, nowMs);
  }

  restoreShare(share: RateShare): void {
    this.#share = share;
  }

  spending(nowMs: number): LeaseSpending {
    return { next_at_ms: this.#state.nextAtMs, ended_at_ms: nowMs };
  }

  /**
   * When the previous process did not hand over what it has spent, it is assumed to have spent everything. What it has
   * handed over counts from now, as if it had just ended, because its clock may be behind this one.
   */
  takeOver(spending: LeaseSpending | undefined, nowMs: number): void {
    const { next_at_ms, ended_at_ms = nowMs } = spending ?? {};
    // This process was the previous one when it left the limit as it finds it.
    if (next_at_ms !== this.#state.nextAtMs) {
      [this.#knownSinceMs, this.#knowsEarlier, this.#most] = [nowMs, false, Number.POSITIVE_INFINITY];
      const empty = startEmpty(this.#limit, nowMs);
      const nextAtMs = next_at_ms === undefined ? empty.nextAtMs : nowMs + next_at_ms - ended_at_ms;
      this.#state = { ...this.#state, nextAtMs };
    }
    this.#state = forgive(this.#limit, this.#state, nowMs);
  }

  /** Returns the limit as far as refusals have not lowered it. */
  #usable(nowMs: number): RateLimit {
    return shareOf(this.#limit, shareAt(this.#share, nowMs));
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
  /** Changes the limit, from now on. */
  limitTo(rate: ChangedRate): void;
  /** Returns what was sent in the last minute. */
  sent(): SentInMinute;
  /** Returns true when requests had to wait for the limit since the last call. */
  wasShort(): boolean;
  /** Returns what was spent up to now, for the next process. */
  spending(): LeaseSpending;
  /** Continues from what the previous process has spent. When it did not hand that over, it is assumed to have spent everything. */
  takeOver(spending: LeaseSpending | undefined): void;
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

  let wasShort = false;
  const tryLeave = (): number => {
    const nowMs = clock.now();
    const probeDelayMs = isProbing ? probedAtMs + PROBE_INTERVAL_MS - nowMs : 0;
    const delayMs = Math.max(spent.delayMs(nowMs), probeDelayMs);
    wasShort ||= delayMs > 0 && nowMs >= spent.pausedUntilMs;
    if (delayMs > 0) return delayMs;
    spent.spend(nowMs);
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
    limitTo: (rate) => spent.limitTo(rate, clock.now()),
    sent: () => spent.sent(clock.now()),
    wasShort() {
      const was = wasShort;
      wasShort = false;
      return was;
    },
    spending: () => spent.spending(clock.now()),
    takeOver: (spending) => spent.takeOver(spending, clock.now()),
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
