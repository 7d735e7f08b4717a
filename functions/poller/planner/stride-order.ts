/** The order by weight: whoever has the smallest virtual finish comes next, and comes again one stride later. */

import { createPriorityQueue } from './priority-queue.ts';
import type { Turn } from './turn.ts';

export interface StrideOrder {
  /** Fixes when the turn comes, so far behind the present; 0: before all whose time is still to come. */
  assign(turn: Turn, virtualDelay: number): void;
  /** Fixes it somewhere within its stride, so that turns that begin together do not stay together. */
  spread(turn: Turn): void;
  /** Lets the turn wait here for its time. */
  join(turn: Turn): void;
  /** Leaves a waiting turn only this part of its wait. */
  shorten(turn: Turn, part: number): void;
  leave(turn: Turn): void;
  take(): Turn | undefined;
}

/** Multiples of the golden ratio are spaced evenly, however many there are. */
const GOLDEN = 0.618_033_988_75;

export function createStrideOrder(): StrideOrder {
  const byFinish = createPriorityQueue<Turn>();
  let virtualTime = 0;
  let spreadCount = 0;

  return {
    assign,
    spread(turn) {
      turn.isSpread = true;
      assign(turn, turn.stride * ((spreadCount++ * GOLDEN) % 1));
    },
    join: (turn) => byFinish.set(turn, turn.finish),
    shorten(turn, part) {
      if (!byFinish.has(turn)) return;
      assign(turn, Math.max(0, turn.finish - virtualTime) * part);
      byFinish.set(turn, turn.finish);
    },
    leave: (turn) => byFinish.delete(turn),
    take() {
      const first = byFinish.shift();
      if (first === undefined) return undefined;
      virtualTime = Math.max(virtualTime, first.priority);
      return first.item;
    },
  };

  function assign(turn: Turn, virtualDelay: number): void {
    turn.finish = virtualTime + virtualDelay;
  }
}
