/**
 * Holds the permits of one instance of the API to send requests to the upstream. The table gives permits to all
 * instances, and each decides how many to ask for and how far ahead of now they may stand.
 */

import { PERMIT_MS, USAGE_NOTE_MS } from '../../core/rates/account-rate.ts';
import type { RateLimit } from '../../core/rates/rate-limit.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AskedPermits } from '../../store/command-usage.ts';
import type { Standing } from './caller-parts.ts';
import type { UsageNotes } from './shared-use.ts';

/**
 * A caller of each standing may use this part of the room for bursts. Callers who take more leave some room to
 * others.
 */
const ROOM_SHARE: Readonly<Record<Standing, number>> = { modest: 1, alone: 0.7, pressing: 0.7, above: 0.5 };

/** The instance asks for at least this number of permits in advance, while no other instance wants any. */
const PERMITS_AHEAD = 7;

/**
 * While no other instance wants any, it asks for this many times the permits that were taken since the last answer. So
 * a caller who sends more requests a second than before is held only a few times.
 */
const GROWTH = 2;

interface Demand {
  readonly standing: Standing;
  /** This many requests are held until permits arrive. */
  readonly heldCount: number;
  /** This many requests since the last answer found no permit here. */
  readonly missedCount: number;
  /** This many permits were taken here since the last answer. */
  readonly takenCount: number;
  /** The next permit stands here in the table or at a later place, in ms since the epoch. */
  readonly nextPlaceMs: number;
}

/**
 * While no other instance wants permits, this asks for a few more than are needed now. While others do, it asks for no
 * more than is needed, and the held requests come first.
 */
function permitsToAsk(demand: Demand, limit: RateLimit, nowMs: number): AskedPermits {
  const { standing, heldCount, missedCount, takenCount, nextPlaceMs } = demand;
  const { intervalMs } = limit;
  const roomOf = (each: Standing) =>
    Math.floor((nowMs + aheadMs(limit, each) - Math.max(nowMs, nextPlaceMs)) / intervalMs) + 1;
  const spareRoom = roomOf(standing === 'modest' ? 'pressing' : standing);
  const permitsAhead = Math.max(PERMITS_AHEAD, GROWTH * takenCount);
  const common = {
    nowMs,
    intervalMs,
    quietCount: Math.max(1, Math.min(spareRoom, Math.max(missedCount, heldCount + permitsAhead))),
    latestMs: nowMs + aheadMs(limit, standing),
  };
  const perNote = Math.ceil(USAGE_NOTE_MS / intervalMs);
  if (standing === 'modest')
    return { ...common, busyCount: Math.max(1, Math.min(heldCount, perNote, roomOf('modest'))) };
  return {
    ...common,
    busyCount: nextPlaceMs < nowMs ? 0 : Math.max(1, Math.min(missedCount, spareRoom)),
  };
}

/** Returns the earliest place of the next permit that fits with the table's refusal: at an earlier place it would have agreed. */
function earliestPlaceWhenRefused({ nowMs, intervalMs, busyCount, latestMs }: AskedPermits): number {
  return busyCount === 0 ? nowMs : latestMs - (busyCount - 1) * intervalMs;
}

/** Returns how far ahead of now the place of a permit may be, in ms. */
function aheadMs({ toleranceMs }: RateLimit, standing: Standing): number {
  return toleranceMs * ROOM_SHARE[standing];
}

/** Returns when each granted permit ends, in ms since the epoch. */
function permitEnds(
  { nextAtMs, permitCount }: { readonly nextAtMs: number; readonly permitCount: number },
  { intervalMs }: AskedPermits,
): readonly number[] {
  return Array.from(
    { length: permitCount },
    (_, place) => nextAtMs - (permitCount - place) * intervalMs + PERMIT_MS,
  );
}

export type Obtained =
  /** The stock may hold a permit now, or has learned that the table is away. */
  | { readonly kind: 'look' }
  /** Asking makes sense again after this delay. */
  | { readonly kind: 'later'; readonly delayMs: number };

const LOOK: Obtained = { kind: 'look' };

/** Callers who want more than an even part ask at most this often, so that other callers' notes come in between. */
const SPARE_MS = 2 * USAGE_NOTE_MS;

/** A table that has not answered after this time counts as away. */
const ANSWER_MS_MAX = 1_000;

export interface PermitStockOptions {
  readonly clock: Clock;
  readonly limitAt: (nowMs: number) => RateLimit;
  readonly notes: Pick<UsageNotes, 'writableAtMs' | 'nextPlaceMs' | 'hasFailed' | 'note' | 'noteAndAsk'>;
}

export class PermitStock {
  readonly #options: PermitStockOptions;
  /** Each number is the end of one permit. The places that the table gives out only move on, so the first permit ends first. */
  #permits: readonly number[] = [];
  /** After a refusal, the next permit stands at this place or later. */
  #refusedPlaceMs = 0;
  #heldCount = 0;
  /** Counts the requests since the last answer that found no permit here. */
  #missedCount = 0;
  /** Counts the permits that were taken since the last answer. */
  #takenCount = 0;
  #spareAtMs = Number.NEGATIVE_INFINITY;
  #awayUntilMs = Number.NEGATIVE_INFINITY;
  #wasRefused = false;
  /** At most one question to the table is under way. */
  #round: Promise<Obtained> | undefined;

  constructor(options: PermitStockOptions) {
    this.#options = options;
  }

