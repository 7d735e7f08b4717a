/**
 * Permits of one instance of the API to send requests to the upstream. The table gives them out to all instances, one place in the
 * minute after the other (`commandLimitOf`), and refuses when the next place is too far ahead: so all instances together send no more
 * than one of them may, however many there are and however little they know of each other.
 */

import { PERMIT_MS, USAGE_NOTE_MS } from '../../../shared/core/rates/account-rate.ts';
import type { RateLimit } from '../../../shared/core/rates/rate-limit.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { AskedPermits } from '../../../shared/store/command-usage.ts';
import type { Standing } from './caller-parts.ts';
import type { UsageNotes } from './usage-notes.ts';

export interface PermitStock {
  /** Takes one that is here. Only modest callers take those that the requests which are held have asked for. */
  tryTake(standing: Standing): boolean;
  /** Asks the table for more. A modest caller's request is held for that, until then at the latest. */
  obtain(standing: Standing, untilMs: number): Promise<Obtained>;
}

type Obtained =
  /** There may be one now. */
  | { readonly kind: 'look' }
  /** The table does not answer: each instance keeps the limit on its own. */
  | { readonly kind: 'away' }
  /** Asking makes sense after so long. */
  | { readonly kind: 'later'; readonly delayMs: number };

/** So much of the room for bursts each may use: those who take more leave some to those who take less. */
const ROOM_SHARE: Readonly<Record<Standing, number>> = { modest: 1, alone: 0.7, pressing: 0.7, above: 0.5 };

/** Between two notes that ask for callers who want more than an even part: the others come in between. */
const SPARE_MS = 2 * USAGE_NOTE_MS;

/** Permits that are asked for along with one while nobody else wants any. */
const PERMITS_AHEAD = 7;

/** A table that does not answer for so long is taken to be away. */
const ANSWER_MS_MAX = 1_000;

