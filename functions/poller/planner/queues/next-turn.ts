/**
 * Decides which waiting turn gets the next permit: one by its deadline, a pressing one within its share, or the next
 * one by weight.
 */

import type { Turn } from './turn.ts';
import { leaveQueues, type TurnQueues } from './turn-queues.ts';

export interface NextTurn {
  /** Returns the turn whose reading begins now, or undefined when no turn may be read at this moment. */
  take(nowMs: number): Turn | undefined;
  /**
   * Returns when the next turn may be read at the earliest, in milliseconds since the epoch. It is infinite when no
   * turn waits for a time.
   */
  nextChangeMs(): number;
}

/** `intervalMsMin` returns the shortest time between two readings of the turn when nothing asks for one. */
export function createNextTurn(queues: TurnQueues, intervalMsMin: (turn: Turn) => number): NextTurn {
  const { rests, byUrgency, deadlines } = queues;
  /** It is true when the previous permit went to a turn by its deadline, and then this one does not. */
  let wasReserved = false;

  return {
    take(nowMs) {
      const turn = choose(nowMs);
      if (turn !== undefined) begin(queues, turn);
      return turn;
    },
    nextChangeMs: () => Math.min(rests.first()?.priority ?? Number.POSITIVE_INFINITY, byUrgency.firstAtMs()),
  };

  function choose(nowMs: number): Turn | undefined {
    const due = wasReserved ? undefined : deadlines.due(nowMs);
    wasReserved = due !== undefined;
    if (due !== undefined) return due;
    byUrgency.earnPermit();
    return (
      byUrgency.take(nowMs) ?? takeByWeight(queues, intervalMsMin, nowMs) ?? byUrgency.takeBeyondShares(nowMs)
    );
  }
}

/** Turns that were read less than their interval ago rest until it is over. */
function takeByWeight(
  { byWeight, rests }: TurnQueues,
  intervalMsMin: (turn: Turn) => number,
  nowMs: number,
): Turn | undefined {
  for (let turn = byWeight.take(); turn !== undefined; turn = byWeight.take()) {
    const readyAtMs = turn.polledAtMs + intervalMsMin(turn);
    if (nowMs >= readyAtMs) return turn;
    rests.set(turn, readyAtMs);
  }
  return undefined;
}

function begin(queues: TurnQueues, turn: Turn): void {
  turn.isPressing = turn.wanted !== undefined || queues.byUrgency.has(turn);
  turn.wanted = undefined;
  turn.isUnderWay = true;
  leaveQueues(queues, turn);
}
