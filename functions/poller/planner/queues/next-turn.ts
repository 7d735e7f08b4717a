/**
 * Decides which waiting turn gets the next permit: one by its deadline, a pressing one within its share, or the next
 * one by weight.
 */

import { createSparePermits } from './spare-permits.ts';
import type { Turn } from './turn.ts';
import { leaveQueues, type TurnQueues } from './turn-queues.ts';

export interface NextTurn {
  /** Returns the turn whose reading begins now, or undefined when no turn may be read at this moment. */
  take(nowMs: number): Turn | undefined;
  /**
   * Offers the permit of this moment to something else than a turn, unless a deadline needs it. Returns what `take` has
   * taken it for, or undefined when the permit is still there.
   */
  offer<T>(nowMs: number, take: () => T | undefined): T | undefined;
  /**
   * Returns when the next turn may be read at the earliest, in milliseconds since the epoch. It is infinite when no
   * turn waits for a time.
   */
  nextChangeMs(): number;
  /** Says whether the last permit went to no turn because it is kept for a project that may move. */
  keepsPermit(): boolean;
}

export interface TurnPacing {
  readonly requestsPerMinute: number;
  /** Returns the shortest time between two readings of the turn when nothing asks for one, in milliseconds. */
  intervalMsMin(turn: Turn): number;
  /** Returns the share of transitions, from 0 to 1, that the project list is expected to show. */
  recall(): number;
  /** Returns how far hints may use the shares of commands and wishes, from 0 to 1. */
  hintTrust(): number;
}

/**
 * Where the list shows at least this share of the transitions, one permit is kept for the next project that moves, so
 * that it is read at once. The permit waits in the bucket of the rate limit. Where the list shows fewer, plain readings
 * need every permit that is left: with a lower share they came too seldom in an account of 50 projects, and with a higher
 * one, 0.99, what moved waited twice as long once the list had missed a single transition in an account of 500.
 */
const RECALL_WORTH_A_PERMIT = 0.9;

export function createNextTurn(queues: TurnQueues, pacing: TurnPacing): NextTurn {
  const { rests, byUrgency, deadlines, byWeight } = queues;
  const spare = createSparePermits(pacing.requestsPerMinute);
  /** It is true when the previous permit went to a turn by its deadline, and then this one does not. */
  let wasReserved = false;
  /** The turns by weight leave a permit for hints until this time. It is infinite when they do not wait for it. */
  let keptUntilMs = Number.POSITIVE_INFINITY;

  return {
    take(nowMs) {
      const turn = choose(nowMs);
      if (turn !== undefined) {
        spare.spend(nowMs);
        begin(queues, turn, nowMs);
      }
      return turn;
    },
    offer(nowMs, take) {
      if (!wasReserved && deadlines.due(nowMs) !== undefined) return undefined;
      const taken = take();
      if (taken === undefined) return undefined;
      wasReserved = false;
      spare.spend(nowMs);
      return taken;
    },
    nextChangeMs: () => Math.min(rests.firstPriority(), byUrgency.firstAtMs(), keptUntilMs),
    keepsPermit: () => Number.isFinite(keptUntilMs),
  };

  function choose(nowMs: number): Turn | undefined {
    const isAfterDeadline = wasReserved;
    const due = isAfterDeadline ? undefined : deadlines.due(nowMs);
    wasReserved = due !== undefined;
    if (due !== undefined) return due;
    byUrgency.earnPermit(pacing.hintTrust());
    const urgent = byUrgency.take(nowMs);
    if (urgent !== undefined) return urgent;
    // The next deadline would take a permit that is kept now. So the pages of the list would not be read at all while
    // many projects are due.
    keptUntilMs = isAfterDeadline ? Number.POSITIVE_INFINITY : keptPermitMs(nowMs);
    const next = Number.isFinite(keptUntilMs) ? undefined : takeByWeight(queues, pacing, nowMs);
    return next ?? byUrgency.takeBeyondShares(nowMs);
  }

  /**
   * Returns when a turn by weight may use a permit, if it must wait for that, and infinity if it need not. Where a page
   * of the list would come before a project if its reading had ended, one more permit is kept for that page.
   */
  function keptPermitMs(nowMs: number): number {
    if (pacing.recall() < RECALL_WORTH_A_PERMIT) return Number.POSITIVE_INFINITY;
    const first = byWeight.first();
    if (first === undefined) return Number.POSITIVE_INFINITY;
    const keptCount = first.page !== undefined || byWeight.isAheadOfReadings(first) ? 1 : 2;
    const savedAtMs = spare.savedAtMs(1 + keptCount);
    return nowMs < savedAtMs ? savedAtMs : Number.POSITIVE_INFINITY;
  }
}

/** Turns that were read less than their interval ago rest until it is over. */
function takeByWeight(
  { byWeight, rests }: TurnQueues,
  { intervalMsMin }: Pick<TurnPacing, 'intervalMsMin'>,
  nowMs: number,
): Turn | undefined {
  for (let turn = byWeight.take(); turn !== undefined; turn = byWeight.take()) {
    const readyAtMs = turn.polledAtMs + intervalMsMin(turn);
    if (nowMs >= readyAtMs) return turn;
    rests.set(turn, readyAtMs);
  }
  return undefined;
}

function begin(queues: TurnQueues, turn: Turn, nowMs: number): void {
  turn.isPressing = turn.wanted !== undefined || queues.byUrgency.has(turn);
  turn.wanted = undefined;
  turn.isUnderWay = true;
  turn.beganAtMs = nowMs;
  leaveQueues(queues, turn);
  if (turn.page !== undefined) queues.byWeight.begin(turn);
}
