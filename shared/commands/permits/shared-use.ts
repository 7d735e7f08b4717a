/**
 * Computes what one process knows of a rate limit that several processes spend, and exchanges usage between the
 * instances of the API through the table, with at most one write a second.
 */

import { USAGE_NOTE_MS } from '../../core/rates/account-rate.ts';
import { type RateLimit, type RateLimitState, spend, UNUSED, waitMs } from '../../core/rates/rate-limit.ts';
import type { Clock } from '../../runtime/clock.ts';
import { toError } from '../../runtime/errors.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type {
  AskedPermits,
  CommandUsage,
  GrantedPermits,
  NewUsage,
  NoPermits,
  UsageSums,
} from '../../store/command-usage.ts';

/** Counts start over with each window, so that they stay few and small. */
const WINDOW_MS = 60_000;

const MINUTE_MS = 60_000;

/** What the others sent last says nothing about what they send after this time. */
const FORESIGHT_MS = 2_000;

/** Two counts that are closer together than this say little about a rate, because chance decides between them. */
const RATE_MS_MIN = 500;

/**
 * At most this many own requests are remembered with their times. More come together only while the counts cannot be
 * read, and then the oldest are merged into one state.
 */
const REMEMBERED_SENDS_MAX = 100;

/** A sent request counts less and less towards the recent rate. After this time it counts about a third. */
const RECENT_MS = 20_000;

interface SharedUse {
  readonly state: RateLimitState;
  /** This was the state when the counts were last learned. `sentAtMs` has what was sent here since then. */
  readonly base: RateLimitState;
  readonly sentAtMs: readonly number[];
  /** `notedCount` and `otherCount` are about this window. */
  readonly window: number;
  /** This many requests were sent here and are in the counts. */
  readonly notedCount: number;
  /** Others are known to have sent this many requests. */
  readonly otherCount: number;
  readonly learnedAtMs: number;
  readonly othersPerMs: number;
  /** This fading count of what all processes have sent was true at `recentAtMs`. */
  readonly recentCount: number;
  readonly recentAtMs: number;
}

const NEVER_USED: SharedUse = {
  state: UNUSED,
  base: UNUSED,
  sentAtMs: [],
  window: 0,
  notedCount: 0,
  otherCount: 0,
  learnedAtMs: Number.NEGATIVE_INFINITY,
  othersPerMs: 0,
  recentCount: 0,
  recentAtMs: 0,
};

/**
 * Returns how long the next request has to wait, in ms, after `leavingCount` requests that are about to leave; 0 when
 * it may leave now.
 */
function sharedWaitMs(limit: RateLimit, use: SharedUse, nowMs: number, leavingCount = 0): number {
  const assumed = leavingCount + assumedCount(use, nowMs);
  return waitMs(limit, assumed > 0 ? spend(limit, use.state, nowMs, assumed) : use.state, nowMs);
}

/** Returns the use after one request has left here. */
function spentHere(limit: RateLimit, use: SharedUse, nowMs: number): SharedUse {
  const state = spend(limit, use.state, nowMs);
  const isMuch = use.sentAtMs.length >= REMEMBERED_SENDS_MAX;
  const since = isMuch ? { base: state, sentAtMs: [] } : { sentAtMs: [...use.sentAtMs, nowMs] };
  return { ...recently(use, nowMs, 1), state, ...since };
}

interface Learned {
  readonly window: number;
  /** The sum has what all processes have counted in the window, this one included. */
  readonly sum: number;
  /** This process has just added this part of the sum. */
  readonly addedCount: number;
}

function learned(
  limit: RateLimit,
  use: SharedUse,
  { window, sum, addedCount }: Learned,
  nowMs: number,
): SharedUse {
  const isSameWindow = use.window === window;
  const notedCount = (isSameWindow ? use.notedCount : 0) + addedCount;
  const otherCount = Math.max(0, sum - notedCount);
  const windowAtMs = window * WINDOW_MS;
  const isStranger = use.learnedAtMs < windowAtMs - WINDOW_MS;
  const newCount = Math.max(0, otherCount - (isSameWindow ? use.otherCount : 0));
  const known = { ...use, window, notedCount, otherCount, learnedAtMs: nowMs };
  if (isStranger) {
    // It is not known when in the window the others sent, so they are taken to have sent as evenly as the limit
    // allows.
    const nextAtMs = Math.max(use.state.nextAtMs, windowAtMs + sum * limit.intervalMs);
    return settledAs({ ...use.state, nextAtMs }, { ...recently(known, nowMs, otherCount), othersPerMs: 0 });
  }
  return settledAs(replayed(limit, use, newCount), {
    ...recently(known, nowMs, newCount),
    // A burst can exceed the limit for a moment, but the others cannot keep up such a rate.
    othersPerMs: Math.min(1 / limit.intervalMs, newCount / Math.max(RATE_MS_MIN, nowMs - use.learnedAtMs)),
  });
}