  /** Returns true while the table does not answer, so that nobody can have a permit. A note shows when it answers again. */
  isAway(): boolean {
    const { clock, notes } = this.#options;
    return notes.hasFailed() || clock.now() < this.#awayUntilMs;
  }

  /** Takes a permit that is here. Only modest callers may take the permits that held requests have asked for. */
  tryTake(standing: Standing): boolean {
    const nowMs = this.#options.clock.now();
    // A busy instance holds thousands of permits, so this does not look at all of them.
    const lostCount = this.#permits.findIndex((endMs) => endMs > nowMs);
    const leftCount = lostCount === -1 ? 0 : this.#permits.length - lostCount;
    if (leftCount <= (standing === 'modest' ? 0 : this.#heldCount)) return false;
    this.#permits = this.#permits.slice(lostCount + 1);
    this.#takenCount += 1;
    return true;
  }

  /**
   * Asks the table for more permits when a note is due, and holds nothing. A note without this question would put the
   * next question off for a second, while the permits that are here end.
   */
  renew(standing: Standing): void {
    const nowMs = this.#options.clock.now();
    if (this.isAway() || this.#wasRefused || this.#round !== undefined) return;
    if (this.#delayUntilAsked(standing, nowMs) > 0) return;
    void this.#startRound(standing, nowMs);
  }

  /** Asks the table for more permits. The request of a modest caller is held for them, at the latest until `untilMs`. */
  obtain(standing: Standing, untilMs: number): Promise<Obtained> {
    const nowMs = this.#options.clock.now();
    const delayMs = this.#delayUntilAsked(standing, nowMs);
    this.#missedCount += 1;
    return standing === 'modest'
      ? this.#hold(delayMs, nowMs, untilMs)
      : this.#askForMore(standing, delayMs, nowMs);
  }

  async #hold(delayMs: number, nowMs: number, untilMs: number): Promise<Obtained> {
    // A round that is under way has asked for the permits of all who were held when it began.
    if (this.#round === undefined && nowMs + delayMs > untilMs) return { kind: 'later', delayMs };
    this.#heldCount += 1;
    const obtained = await (this.#round ??
      (delayMs > 0 ? this.#waited(delayMs) : this.#startRound('modest', nowMs)));
    this.#heldCount -= 1;
    return obtained;
  }

  async #askForMore(standing: Standing, delayMs: number, nowMs: number): Promise<Obtained> {
    if (standing === 'alone' && this.#round !== undefined) return this.#round;
    if (this.#round !== undefined || this.#heldCount > 0 || delayMs > 0)
      return { kind: 'later', delayMs: Math.max(1, delayMs) };
    return this.#startRound(standing, nowMs);
  }

  /** Returns the place of the next permit in the table, or an earlier time. */
  #nextPlaceMs(): number {
    return Math.max(this.#options.notes.nextPlaceMs(), this.#refusedPlaceMs);
  }

  #delayUntilAsked(standing: Standing, nowMs: number): number {
    const writableAtMs = this.#options.notes.writableAtMs();
    const isFirst = standing === 'modest' || standing === 'alone';
    const noteAtMs = isFirst ? writableAtMs : Math.max(this.#spareAtMs, writableAtMs);
    const placeAtMs = this.#nextPlaceMs() - aheadMs(this.#options.limitAt(nowMs), standing);
    return Math.max(0, Math.ceil(Math.max(noteAtMs, placeAtMs) - nowMs));
  }

  async #waited(delayMs: number): Promise<Obtained> {
    await this.#options.clock.sleep(delayMs);
    return LOOK;
  }

  /** A round ends after `ANSWER_MS_MAX` at the latest, so that no request waits for a table that is away. */
  #startRound(standing: Standing, nowMs: number): Promise<Obtained> {
    const answered = new AbortController();
    const late = this.#options.clock.sleep(ANSWER_MS_MAX, answered.signal).then(
      () => this.#noteAway(),
      () => LOOK,
    );
    this.#spareAtMs = nowMs + SPARE_MS;
    this.#round = Promise.race([this.#askOrNote(standing, nowMs), late]).finally(() => {
      answered.abort();
      this.#round = undefined;
    });
    return this.#round;
  }

  async #askOrNote(standing: Standing, nowMs: number): Promise<Obtained> {
    const { notes } = this.#options;
    // A refused note was not counted either. It is written first, so that the other instances know of this usage.
    if (this.#wasRefused && this.#heldCount === 0) {
      this.#wasRefused = false;
      await notes.note();
      return LOOK;
    }
    const asked = permitsToAsk(
      {
        standing,
        heldCount: this.#heldCount,
        missedCount: this.#missedCount,
        takenCount: this.#takenCount,
        nextPlaceMs: this.#nextPlaceMs(),
      },
      this.#options.limitAt(nowMs),
      nowMs,
    );
    const answer = await notes.noteAndAsk(asked, Math.max(1, this.#heldCount));
    this.#missedCount = 0;
    this.#takenCount = 0;
    if (answer === undefined) return LOOK;
    this.#wasRefused = answer.permitCount === 0;
    if ('nextAtMs' in answer) {
      this.#permits = [...this.#permits, ...permitEnds(answer, asked)];
      return LOOK;
    }
    this.#refusedPlaceMs = earliestPlaceWhenRefused(asked);
    if (this.#heldCount > 0) await notes.note();
    return LOOK;
  }

  #noteAway(): Obtained {
    this.#awayUntilMs = this.#options.clock.now() + USAGE_NOTE_MS;
    return LOOK;
  }
}
