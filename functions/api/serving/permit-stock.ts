/**
 * Permits of one instance of the API to send requests to the upstream. The table gives them out, to all instances, one place in the
 * minute after the other (`commandLimitOf`), and refuses when the next place is too far ahead: so all instances together send no more
 * than one of them may, however many there are and however little they know of each other. At most one write a second asks for
 * permits, says what has left, and brings back what others have sent.
 */

import { PERMIT_MS, USAGE_NOTE_MS } from '../../../shared/core/rates/account-rate.ts';
import type { RateLimit } from '../../../shared/core/rates/rate-limit.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { AskedPermits, CommandUsage, GrantedPermits, UsageSums } from '../../../shared/store/command-usage.ts';
import { WINDOW_MS } from './shared-use.ts';

/**
 * Of a caller: has taken less than an even part and asks for little more; has taken less and asks for a lot; has taken more. The table
 * is asked for permits so much later for each that those before it find room.
 */
export type Standing = 'modest' | 'pressing' | 'above';

export interface PermitStock {
  /** Takes one that is here; those above an even part leave one for each request that is held. */
  tryTake(standing: Standing): boolean;
  /**
   * Asks the table for more. Requests below an even part are held for it until then at the latest. Resolves with how long it is until
   * asking makes sense, milliseconds; 0: take one now, or ask again.
   */
  obtain(standing: Standing, untilMs: number): Promise<number>;
  /** One more of this caller, to be noted. */
  count(name: string): void;
  /** One request has left. */
  countSent(): void;
  noteSoon(): void;
  settled(): Promise<void>;
}

/** Of one note, so that its write stays small; whoever is left over goes along with the next. */
const NOTED_CALLERS_MAX = 50;

/** So much of the room for bursts each may use. */
const ROOM_SHARE: Readonly<Record<Standing, number>> = { modest: 1, pressing: 0.6, above: 0.3 };

/** Between two times that an instance asks for those who take more: every second moment is free for the others. */
const SPARE_MS = 2 * USAGE_NOTE_MS;

/** Permits that are asked for along with one while nobody else wants any. */
const PERMITS_AHEAD = 7;

/** A table that does not answer for so long is taken to be away. */
const ANSWER_MS_MAX = 1_000;

