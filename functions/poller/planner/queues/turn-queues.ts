/** Keeps the turns that wait for their next reading, and lets a turn join and leave the queues. */

import { createOrderByUrgency, type OrderByUrgency, type UrgencyShares } from './order-by-urgency.ts';
import { createOrderByWeight, type OrderByWeight } from './order-by-weight.ts';
import { createPriorityQueue, type PriorityQueue } from './priority-queue.ts';
import {
  createReadingDeadlines,
  type DeadlineLimits,
  type ListShowing,
  type ReadingDeadlines,
} from './reading-deadlines.ts';
import { slotOfTurn, type Turn } from './turn.ts';

/**
 * A turn that waits is in `byWeight` or in `rests`. It is in `deadlines` as well unless it rests after a failure, and
 * in `byUrgency` as well if a command, a hint or a wish asks for it. A turn that is being read is in no queue.
 */
export interface TurnQueues {
  readonly byWeight: OrderByWeight;
  /** These turns must not be read before a point in time, which is their priority, in milliseconds since the epoch. */
  readonly rests: PriorityQueue<Turn>;
  readonly byUrgency: OrderByUrgency;
  readonly deadlines: ReadingDeadlines;
}

/** `turnCount` returns the number of all turns, including those that are under way or rest. */
export function createTurnQueues(
  limits: DeadlineLimits & { readonly urgencyShares?: UrgencyShares | undefined },
  turnCount: () => number,
  list?: ListShowing,
): TurnQueues {
  return {
    byWeight: createOrderByWeight(),
    rests: createPriorityQueue(slotOfTurn),
    byUrgency: createOrderByUrgency(limits.urgencyShares),
    deadlines: createReadingDeadlines(limits, turnCount, list),
  };
}

/** Takes the turn out of all queues, because its reading begins, or its project or page is gone. */
export function leaveQueues({ byWeight, rests, byUrgency, deadlines }: TurnQueues, turn: Turn): void {
  byWeight.leave(turn);
  rests.delete(turn);
  byUrgency.fulfil(turn);
  deadlines.leave(turn);
}

/** Puts the turn before every turn whose time by weight is still to come. */
export function joinFirst({ byWeight }: TurnQueues, turn: Turn): void {
  byWeight.assign(turn, 0);
  byWeight.join(turn);
}

/** Lets the turn come again after its stride. Its first time is somewhere within the stride, apart from the other turns. */
export function joinByWeight({ byWeight }: TurnQueues, turn: Turn): void {
  if (turn.isSpread) byWeight.assign(turn, turn.stride);
  else byWeight.spread(turn);
  byWeight.join(turn);
}

/** Lets turns whose rest is over wait by weight again. */
export function wakeRested(queues: TurnQueues, nowMs: number): void {
  const { rests } = queues;
  for (let rested = rests.shiftUpTo(nowMs); rested; rested = rests.shiftUpTo(nowMs))
    wake(queues, rested.item, nowMs);
}

function wake({ byWeight, deadlines }: TurnQueues, turn: Turn, nowMs: number): void {
  // A page that rested for its interval only is late, and comes before all projects that come now.
  if (turn.page !== undefined) turn.finish = Math.min(turn.finish, byWeight.virtualTime());
  byWeight.join(turn);
  // A rest after a failure may be longer than the cap; from here on the turn waits for at most two rounds.
  if (turn.failureCount > 0)
    deadlines.follow(turn, Math.max(turn.polledAtMs, nowMs - deadlines.lateAfterMs()));
}