/**
 * Computes the state anew, with what the others sent since the last look before what was sent here. So requests that
 * the others did not use in between still count as free.
 */
function replayed(limit: RateLimit, use: SharedUse, otherCount: number): RateLimitState {
  if (otherCount === 0) return use.state;
  const byOthers = spend(limit, use.base, use.learnedAtMs, otherCount);
  const all = use.sentAtMs.reduce((state, atMs) => spend(limit, state, atMs), byOthers);
  return { ...all, pausedUntilMs: use.state.pausedUntilMs };
}

function settledAs(state: RateLimitState, use: SharedUse): SharedUse {
  return { ...use, state, base: state, sentAtMs: [] };
}

/** Returns how many requests all processes send in a minute, at the pace of the last seconds. */
export function recentPerMinute(use: SharedUse, nowMs: number): number {
  return ((recentCount(use, nowMs) + assumedCount(use, nowMs)) * MINUTE_MS) / RECENT_MS;
}

function recentCount({ recentCount: count, recentAtMs }: SharedUse, nowMs: number): number {
  return count * Math.exp(-Math.max(0, nowMs - recentAtMs) / RECENT_MS);
}

/** Returns how many requests the others have sent since the counts were learned, if they go on as they did. */
function assumedCount({ othersPerMs, learnedAtMs }: SharedUse, nowMs: number): number {
  const sinceMs = Math.max(0, nowMs - learnedAtMs);
  return sinceMs > FORESIGHT_MS ? 0 : othersPerMs * sinceMs;
}

function recently(use: SharedUse, nowMs: number, newCount: number): SharedUse {
  return {
    ...use,
    recentCount: recentCount(use, nowMs) + newCount,
    recentAtMs: nowMs,
  };
}

export interface SharedUses {
  /** Returns how long the next request has to wait, in ms, after `leavingCount` requests that are about to leave. */
  waitMs(limit: RateLimit, name: string, nowMs: number, leavingCount?: number): number;
  spend(limit: RateLimit, name: string, nowMs: number): void;
  learn(limit: RateLimit, name: string, news: Learned, nowMs: number): void;
  values(): readonly SharedUse[];
}

/** The use of at most this many callers is remembered. A caller that was forgotten starts with a full bucket. */
export const CALLERS_MAX = 1_000;

/**
 * `owedMsMax` bounds how far ahead of the limit a caller can be: after this time of asking for nothing, the caller
 * owes nothing.
 */
export function createSharedUses(owedMsMax = Number.POSITIVE_INFINITY): SharedUses {
  /** The names that were unused for longest come first. */
  const uses = new Map<string, SharedUse>();

  return {
    waitMs(limit, name, nowMs, leavingCount = 0) {
      return sharedWaitMs(limit, uses.get(name) ?? NEVER_USED, nowMs, leavingCount);
    },
    spend(limit, name, nowMs) {
      const use = spentHere(limit, uses.get(name) ?? NEVER_USED, nowMs);
      uses.delete(name);
      uses.set(name, owingAtMost(owedMsMax, use, nowMs));
      const [oldest] = uses.keys();
      if (uses.size > CALLERS_MAX && oldest !== undefined) uses.delete(oldest);
    },
    learn(limit, name, news, nowMs) {
      const use = uses.get(name);
      if (use === undefined) return;
      uses.set(name, owingAtMost(owedMsMax, learned(limit, use, news, nowMs), nowMs));
    },
    values: () => [...uses.values()],
  };
}

function owingAtMost(owedMsMax: number, use: SharedUse, nowMs: number): SharedUse {
  if (owedMsMax === Number.POSITIVE_INFINITY) return use;
  const bounded = (state: RateLimitState): RateLimitState => ({
    ...state,
    nextAtMs: Math.min(state.nextAtMs, nowMs + owedMsMax),
  });
  return { ...use, state: bounded(use.state), base: bounded(use.base) };
}

/** This bounds the size of one note's write. The names beyond it go into the next note. */
const NOTED_NAMES_MAX = 50;

class UnnotedUsage {
  #sentCount = 0;
  /** Counts the requests that were noted before they were sent. */
  #notedAheadCount = 0;
  #counts = new Map<string, number>();

