/**
 * Orders the projects that are to be read before their turn by weight. Each kind of urgency has a bounded share of
 * the permits: in any sequence of w permits a kind gets at most its share of w + SAVED_PERMITS_MAX, unless no other
 * turn needs the permit. A kind that waits gets its share also while stronger ones use what they have saved.
 */

import { createPriorityQueue, type PriorityQueue } from './priority-queue.ts';
import { slotOfTurn, type Turn, type Urgency } from './turn.ts';

export interface OrderByUrgency {
  readonly size: number;
  /** Asks for a reading at `fromMs` or later. Two requests for one turn count as one, for the stronger reason. */
  ask(turn: Turn, urgency: Urgency, fromMs: number): void;
  has(turn: Turn): boolean;
  /** Drops the request, because a reading begins or the project is gone. */
  fulfil(turn: Turn): void;
  /** Returns the next turn within the shares. */
  take(nowMs: number): Turn | undefined;
  /** Returns the next turn for a permit that no other turn needs. */
  takeBeyondShares(nowMs: number): Turn | undefined;
  /**
   * Adds one permit to the shares. It is called for each permit that is not reserved for deadlines. `hintTrust`, from 0
   * to 1, says how far hints may use what commands and wishes leave of their shares.
   */
  earnPermit(hintTrust: number): void;
  /** Returns the share of the last thousand permits, from 0 to 1, that were not reserved for deadlines and went to urgent turns. */
  usedShare(): number;
  /**
   * Returns when the first of the turns may be read, in milliseconds since the epoch. It is infinite when there is
   * none.
   */
  firstAtMs(): number;
}

export type UrgencyShares = Readonly<Record<Urgency, number>>;

/**
 * Each kind gets its share of the permits that are not reserved for deadlines; the tenth that is left always goes to
 * turns by weight. A command gets this share because its operations are known from its answer, and after one reading
 * its project has the weight of an open operation. A hint gets the most, because a true hint is the best use of a
 * request, and the list flags at most as many projects as change. Where its hints have proved true, they may use all
 * that commands and wishes leave. A wish gets the least, because it comes from one
 * caller and costs readings of all other projects.
 */
const URGENCY_SHARES: UrgencyShares = { command: 0.3, hint: 0.5, wish: 0.1 };

/** The share of this many permits can be saved up, so that the projects of one page of the list can be read in a row. */
const SAVED_PERMITS_MAX = 100;

/** A thousand permits are some minutes of an account that is busy enough for its shares to matter. */
const USED_SHARE_PERMITS = 1_000;

/** The kinds are sorted with the strongest first. Its requests have least to wait for, and there are fewest of them. */
const URGENCIES: readonly Urgency[] = ['command', 'hint', 'wish'];

export function strongerOf(a: Urgency | undefined, b: Urgency): Urgency {
  return a !== undefined && URGENCIES.indexOf(a) < URGENCIES.indexOf(b) ? a : b;
}

interface UrgentTurns {
  readonly queue: PriorityQueue<Turn>;
  readonly share: number;
  /** The turns of this kind may use this many permits at once. */
  saved: number;
}

export function createOrderByUrgency(shares: UrgencyShares = URGENCY_SHARES): OrderByUrgency {
  const kinds = URGENCIES.map((urgency) => urgentTurnsOf(shares[urgency]));
  const hints = kinds[URGENCIES.indexOf('hint')];
  const shareOfAll = kinds.reduce((sum, { share }) => sum + share, 0);
  /** Hints may use this number of permits beyond their own share. Whatever is urgent uses them up. */
  let trustedCount = 0;
  let usedShare = 0;

  return {
    get size() {
      return kinds.reduce((sum, { queue }) => sum + queue.size, 0);
    },
    ask(turn, urgency, fromMs) {
      const strength = URGENCIES.indexOf(urgency);
      if (kinds.slice(0, strength + 1).some(({ queue }) => queue.has(turn))) return;
      fulfil(turn);
      kinds[strength]?.queue.set(turn, fromMs);
    },
    has: (turn) => kinds.some(({ queue }) => queue.has(turn)),
    fulfil,
    take(nowMs) {
      const waiting = kinds.filter((each) => each.saved >= 1 && firstAtMs(each) <= nowMs);
      // A kind that can save no more would lose its share of the next permits to the stronger ones.
      const kind = waiting.find((each) => each.saved >= savedMax(each)) ?? waiting[0];
      if (kind !== undefined) kind.saved -= 1;
      else if (hints === undefined || trustedCount < 1 || firstAtMs(hints) > nowMs) return undefined;
      trustedCount = Math.max(0, trustedCount - 1);
      return use(kind ?? hints);
    },
    takeBeyondShares: (nowMs) => use(kinds.find((kind) => firstAtMs(kind) <= nowMs)),
    usedShare: () => usedShare,
    earnPermit(hintTrust) {
      usedShare -= usedShare / USED_SHARE_PERMITS;
      trustedCount = Math.min(SAVED_PERMITS_MAX, trustedCount + hintTrust * shareOfAll);
      for (const kind of kinds) kind.saved = Math.min(savedMax(kind), kind.saved + kind.share);
    },
    firstAtMs: () => Math.min(...kinds.map(firstAtMs)),
  };

  function use(kind: UrgentTurns | undefined): Turn | undefined {
    const turn = kind?.queue.first()?.item;
    if (turn !== undefined) usedShare += 1 / USED_SHARE_PERMITS;
    return turn;
  }

  function fulfil(turn: Turn): void {
    for (const { queue } of kinds) queue.delete(turn);
  }
}

function urgentTurnsOf(share: number): UrgentTurns {
  const kind = { queue: createPriorityQueue(slotOfTurn), share, saved: 0 };
  return { ...kind, saved: savedMax(kind) };
}

function savedMax({ share }: Pick<UrgentTurns, 'share'>): number {
  return share * SAVED_PERMITS_MAX;
}

function firstAtMs({ queue }: UrgentTurns): number {
  return queue.firstPriority();
}