export function createPermitStock(options: {
  readonly clock: Clock;
  readonly limitAt: (nowMs: number) => RateLimit;
  readonly notes: Pick<UsageNotes, 'writableAtMs' | 'nextPlaceMs' | 'note' | 'noteAndAsk'>;
}): PermitStock {
  const { clock, limitAt, notes } = options;
  /** When each of those that are here ends. */
  let permits: readonly number[] = [];
  /** The table has refused: the next one stands here, or later. */
  let refusedPlaceMs = 0;
  let heldCount = 0;
  /** Requests since the last answer for which no permit was here. */
  let missedCount = 0;
  let spareAtMs = Number.NEGATIVE_INFINITY;
  let awayUntilMs = Number.NEGATIVE_INFINITY;
  let wasRefused = false;
  let round: Promise<Obtained> | undefined;

  return {
    tryTake(standing) {
      const nowMs = clock.now();
      if (nowMs < awayUntilMs) return true;
      permits = permits.filter((endMs) => endMs > nowMs);
      if (permits.length <= (standing === 'modest' ? 0 : heldCount)) return false;
      permits = permits.slice(1);
      return true;
    },
    async obtain(standing, untilMs) {
      const nowMs = clock.now();
      const delayMs = delayUntilAsked(standing, nowMs);
      missedCount += 1;
      if (standing === 'modest') {
        if (nowMs + delayMs > untilMs) return { kind: 'later', delayMs };
        heldCount += 1;
        const obtained = await (round ?? (delayMs > 0 ? waited(delayMs) : startRound(standing, nowMs)));
        heldCount -= 1;
        return obtained;
      }
      if (standing === 'alone' && round !== undefined) return round;
      if (round !== undefined || heldCount > 0 || delayMs > 0)
        return { kind: 'later', delayMs: Math.max(1, delayMs) };
      return startRound(standing, nowMs);
    },
  };

  /** Where the next one stands in the table, or an earlier time. */
  function nextPlaceMs(): number {
    return Math.max(notes.nextPlaceMs(), refusedPlaceMs);
  }

  function delayUntilAsked(standing: Standing, nowMs: number): number {
    const isFirst = standing === 'modest' || standing === 'alone';
    const noteAtMs = isFirst ? notes.writableAtMs() : Math.max(spareAtMs, notes.writableAtMs());
    const placeAtMs = nextPlaceMs() - aheadMs(limitAt(nowMs), standing);
    return Math.max(0, Math.ceil(Math.max(noteAtMs, placeAtMs) - nowMs));
  }

  async function waited(delayMs: number): Promise<Obtained> {
    await clock.sleep(delayMs);
    return LOOK;
  }

  /** One at a time, and nobody waits for a table that is away. */
  function startRound(standing: Standing, nowMs: number): Promise<Obtained> {
    const answered = new AbortController();
    const late = clock.sleep(ANSWER_MS_MAX, answered.signal).then(noteAway, () => LOOK);
    spareAtMs = nowMs + SPARE_MS;
    round = Promise.race([askOrNote(standing, nowMs), late]).finally(() => {
      answered.abort();
      round = undefined;
    });
    return round;
  }

  async function askOrNote(standing: Standing, nowMs: number): Promise<Obtained> {
    // Where there were no permits, nothing was noted either: what the others do not know comes first.
    if (wasRefused && heldCount === 0) {
      wasRefused = false;
      await notes.note();
      return LOOK;
    }
    const asked = permitsToAsk(
      { standing, heldCount, missedCount, nextPlaceMs: nextPlaceMs() },
      limitAt(nowMs),
      nowMs,
    );
    const answer = await notes.noteAndAsk(asked, Math.max(1, heldCount));
    missedCount = 0;
    if (answer === undefined) return noteAway();
    wasRefused = answer.permitCount === 0;
    if ('nextAtMs' in answer) {
      permits = [...permits, ...endsOf(answer, asked)];
      return LOOK;
    }
    refusedPlaceMs = earliestPlaceWhenRefused(asked);
    if (heldCount > 0) await notes.note();
    return LOOK;
  }

  function noteAway(): Obtained {
    awayUntilMs = clock.now() + USAGE_NOTE_MS;
    return { kind: 'away' };
  }
}

const LOOK: Obtained = { kind: 'look' };

interface Demand {
  readonly standing: Standing;
  readonly heldCount: number;
  readonly missedCount: number;
  readonly nextPlaceMs: number;
}

/** While nobody else wants permits, some more than are wanted now; while others do, no more, and those who are held come first. */
function permitsToAsk(demand: Demand, limit: RateLimit, nowMs: number): AskedPermits {
  const { standing, heldCount, missedCount, nextPlaceMs } = demand;
  const { intervalMs } = limit;
  const roomOf = (each: Standing) =>
    Math.floor((nowMs + aheadMs(limit, each) - Math.max(nowMs, nextPlaceMs)) / intervalMs) + 1;
  const spareRoom = roomOf(standing === 'modest' ? 'pressing' : standing);
  const common = {
    nowMs,
    intervalMs,
    quietCount: Math.max(1, Math.min(spareRoom, Math.max(missedCount, heldCount + PERMITS_AHEAD))),
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

/** The table would have had permits otherwise. */
function earliestPlaceWhenRefused({ nowMs, intervalMs, busyCount, latestMs }: AskedPermits): number {
  return busyCount === 0 ? nowMs : latestMs - (busyCount - 1) * intervalMs;
}

/** How far ahead of now the place of a permit may be. */
function aheadMs({ toleranceMs }: RateLimit, standing: Standing): number {
  return toleranceMs * ROOM_SHARE[standing];
}

function endsOf(
  { nextAtMs, permitCount }: { readonly nextAtMs: number; readonly permitCount: number },
  { intervalMs }: AskedPermits,
): readonly number[] {
  return Array.from(
    { length: permitCount },
    (_, place) => nextAtMs - (permitCount - place) * intervalMs + PERMIT_MS,
  );
}