  /** Adds to the count under a name. Adding 0 makes the next note ask what the others have counted under it. */
  count(name: string, by: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  countSent(): void {
    if (this.#notedAheadCount > 0) this.#notedAheadCount -= 1;
    else this.#sentCount += 1;
  }

  /** The last note has counted requests that will be sent soon, so they must not count again. */
  countNotedAhead(requestCount: number): void {
    this.#notedAheadCount += requestCount;
  }

  /** Removes and returns what the next note will count. */
  take(nowMs: number): NewUsage {
    const entries = [...this.#counts];
    const members = new Map(entries.slice(0, NOTED_NAMES_MAX));
    const requestCount = this.#sentCount;
    this.#sentCount = 0;
    this.#counts = new Map(entries.slice(NOTED_NAMES_MAX));
    return { requestCount, members, window: Math.floor(nowMs / WINDOW_MS) };
  }

  /** Takes back what a failed note did not count. */
  putBack({ requestCount, members }: NewUsage): void {
    this.#sentCount += requestCount;
    for (const [name, by] of members) this.count(name, by);
  }
}

export interface UsageNotesOptions {
  readonly clock: Clock;
  readonly usage: CommandUsage;
  readonly telemetry: Telemetry;
  /** Is called with the sums that a note returns, and with what the note itself has added to them. */
  readonly learn: (sums: UsageSums, added: ReadonlyMap<string, number>) => void;
}

export class UsageNotes {
  readonly #options: UsageNotesOptions;
  readonly #unnoted = new UnnotedUsage();
  readonly #underWay = new Set<Promise<unknown>>();
  #writableAtMs = Number.NEGATIVE_INFINITY;
  #nextPlaceMs = 0;
  #hasFailed = false;

  constructor(options: UsageNotesOptions) {
    this.#options = options;
  }

  /** Counts 1 more request under this name. Counting 0 only asks what the others have counted under it. */
  count(name: string, by: 0 | 1): void {
    this.#unnoted.count(name, by);
  }

  /** Counts one request that has left this instance. */
  countSent(): void {
    this.#unnoted.countSent();
  }

  /** Returns true when the table has not taken the last note, so that the other instances know nothing of what is done here. */
  hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Returns when the next note may be written. */
  writableAtMs(): number {
    return this.#writableAtMs;
  }

  /** Returns the place of the next permit that the table's last answer gave, in ms since the epoch. */
  nextPlaceMs(): number {
    return this.#nextPlaceMs;
  }

  /** Starts a note if one may be written now, and does not wait for its end. */
  noteSoon(): void {
    if (this.#options.clock.now() >= this.#writableAtMs) void this.note();
  }

  async note(): Promise<void> {
    await this.#write((noted) => this.#options.usage.note(noted));
  }

  /**
   * Notes usage and asks for permits in one write. The waiting requests are noted as if they had left. Resolves to
   * undefined when the table did not answer.
   */
  async noteAndAsk(
    asked: AskedPermits,
    waitingCount: number,
  ): Promise<GrantedPermits | NoPermits | undefined> {
    const answer = await this.#write((noted) => {
      const requestCount = noted.requestCount + waitingCount;
      return this.#options.usage.noteAndAsk({ ...noted, requestCount }, asked);
    });
    if (answer !== undefined && answer.permitCount > 0) this.#unnoted.countNotedAhead(waitingCount);
    return answer;
  }

  /** Resolves when no note is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #write<T extends UsageSums | NoPermits>(send: (noted: NewUsage) => Promise<T>): Promise<T | undefined> {
    const written: Promise<T | undefined> = this.#writeNow(send).finally(() =>
      this.#underWay.delete(written),
    );
    this.#underWay.add(written);
    return written;
  }

  async #writeNow<T extends UsageSums | NoPermits>(
    send: (noted: NewUsage) => Promise<T>,
  ): Promise<T | undefined> {
    const { clock, telemetry } = this.#options;
    const noted = this.#unnoted.take(clock.now());
    this.#writableAtMs = Math.max(this.#writableAtMs, clock.now()) + USAGE_NOTE_MS;
    try {
      const answer = await send(noted);
      this.#hasFailed = false;
      this.#writableAtMs += (answer.writeCount - 1) * USAGE_NOTE_MS;
      this.#learnFrom(answer, noted);
      return answer;
    } catch (error) {
      this.#hasFailed = true;
      this.#unnoted.putBack(noted);
      telemetry.log('warn', 'usage.not_noted', { reason: toError(error).name });
      return undefined;
    }
  }

  /** When the table refuses permits, it has counted nothing either. */
  #learnFrom(answer: UsageSums | NoPermits, noted: NewUsage): void {
    if ('members' in answer) {
      this.#nextPlaceMs = answer.nextAtMs;
      this.#options.learn(answer, noted.members);
    } else this.#unnoted.putBack(noted);
  }
}
