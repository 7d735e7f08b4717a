/**
 * Decides how many permits an instance of the API asks the table for, and how far ahead of now they may stand. It is
 * pure.
 */

import { PERMIT_MS, USAGE_NOTE_MS } from '../../core/rates/account-rate.ts';
import type { RateLimit } from '../../core/rates/rate-limit.ts';
import type { AskedPermits } from '../../store/command-usage.ts';
import type { Standing } from './caller-parts.ts';

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

export interface Demand {
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
export function permitsToAsk(demand: Demand, limit: RateLimit, nowMs: number): AskedPermits {
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
export function earliestPlaceWhenRefused({ nowMs, intervalMs, busyCount, latestMs }: AskedPermits): number {
  return busyCount === 0 ? nowMs : latestMs - (busyCount - 1) * intervalMs;
}

/** Returns how far ahead of now the place of a permit may be, in ms. */
export function aheadMs({ toleranceMs }: RateLimit, standing: Standing): number {
  return toleranceMs * ROOM_SHARE[standing];
}

/** Returns when each granted permit ends, in ms since the epoch. */
export function permitEnds(
  { nextAtMs, permitCount }: { readonly nextAtMs: number; readonly permitCount: number },
  { intervalMs }: AskedPermits,
): readonly number[] {
  return Array.from(
    { length: permitCount },
    (_, place) => nextAtMs - (permitCount - place) * intervalMs + PERMIT_MS,
  );
}
