/**
 * Holds the permits of one instance of the API to send requests to the upstream. The table gives permits to all
 * instances, one place in the minute after another (`commandLimitOf`), and refuses when the next place is too far
 * ahead. So all instances together send no more than a single one may, whatever their number.
 */

import { USAGE_NOTE_MS } from '../../core/rates/account-rate.ts';
import type { RateLimit } from '../../core/rates/rate-limit.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Standing } from './caller-parts.ts';
import { aheadMs, earliestPlaceWhenRefused, permitEnds, permitsToAsk } from './permit-demand.ts';
import type { UsageNotes } from './usage-notes.ts';

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