export function createPermitStock(options: {
  readonly clock: Clock;
  readonly limitAt: (nowMs: number) => RateLimit;
  readonly usage: CommandUsage;
  readonly telemetry: Pick<Telemetry, 'log'>;
  readonly learn: (sums: UsageSums, added: ReadonlyMap<string, number>) => void;
}): PermitStock {
  const { clock, limitAt, usage, telemetry, learn } = options;
  /** When each of those that are here ends. */
  let permits: readonly number[] = [];
  /** Where the next one stands in the table, as far as it is known. */
  let nextAtMs = 0;
  let heldCount = 0;
  /** Requests since the last note for which no permit was here. */
  let missedCount = 0;
  let awayUntilMs = Number.NEGATIVE_INFINITY;
  let unsentRequestCount = 0;
  let unnoted = new Map<string, number>();
  let notableAtMs = Number.NEGATIVE_INFINITY;
  let spareAtMs = Number.NEGATIVE_INFINITY;
  let wasRefused = false;
  let round: Promise<void> | undefined;
  const underWay = new Set<Promise<void>>();

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
      missedCount += 1;
      const delayMs = delayUntilAsked(standing, nowMs);
      if (standing !== 'modest') {
        if (round === undefined && delayMs === 0) await startRound(nowMs, standing);
        else return Math.max(1, delayMs);
      } else {
        if (nowMs + delayMs > untilMs) return delayMs;
        heldCount += 1;
        await (round ?? (delayMs > 0 ? clock.sleep(delayMs) : startRound(nowMs, standing)));
        heldCount -= 1;
      }
      return 0;
    },
    count(name) {
      unnoted.set(name, (unnoted.get(name) ?? 0) + 1);
    },
    countSent() {
      unsentRequestCount += 1;
    },
    noteSoon() {
      if (clock.now() >= notableAtMs) void note(undefined);
    },
    async settled() {
      await Promise.all(underWay);
    },
  };

  function delayUntilAsked(standing: Standing, nowMs: number): number {
    const limit = limitAt(nowMs);
    const askableAtMs = standing === 'modest' ? notableAtMs : Math.max(spareAtMs, notableAtMs);
    return Math.max(0, Math.ceil(Math.max(askableAtMs, nextAtMs - aheadMs(limit, standing)) - nowMs));
  }

  /** While somebody waits for the answer: no longer than it is worth. */
  function startRound(nowMs: number, standing: Standing): Promise<void> {
    const answered = new AbortController();
    const late = clock.sleep(ANSWER_MS_MAX, answered.signal).then(
      () => void (awayUntilMs = clock.now() + USAGE_NOTE_MS),
      () => {},
    );
    spareAtMs = nowMs + SPARE_MS;
    const mustNote = wasRefused && heldCount === 0 && unnoted.size > 0;
    const noted = note(mustNote ? undefined : askedAt(nowMs, standing));
    round = Promise.race([noted, late]).finally(() => {
      answered.abort();
      round = undefined;
    });
    return round;
  }

  function askedAt(nowMs: number, standing: Standing): AskedPermits {
    const limit = limitAt(nowMs);
    const spareCount = roomFor(standing === 'modest' ? 'pressing' : standing, limit, nowMs);
    const isHeld = heldCount > 0;
    const wanted = Math.min(spareCount, Math.max(missedCount, heldCount + PERMITS_AHEAD));
    return {
      nowMs,
      intervalMs: limit.intervalMs,
      quietCount: Math.max(1, wanted),
      busyCount: isHeld
        ? Math.max(1, Math.min(heldCount, roomFor('modest', limit, nowMs)))
        : Math.max(1, Math.min(missedCount, spareCount)),
      latestMs: nowMs + aheadMs(limit, isHeld ? 'modest' : standing),
    };
  }

  /** Places that are not too far ahead. */
  function roomFor(standing: Standing, limit: RateLimit, nowMs: number): number {
    const roomMs = nowMs + aheadMs(limit, standing) - Math.max(nowMs, nextAtMs);
    return Math.max(0, Math.floor(roomMs / limit.intervalMs) + 1);
  }

  function note(asked: AskedPermits | undefined): Promise<void> {
    const noted: Promise<void> = noteNow(asked).finally(() => underWay.delete(noted));
    underWay.add(noted);
    return noted;
  }

  async function noteNow(asked: AskedPermits | undefined): Promise<void> {
    const requestCount = unsentRequestCount;
    const entries = [...unnoted];
    const members = new Map(entries.slice(0, NOTED_CALLERS_MAX));
    unsentRequestCount = 0;
    unnoted = new Map(entries.slice(NOTED_CALLERS_MAX));
    missedCount = 0;
    notableAtMs = clock.now() + USAGE_NOTE_MS;
    const keep = () => {
      unsentRequestCount += requestCount;
      for (const [name, by] of members) unnoted.set(name, (unnoted.get(name) ?? 0) + by);
    };
    try {
      const window = Math.floor(clock.now() / WINDOW_MS);
      const noted = { requestCount, members, window };
      const sums = await (asked === undefined ? usage.note(noted) : usage.noteAndAsk(noted, asked));
      notableAtMs += (sums.writeCount - 1) * USAGE_NOTE_MS;
      wasRefused = !('members' in sums);
      if (!('members' in sums)) {
        keep();
        nextAtMs = Math.max(nextAtMs, (asked?.latestMs ?? 0) + 1);
        return;
      }
      nextAtMs = sums.nextAtMs;
      if ('permitCount' in sums) permits = [...permits, ...endsOf(sums, asked)];
      learn(sums, members);
    } catch (error) {
      keep();
      awayUntilMs = clock.now() + USAGE_NOTE_MS;
      telemetry.log('warn', 'usage.not_noted', { reason: toError(error).name });
    }
  }
}

/** How far ahead of now the place of a permit may be. */
function aheadMs({ toleranceMs }: RateLimit, standing: Standing): number {
  return toleranceMs * ROOM_SHARE[standing];
}

function endsOf({ nextAtMs, permitCount }: GrantedPermits, asked: AskedPermits | undefined): readonly number[] {
  const intervalMs = asked?.intervalMs ?? 0;
  return Array.from(
    { length: permitCount },
    (_, place) => nextAtMs - (permitCount - place) * intervalMs + PERMIT_MS,
  );
}
